"""Four ranks that train on one dataset, each with a loader of its own."""

from __future__ import annotations

import torch
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

RANKS = 4
dataset = TensorDataset(torch.arange(1_024))


def faulty() -> DataLoader[tuple[torch.Tensor, ...]]:
    return DataLoader(dataset, batch_size=32)


def mended(rank: int) -> DataLoader[tuple[torch.Tensor, ...]]:
    sampler = DistributedSampler(dataset, num_replicas=RANKS, rank=rank)
    return DataLoader(dataset, batch_size=32, sampler=sampler)


def distinct(loaders: list[DataLoader[tuple[torch.Tensor, ...]]]) -> tuple[int, int]:
    """Different samples in the first step of all ranks, and steps in an epoch."""
    first = [next(iter(loader))[0] for loader in loaders]  # one batch of each loader
    return len(torch.cat(first).unique()), len(loaders[0])


def measure() -> str:
    said, steps = distinct([faulty() for _ in range(RANKS)])
    true, fewer = distinct([mended(rank) for rank in range(RANKS)])
    return (
        f"{RANKS} ranks with batches of 32 learn from {said} different samples a step, not {true}, "
        f"and an epoch has {steps} steps, not {fewer}"
    )
