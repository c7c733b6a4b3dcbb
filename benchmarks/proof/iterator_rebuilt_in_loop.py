"""Batches of a loader with two forked workers, each taken from an iterator of its own or all from one."""

from __future__ import annotations

import resource
from typing import Any

import torch
from torch.utils.data import DataLoader, TensorDataset

CHECK = ""
EFFECT = "takes {figure} times the CPU time of a batch: {faulty} ms, not {mended} ms"
COMPARE = "ratio"

dataset = TensorDataset(torch.randn(20_000, 64))


def make_loader() -> DataLoader[Any]:
    return DataLoader(dataset, batch_size=32, shuffle=True, num_workers=2, multiprocessing_context="fork")


def milliseconds() -> float:
    """CPU time of this process, and of its workers that have ended."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return 1e3 * sum(usage.ru_utime + usage.ru_stime for usage in usages)


def faulty() -> float:
    loader, begun = make_loader(), milliseconds()
    for _ in range(20):
        next(iter(loader))
    return (milliseconds() - begun) / 20


def mended() -> float:
    loader, begun = make_loader(), milliseconds()
    batches = iter(loader)
    for _ in range(500):
        next(batches)
    del batches  # ends the workers
    return (milliseconds() - begun) / 500
