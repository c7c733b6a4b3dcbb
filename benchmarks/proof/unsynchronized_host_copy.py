"""100 scores that a model has yet to compute when they are copied to the host and read."""

from __future__ import annotations

import torch

NEEDS = ("cuda",)
CHECK = ""
EFFECT = "reads {figure} of 100 scores before they have arrived"
COMPARE = "difference"
ROUNDS = 3
BATCHES, SIZE = 100, 4_096


def faulty() -> float:
    weights, wrong = torch.zeros(SIZE, SIZE, device="cuda"), 0
    for number in range(BATCHES):
        images = torch.full((SIZE, SIZE), float(number), device="cuda")
        scores = (images @ weights + images).amax(1).to("cpu", non_blocking=True)
        wrong += scores[0].item() != number
    return wrong


def mended() -> float:
    weights, wrong = torch.zeros(SIZE, SIZE, device="cuda"), 0
    for number in range(BATCHES):
        images = torch.full((SIZE, SIZE), float(number), device="cuda")
        scores = (images @ weights + images).amax(1).to("cpu")
        wrong += scores[0].item() != number
    return wrong
