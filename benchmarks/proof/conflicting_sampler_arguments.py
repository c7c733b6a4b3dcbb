"""A loader that gets a sampler, and asks to shuffle as well."""

from __future__ import annotations

import torch
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

CHECK = ""
EFFECT = "stops the script before its first batch, with ValueError: {figure} of 100 batches are lost"
COMPARE = "difference"
ROUNDS = 2

dataset = TensorDataset(torch.arange(3_200))
sampler = DistributedSampler(dataset, num_replicas=2, rank=0)


def faulty() -> float:
    try:
        loader = DataLoader(dataset, batch_size=16, sampler=sampler, shuffle=True)
    except ValueError:
        return 100
    return 100 - sum(1 for _ in loader)


def mended() -> float:
    try:
        loader = DataLoader(dataset, batch_size=16, sampler=sampler)
    except ValueError:
        return 100
    return 100 - sum(1 for _ in loader)
