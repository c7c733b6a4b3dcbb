"""A training step of two models with 30 layers each, whose losses are read at once or after the loop."""

from __future__ import annotations

import time

import torch
from torch.utils.data import DataLoader, TensorDataset

NEEDS = ("cuda",)
CHECK = ""
EFFECT = "takes {figure} times as long for a training step: {faulty} ms, not {mended} ms"
COMPARE = "ratio"
STEPS = 200


def begun() -> tuple[torch.nn.Module, torch.nn.Module, float]:
    """Two models on the device, warmed up, and the time."""
    models = [torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(30)]).cuda() for _ in range(2)]
    for model in models:
        model(torch.zeros(64, 256, device="cuda")).square().mean().backward()
    torch.cuda.synchronize()
    return models[0], models[1], time.perf_counter()


def since(start: float) -> float:
    """Milliseconds of a step, once the device is done."""
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / STEPS * 1e3


def faulty() -> float:
    critic, generator, start = begun()
    loader = DataLoader(TensorDataset(torch.randn(STEPS * 64, 256)), batch_size=64, num_workers=2, pin_memory=True)
    total = 0.0
    for (batch,) in loader:
        images = batch.cuda(non_blocking=True)
        loss = critic(images).square().mean()
        loss.backward()
        total += loss.item()
        cost = generator(images).square().mean()
        cost.backward()
        total += cost.item()
    return since(start)


def mended() -> float:
    critic, generator, start = begun()
    loader = DataLoader(TensorDataset(torch.randn(STEPS * 64, 256)), batch_size=64, num_workers=2, pin_memory=True)
    total = torch.zeros((), device="cuda")
    for (batch,) in loader:
        images = batch.cuda(non_blocking=True)
        loss = critic(images).square().mean()
        loss.backward()
        total += loss.detach()
        cost = generator(images).square().mean()
        cost.backward()
        total += cost.detach()
    return since(start)
