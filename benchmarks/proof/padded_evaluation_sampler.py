"""An evaluation of 1,001 samples on eight ranks."""

from __future__ import annotations

import torch
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

CHECK = "shards"
EFFECT = "counts {figure} of 1,001 samples twice"
COMPARE = "difference"
ROUNDS = 2
RANKS = 8

val_dataset = TensorDataset(torch.arange(1_001))


def faulty() -> float:
    counted = 0
    for rank in range(RANKS):
        sampler = DistributedSampler(val_dataset, num_replicas=RANKS, rank=rank, shuffle=False)
        val_loader = DataLoader(val_dataset, batch_size=32, sampler=sampler)
        counted += sum(len(samples) for (samples,) in val_loader)
    return counted - len(val_dataset)


def mended() -> float:
    counted = 0
    for rank in range(RANKS):
        own = range(rank, len(val_dataset), RANKS)
        val_loader = DataLoader(val_dataset, batch_size=32, sampler=own)
        counted += sum(len(samples) for (samples,) in val_loader)
    return counted - len(val_dataset)
