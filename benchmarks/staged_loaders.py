"""Loaders whose cost at each stage is known, for the stages check."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import DataLoader, Dataset, default_collate, get_worker_info

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LENGTH = 1_000_000
SETTLED = 12
"""Batches of a worker before memory that it uses over and over is at hand."""


def compute(ms: float) -> None:
    """Take so much CPU time of this thread."""
    end = time.thread_time_ns() + int(ms * 1e6)
    while time.thread_time_ns() < end:
        pass


class Numbers(Dataset[Any]):
    """Costs nothing."""

    def __init__(self, length: int = LENGTH) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Any:
        return index


class Reading(Numbers):
    """Waits 2 ms, as for a disk."""

    def __getitem__(self, index: int) -> Any:
        time.sleep(0.002)
        return index


class Computing(Numbers):
    """Takes 2 ms of CPU time."""

    def __getitem__(self, index: int) -> Any:
        compute(2.0)
        return index


class Straggling(Numbers):
    """Waits 2 ms; in worker 1 three times as long."""

    def __getitem__(self, index: int) -> Any:
        info = get_worker_info()
        time.sleep(0.006 if info is not None and info.id == 1 else 0.002)
        return index


class Clocked(Numbers):
    """Notes the CPU time of its own stages in shared memory (fetch, collate, batches), once a worker has settled."""

    def __init__(self, length: int = LENGTH) -> None:
        super().__init__(length)
        self.spent = torch.zeros(3, dtype=torch.float64).share_memory_()
        self.fetching_ns = self.made = 0

    def make(self, index: int) -> Any:
        raise NotImplementedError

    def __getitem__(self, index: int) -> Any:
        began = time.thread_time_ns()
        sample = self.make(index)
        self.fetching_ns += time.thread_time_ns() - began
        return sample


class ClockedCollate:
    """Collates for a dataset that notes its times; found in the worker, where it has a dataset of its own."""

    def __call__(self, samples: list[Any]) -> Any:
        info = get_worker_info()
        assert info is not None
        dataset: Any = info.dataset
        began = time.thread_time_ns()
        batch = default_collate(samples)
        spent = time.thread_time_ns() - began
        if dataset.made >= SETTLED:
            dataset.spent += torch.tensor([dataset.fetching_ns, spent, 1], dtype=torch.float64)
        dataset.made += 1
        dataset.fetching_ns = 0
        return batch


class Large(Clocked):
    """Makes 8 MB."""

    def make(self, index: int) -> Any:
        return torch.full((2 * 1024 * 1024,), float(index % 7))


class Many(Clocked):
    """Makes 60 small tensors."""

    def make(self, index: int) -> Any:
        return {str(key): torch.full((8,), float(key + index % 7)) for key in range(60)}


class SlowPickle:
    """A batch that takes 20 ms of CPU time to pickle."""

    def __init__(self, samples: list[Any]) -> None:
        self.samples = samples

    def __reduce__(self) -> tuple[Any, ...]:
        compute(20.0)
        return SlowPickle, (self.samples,)


def waiting_collate(samples: list[Any]) -> Any:
    time.sleep(0.05)
    return samples


def computing_collate(samples: list[Any]) -> Any:
    compute(50.0)
    return samples


def slow_start(_worker: int) -> None:
    time.sleep(2.0)


class SlowSampler:
    """Takes 20 ms of CPU time for each batch of 8."""

    def __iter__(self) -> Iterator[list[int]]:
        for first in range(0, LENGTH, 8):
            compute(20.0)
            yield list(range(first, first + 8))


LOADERS: dict[str, Callable[[], DataLoader[Any]]] = {
    "read": lambda: DataLoader(Reading(), batch_size=8, num_workers=2),
    "read, here": lambda: DataLoader(Reading(), batch_size=8),
    "compute": lambda: DataLoader(Computing(), batch_size=32, num_workers=2),
    "compute, here": lambda: DataLoader(Computing(), batch_size=8),
    "waiting collate": lambda: DataLoader(Numbers(), batch_size=10, num_workers=2, collate_fn=waiting_collate),
    "computing collate": lambda: DataLoader(Numbers(), batch_size=10, num_workers=2, collate_fn=computing_collate),
    "60 tensors": lambda: clocked(Many(), 4),
    "8 MB samples": lambda: clocked(Large(), 4),
    "slow pickle": lambda: DataLoader(Numbers(), batch_size=8, num_workers=1, collate_fn=SlowPickle),
    "slow sampler": lambda: DataLoader(Numbers(), batch_sampler=SlowSampler(), num_workers=1),
    "straggler": lambda: DataLoader(Straggling(), batch_size=8, num_workers=2),
    "slow start": lambda: DataLoader(Reading(64), batch_size=8, num_workers=2, worker_init_fn=slow_start),
}


def clocked(dataset: Clocked, batch_size: int) -> DataLoader[Any]:
    return DataLoader(dataset, batch_size=batch_size, num_workers=2, collate_fn=ClockedCollate())
