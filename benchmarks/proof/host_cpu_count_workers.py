"""A job that may use one of the 16 CPUs of its host."""

from __future__ import annotations

import multiprocessing
import os
from typing import Any
from unittest import mock

import psutil
import torch
from torch.utils.data import DataLoader, TensorDataset

CHECK = "stages"
EFFECT = "costs {figure} MB of memory, in workers that no CPU is there for"
COMPARE = "difference"

dataset = TensorDataset(torch.randn(6_400, 64))


def allow_one_cpu() -> None:
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])


def megabytes(loader: DataLoader[Any]) -> float:
    """What the workers do not share with this process, when each has sent its first batches."""
    batches = iter(loader)
    for _ in range(100):
        next(batches)
    return sum(psutil.Process(one.pid).memory_full_info().uss for one in multiprocessing.active_children()) / 1e6


def faulty() -> float:
    allow_one_cpu()
    with mock.patch("os.cpu_count", return_value=16):
        return megabytes(DataLoader(dataset, batch_size=32, num_workers=os.cpu_count() or 1))


def mended() -> float:
    allow_one_cpu()
    return megabytes(DataLoader(dataset, batch_size=32, num_workers=len(os.sched_getaffinity(0))))
