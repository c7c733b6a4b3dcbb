"""A model of 30 layers, of which each training step reads two figures, at once or after the loop."""

from __future__ import annotations

import time

import torch
from torch.utils.data import DataLoader, TensorDataset

NEEDS = ("cuda",)
CHECK = ""
EFFECT = "takes {figure} times as long for a training step: {faulty} ms, not {mended} ms"
COMPARE = "ratio"

loader = DataLoader(TensorDataset(torch.randn(200 * 64, 2_048)), batch_size=64, num_workers=2, pin_memory=True)
model = torch.nn.Sequential(*[torch.nn.Linear(2_048, 2_048) for _ in range(30)]).cuda()
model(torch.zeros(64, 2_048, device="cuda")).mean().backward()
torch.cuda.synchronize()


def faulty() -> float:
    start, total = time.perf_counter(), 0.0
    for (images,) in loader:
        loss = model(images.cuda(non_blocking=True)).mean()
        total += loss.item()
        loss.backward()
        total += loss.exp().item()
    return (time.perf_counter() - start) / len(loader) * 1e3


def mended() -> float:
    start, total = time.perf_counter(), torch.zeros((), device="cuda")
    for (images,) in loader:
        loss = model(images.cuda(non_blocking=True)).mean()
        total += loss.detach()
        loss.backward()
        total += loss.exp().detach()
    total.item()
    return (time.perf_counter() - start) / len(loader) * 1e3
