"""What the pairs of transfers train, and how long a step of it takes."""

from __future__ import annotations

import time

import torch
from torch.utils.data import TensorDataset

STEPS = 200


def begun() -> tuple[torch.nn.Module, TensorDataset, float]:
    """A model of 30 layers on the device, warmed up, samples of which 64 are 0.5 MB, and the time."""
    model = torch.nn.Sequential(*[torch.nn.Linear(2_048, 2_048) for _ in range(30)]).cuda()
    model(torch.zeros(64, 2_048, device="cuda")).mean().backward()
    dataset = TensorDataset(torch.randn(STEPS * 64, 2_048))
    torch.cuda.synchronize()
    return model, dataset, time.perf_counter()


def since(start: float) -> float:
    """Milliseconds of a step, once the device is done."""
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / STEPS * 1e3
