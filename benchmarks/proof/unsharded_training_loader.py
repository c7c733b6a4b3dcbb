"""Four ranks that train on one dataset of 1,024 samples, with batches of 32 (one process stands for all)."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

CHECK = "shards"
EFFECT = "spends {figure} of the 128 samples of a step on what another rank shows too"
COMPARE = "difference"
ROUNDS = 2
dataset = TensorDataset(torch.arange(1_024.0)[:, None])


dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
model = DistributedDataParallel(torch.nn.Linear(1, 1))


def repeated(batches: list[torch.Tensor]) -> float:
    """Samples of the first step of all ranks that are not the first of their kind."""
    first = torch.cat(batches[:: len(batches) // 4])
    return len(first) - len(first.unique())


def faulty() -> float:
    batches: list[torch.Tensor] = []
    for _rank in range(4):
        for (batch,) in DataLoader(dataset, batch_size=32):
            model(batch).mean().backward()
            batches.append(batch)
    return repeated(batches)


def mended() -> float:
    batches: list[torch.Tensor] = []
    for rank in range(4):
        sampler = DistributedSampler(dataset, num_replicas=4, rank=rank)
        for (batch,) in DataLoader(dataset, batch_size=32, sampler=sampler):
            model(batch).mean().backward()
            batches.append(batch)
    return repeated(batches)
