"""Ten epochs that are left by `break` after a batch of 2 MB, with two workers that send by `file_system`."""

from __future__ import annotations

import multiprocessing
import time
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader, TensorDataset

CHECK = "shm"
EFFECT = "leaves {figure} MB in /dev/shm for each epoch that is left early"
COMPARE = "difference"

torch.multiprocessing.set_sharing_strategy("file_system")
dataset = TensorDataset(torch.randn(320, 31_250))


def left(loader: DataLoader[Any]) -> float:
    """MB in /dev/shm that carry the number of a worker, for each of ten epochs."""
    workers = set()
    for _epoch in range(10):
        for _batch in loader:
            workers.update(one.pid for one in multiprocessing.active_children())
            time.sleep(0.3)  # a step, in which both workers make two batches ahead
            break
    return sum(path.stat().st_size for pid in workers for path in Path("/dev/shm").glob(f"torch_{pid}_*")) / 1e7


def faulty() -> float:
    return left(DataLoader(dataset, batch_size=16, num_workers=2))


def mended() -> float:
    return left(DataLoader(dataset, batch_size=16, num_workers=2, persistent_workers=True))
