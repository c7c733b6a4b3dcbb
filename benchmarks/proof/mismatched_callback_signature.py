"""Workers that call a `worker_init_fn` without parameters, or one that takes their id."""

from __future__ import annotations

import contextlib

import numpy as np
import torch
from torch.utils.data import DataLoader, TensorDataset

CHECK = "workers"
EFFECT = "stops every worker before its first batch, with TypeError: {figure} of 100 batches are lost"
COMPARE = "difference"
ROUNDS = 2

dataset = TensorDataset(torch.arange(1_600))


def seed_worker() -> None:
    np.random.seed(torch.initial_seed() % 2**32)


def seed_worker_by_id(_worker: int) -> None:
    np.random.seed(torch.initial_seed() % 2**32)


def lost(loader: DataLoader[tuple[torch.Tensor, ...]]) -> float:
    """Batches of 100 that do not arrive."""
    got = 0
    with contextlib.suppress(TypeError):
        for _batch in loader:
            got += 1
    return 100 - got


def faulty() -> float:
    start = seed_worker
    return lost(DataLoader(dataset, batch_size=16, num_workers=2, worker_init_fn=start))  # type: ignore[arg-type]  # the fault


def mended() -> float:
    return lost(DataLoader(dataset, batch_size=16, num_workers=2, worker_init_fn=seed_worker_by_id))
