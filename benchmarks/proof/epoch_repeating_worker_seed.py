"""Three epochs of 1,000 samples with noise, in workers that are seeded from the first word of numpy's state."""

from __future__ import annotations

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

CHECK = "randomness"
EFFECT = "gives {figure} of 1,000 samples the same noise in all of three epochs"
COMPARE = "difference"
ROUNDS = 2


class Noise(Dataset[float]):
    def __len__(self) -> int:
        return 1_000

    def __getitem__(self, index: int) -> float:
        return np.random.normal()


def seed_from_state(worker: int) -> None:
    np.random.seed(np.random.get_state()[1][0] + worker)  # type: ignore[index]  # a tuple, as numpy's types cannot tell


def seed_from_torch(_worker: int) -> None:
    np.random.seed(torch.initial_seed() % 2**32)


def faulty() -> float:
    loader = DataLoader(Noise(), batch_size=10, num_workers=2, worker_init_fn=seed_from_state)
    first, second, third = (torch.cat(list(loader)) for _ in range(3))
    return float(((first == second) & (first == third)).sum())


def mended() -> float:
    loader = DataLoader(Noise(), batch_size=10, num_workers=2, worker_init_fn=seed_from_torch)
    first, second, third = (torch.cat(list(loader)) for _ in range(3))
    return float(((first == second) & (first == third)).sum())
