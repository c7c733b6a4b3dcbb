"""Workers that seed numpy with torch's seed, of 64 bits or of 32."""

from __future__ import annotations

import numpy as np
import torch
from torch.utils.data import DataLoader, TensorDataset

CHECK = "workers"
EFFECT = "stops every worker before its first batch, with ValueError: {figure} of 100 batches are lost"
COMPARE = "difference"
ROUNDS = 2

dataset = TensorDataset(torch.arange(1_600))


def seed_of_64_bits(_worker: int) -> None:
    np.random.seed(torch.initial_seed())


def seed_of_32_bits(_worker: int) -> None:
    np.random.seed(torch.initial_seed() % 2**32)


def faulty() -> float:
    loader, got = DataLoader(dataset, batch_size=16, num_workers=2, worker_init_fn=seed_of_64_bits), 0
    try:
        for _batch in loader:
            got += 1
    except ValueError:
        pass
    return 100 - got


def mended() -> float:
    loader, got = DataLoader(dataset, batch_size=16, num_workers=2, worker_init_fn=seed_of_32_bits), 0
    try:
        for _batch in loader:
            got += 1
    except ValueError:
        pass
    return 100 - got
