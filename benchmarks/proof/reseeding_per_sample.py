"""1,000 samples with noise, before each of which `random` is seeded from the worker's seed."""

from __future__ import annotations

import random

import torch
from torch.utils.data import DataLoader, Dataset, get_worker_info

CHECK = "randomness"
EFFECT = "gives {figure} of 1,000 samples noise that another sample has in the same epoch"
COMPARE = "difference"
ROUNDS = 2


class Faulty(Dataset[float]):
    def __len__(self) -> int:
        return 1_000

    def __getitem__(self, index: int) -> float:
        random.seed(get_worker_info().seed)
        return random.random()


class Mended(Dataset[float]):
    def __len__(self) -> int:
        return 1_000

    def __getitem__(self, index: int) -> float:
        return random.random()


def shared(dataset: Dataset[float]) -> float:
    """Samples whose noise is that of another."""
    noise = torch.cat(list(DataLoader(dataset, batch_size=10, num_workers=2)))
    _, times = noise.unique(return_counts=True)
    return float(times[times > 1].sum())


def faulty() -> float:
    return shared(Faulty())


def mended() -> float:
    return shared(Mended())
