"""1,000 samples with noise, in four workers that are all seeded with 42, or each by torch."""

from __future__ import annotations

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

CHECK = "randomness"
EFFECT = "gives {figure} of 1,000 samples noise that another sample has in the same epoch"
COMPARE = "difference"
ROUNDS = 2


class Noise(Dataset[float]):
    def __len__(self) -> int:
        return 1_000

    def __getitem__(self, index: int) -> float:
        return np.random.normal()


def seed_alike(_worker: int) -> None:
    np.random.seed(42)


def seed_each(_worker: int) -> None:
    np.random.seed(torch.initial_seed() % 2**32)


def shared(noise: torch.Tensor) -> float:
    """Samples whose noise is that of another."""
    _, times = noise.unique(return_counts=True)
    return float(times[times > 1].sum())


def faulty() -> float:
    loader = DataLoader(Noise(), batch_size=10, num_workers=4, worker_init_fn=seed_alike)
    return shared(torch.cat(list(loader)))


def mended() -> float:
    loader = DataLoader(Noise(), batch_size=10, num_workers=4, worker_init_fn=seed_each)
    return shared(torch.cat(list(loader)))
