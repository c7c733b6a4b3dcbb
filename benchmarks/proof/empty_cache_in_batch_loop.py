"""A model of 30 layers, trained on batches of 0.5 MB."""

from __future__ import annotations

import time

import torch
from torch.utils.data import DataLoader, TensorDataset

NEEDS = ("cuda",)
CHECK = ""
EFFECT = "takes {figure} times as long for a training step: {faulty} ms, not {mended} ms"
COMPARE = "ratio"
STEPS = 200


def begun() -> tuple[torch.nn.Module, TensorDataset, float]:
    """A model on the device, warmed up, samples for it, and the time."""
    model = torch.nn.Sequential(*[torch.nn.Linear(2_048, 2_048) for _ in range(30)]).cuda()
    model(torch.zeros(64, 2_048, device="cuda")).mean().backward()
    dataset = TensorDataset(torch.randn(STEPS * 64, 2_048))
    torch.cuda.synchronize()
    return model, dataset, time.perf_counter()


def since(start: float) -> float:
    """Milliseconds of a step, once the device is done."""
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / STEPS * 1e3


def faulty() -> float:
    model, dataset, start = begun()
    for (images,) in DataLoader(dataset, batch_size=64, num_workers=2, pin_memory=True):
        model(images.to("cuda", non_blocking=True)).mean().backward()
        torch.cuda.empty_cache()
    return since(start)


def mended() -> float:
    model, dataset, start = begun()
    for (images,) in DataLoader(dataset, batch_size=64, num_workers=2, pin_memory=True):
        model(images.to("cuda", non_blocking=True)).mean().backward()
    return since(start)
