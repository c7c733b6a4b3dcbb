"""10,000 samples of 3 kB that a dataset keeps once they are read, or that it maps from a file, in two workers."""

from __future__ import annotations

import tempfile

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from pytest_dataloader import diagnose

CHECK = "memory"
EFFECT = "costs each worker {figure} MB of memory in an epoch, for samples of 3 kB that could be shared"
COMPARE = "difference"
ROWS, VALUES = 10_000, 768

file = tempfile.NamedTemporaryFile()  # noqa: SIM115  # there until the process ends
np.zeros((ROWS, VALUES), dtype=np.float32).tofile(file.name)


class Faulty(Dataset[torch.Tensor]):
    def __init__(self) -> None:
        self.cache: dict[int, torch.Tensor] = {}

    def __len__(self) -> int:
        return ROWS

    def __getitem__(self, index: int) -> torch.Tensor:
        if index not in self.cache:
            row = np.fromfile(file.name, dtype=np.float32, count=VALUES, offset=4 * VALUES * index)
            self.cache[index] = torch.from_numpy(row)
        return self.cache[index]


class Mended(Faulty):
    def __init__(self) -> None:
        self.rows = np.memmap(file.name, dtype=np.float32, mode="c", shape=(ROWS, VALUES))

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.from_numpy(self.rows[index])


def megabytes(dataset: Faulty) -> float:
    """What a worker takes for itself in an epoch."""
    loader = DataLoader(dataset, batch_size=32, shuffle=True, num_workers=2, multiprocessing_context="fork")
    return float(diagnose(loader, checks=["memory"])["memory"].growth_bytes_per_worker) / 1e6


def faulty() -> float:
    return megabytes(Faulty())


def mended() -> float:
    return megabytes(Mended())
