"""Batches of 19 MB from a loader without workers, copied to the device."""

from __future__ import annotations

import time

import torch
from torch.utils.data import DataLoader, TensorDataset

NEEDS = ("cuda",)
CHECK = ""
EFFECT = "takes {figure} times as long to bring a batch to the device: {faulty} ms, not {mended} ms"
COMPARE = "ratio"
dataset = TensorDataset(torch.randn(256, 3, 224, 224))


def milliseconds(loader: DataLoader[tuple[torch.Tensor, ...]]) -> float:
    """Of a batch, in the second epoch and once the device is done."""
    for _ in range(2):
        torch.cuda.synchronize()
        begun = time.perf_counter()
        for (images,) in loader:
            images = images.to("cuda")
    torch.cuda.synchronize()
    return (time.perf_counter() - begun) / len(loader) * 1e3


def faulty() -> float:
    return milliseconds(DataLoader(dataset, batch_size=32, pin_memory=True))


def mended() -> float:
    return milliseconds(DataLoader(dataset, batch_size=32))
