"""100 batches of 38 MB, pinned by the thread that copies them to the device, or by the loader's."""

from __future__ import annotations

import time

import torch
from torch.utils.data import DataLoader, TensorDataset

NEEDS = ("cuda",)
CHECK = ""
EFFECT = "holds the thread that trains {figure} times as long for a batch: {faulty} ms, not {mended} ms"
COMPARE = "ratio"
BATCHES = 100


def milliseconds(pinned: bool) -> float:
    """Of the thread that trains, until the copy of a batch is enqueued."""
    images = torch.randn(1, 3, 224, 224, device="cuda").cpu().expand(BATCHES * 64, 3, 224, 224)
    spent = 0.0
    for (batch,) in DataLoader(TensorDataset(images), batch_size=64, num_workers=2, pin_memory=pinned):
        begun = time.perf_counter()
        (batch if pinned else batch.pin_memory()).to("cuda", non_blocking=True)
        spent += time.perf_counter() - begun
    return spent / BATCHES * 1e3


def faulty() -> float:
    return milliseconds(pinned=False)


def mended() -> float:
    return milliseconds(pinned=True)
