"""10,000 samples of 3 kB that a dataset keeps once they are made, in a dict or in a tensor shared by two workers."""

from __future__ import annotations

import torch
from torch.utils.data import DataLoader, Dataset

from pytest_dataloader import diagnose

CHECK = "memory"
EFFECT = "costs each worker {figure} MB of memory in an epoch"
COMPARE = "difference"
ROWS, VALUES = 10_000, 768


class Faulty(Dataset[torch.Tensor]):
    def __init__(self) -> None:
        self.cache: dict[int, torch.Tensor] = {}

    def __len__(self) -> int:
        return ROWS

    def __getitem__(self, index: int) -> torch.Tensor:
        if index not in self.cache:
            self.cache[index] = torch.full((VALUES,), float(index))
        return self.cache[index]


class Mended(Faulty):
    def __init__(self) -> None:
        self.rows = torch.zeros(ROWS, VALUES).share_memory_()

    def __getitem__(self, index: int) -> torch.Tensor:
        return self.rows[index].fill_(float(index))


def megabytes(dataset: Faulty) -> float:
    """What a worker takes for itself in an epoch."""
    loader = DataLoader(dataset, batch_size=32, shuffle=True, num_workers=2, multiprocessing_context="fork")
    return diagnose(loader, checks=["memory"])["memory"].growth_bytes_per_worker / 1e6


def faulty() -> float:
    return megabytes(Faulty())


def mended() -> float:
    return megabytes(Mended())
