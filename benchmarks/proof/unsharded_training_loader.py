"""Four ranks that train on one dataset of 1,024 samples, with batches of 32; a process stands for all of them."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

CHECK = "shards"
EFFECT = "spends {figure} of the 128 samples of a step on what another rank shows too"
COMPARE = "difference"
ROUNDS = 2
RANKS = 4
dataset = TensorDataset(torch.arange(1_024.0)[:, None])


def wrapped() -> torch.nn.Module:
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    return DistributedDataParallel(torch.nn.Linear(1, 1))


def repeated(batches: list[torch.Tensor]) -> float:
    """Samples of the first step of all ranks that are not the first of their kind."""
    dist.destroy_process_group()
    first = torch.cat(batches[:: len(batches) // RANKS])
    return len(first) - len(first.unique())


def faulty() -> float:
    model, batches = wrapped(), []
    for _rank in range(RANKS):
        for (batch,) in DataLoader(dataset, batch_size=32):
            model(batch).mean().backward()
            batches.append(batch)
    return repeated(batches)


def mended() -> float:
    model, batches = wrapped(), []
    for rank in range(RANKS):
        sampler = DistributedSampler(dataset, num_replicas=RANKS, rank=rank)
        for (batch,) in DataLoader(dataset, batch_size=32, sampler=sampler):
            model(batch).mean().backward()
            batches.append(batch)
    return repeated(batches)
