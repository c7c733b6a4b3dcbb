"""1,000 samples with noise, from a generator that each of four workers has a copy of, or from numpy's own."""

from __future__ import annotations

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

CHECK = "randomness"
EFFECT = "gives {figure} of 1,000 samples noise that another sample has in the same epoch"
COMPARE = "difference"
ROUNDS = 2


class Faulty(Dataset[float]):
    def __init__(self) -> None:
        self.rng = np.random.default_rng()

    def __len__(self) -> int:
        return 1_000

    def __getitem__(self, index: int) -> float:
        return self.rng.normal()


class Mended(Dataset[float]):
    def __len__(self) -> int:
        return 1_000

    def __getitem__(self, index: int) -> float:
        return np.random.normal()


def shared(dataset: Dataset[float]) -> float:
    """Samples whose noise is that of another."""
    noise = torch.cat(list(DataLoader(dataset, batch_size=10, num_workers=4)))
    _, times = noise.unique(return_counts=True)
    return float(times[times > 1].sum())


def faulty() -> float:
    return shared(Faulty())


def mended() -> float:
    return shared(Mended())
