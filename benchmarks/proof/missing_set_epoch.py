"""Five epochs of one of two ranks, whose sampler gets the epoch or does not."""

from __future__ import annotations

import torch
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

CHECK = ""
EFFECT = "shows a rank {figure} % of its batches again, sample by sample, in each of five epochs"
COMPARE = "difference"
ROUNDS = 2

dataset = TensorDataset(torch.arange(3_200.0))
weight = torch.ones(1, requires_grad=True)


def again(seen: list[torch.Tensor]) -> float:
    """Percent of the batches of five epochs that are those of the first epoch at the same place."""
    epochs = torch.stack(seen).unflatten(0, (5, 50))
    return 100 * float((epochs[1:] == epochs[0]).all(-1).float().mean())


def faulty() -> float:
    sampler = DistributedSampler(dataset, num_replicas=2, rank=0)
    loader, seen = DataLoader(dataset, batch_size=32, sampler=sampler), []
    for _epoch in range(5):
        for (samples,) in loader:
            (weight * samples).mean().backward()
            seen.append(samples)
    return again(seen)


def mended() -> float:
    sampler = DistributedSampler(dataset, num_replicas=2, rank=0)
    loader, seen = DataLoader(dataset, batch_size=32, sampler=sampler), []
    for epoch in range(5):
        sampler.set_epoch(epoch)
        for (samples,) in loader:
            (weight * samples).mean().backward()
            seen.append(samples)
    return again(seen)
