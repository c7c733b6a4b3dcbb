"""Two losses of each step read at once, or after the loop."""

from __future__ import annotations

import time

import torch
from torch.utils.data import DataLoader, TensorDataset

NEEDS = ("cuda",)
STEPS = 200


def faulty(models: list[torch.nn.Module], loader: DataLoader[tuple[torch.Tensor, ...]]) -> float:
    total = 0.0
    for (batch,) in loader:
        images = batch.cuda(non_blocking=True)
        for model in models:
            loss = model(images).square().mean()
            loss.backward()
            total += loss.item()
    return total


def mended(models: list[torch.nn.Module], loader: DataLoader[tuple[torch.Tensor, ...]]) -> float:
    total = torch.zeros((), device="cuda")
    for (batch,) in loader:
        images = batch.cuda(non_blocking=True)
        for model in models:
            loss = model(images).square().mean()
            loss.backward()
            total += loss.detach()
    return total.item()


def measure() -> str:
    layers = [torch.nn.Linear(256, 256) for _ in range(30)]
    models: list[torch.nn.Module] = [torch.nn.Sequential(*layers).cuda() for _ in range(2)]
    loader = DataLoader(TensorDataset(torch.randn(STEPS * 64, 256)), batch_size=64, num_workers=2, pin_memory=True)
    took = []
    for train in (faulty, mended, faulty, mended):
        begun = time.perf_counter()
        train(models, loader)
        took.append((time.perf_counter() - begun) / STEPS * 1e3)
    return f"a step takes {min(took[::2]):.1f} ms with two reads, {min(took[1::2]):.1f} ms with none"
