"""A loader with a fault for each check, and a healthy twin; factories in a module, as spawned workers import them."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, DistributedSampler, IterableDataset, get_worker_info

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SAMPLES = 256


class Numbers(Dataset[Any]):
    """The number of each sample; what else reading does is up to ``read``."""

    def __init__(self, read: Callable[[Numbers, int], Any] | None = None, rows: Any = None) -> None:
        self.read, self.rows = read, rows
        self.kept: list[Any] = []
        self.random = np.random.default_rng(0)

    def __len__(self) -> int:
        return SAMPLES if self.rows is None else len(self.rows)

    def __getitem__(self, index: int) -> Any:
        return torch.tensor(index) if self.read is None else self.read(self, index)


def raises(_self: Numbers, index: int) -> Any:
    if index == 40:
        raise ValueError("sample 40 is torn")
    return torch.tensor(index)


def leaves_open(self: Numbers, index: int) -> Any:
    self.kept.append(os.open(os.devnull, os.O_RDONLY))
    return torch.tensor(index)


def shares(self: Numbers, index: int) -> Any:
    self.kept.append(torch.zeros(2048).share_memory_())  # type: ignore[no-untyped-call]  # torch's own
    return torch.tensor(index)


def waits(_self: Numbers, index: int) -> Any:
    time.sleep(0.01)
    return torch.tensor(index)


def reads_row(self: Numbers, index: int) -> Any:
    return torch.tensor(len(str(self.rows[index])))


def draws_alike(self: Numbers, _index: int) -> Any:
    return torch.tensor(self.random.random(4))


def draws(_self: Numbers, _index: int) -> Any:
    return torch.rand(4)


class Stream(IterableDataset[Any]):
    """Numbers, each worker its share of them, or all of them; in a state that is right, or is always the beginning."""

    def __init__(self, *, shared_out: bool = True, remembers: bool = True) -> None:
        self.shared_out, self.remembers = shared_out, remembers
        self.begin, self.at = 0, -1

    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info() if self.shared_out else None
        worker, workers = (0, 1) if info is None else (info.id, info.num_workers)
        share = range(worker, SAMPLES, workers)
        begin, self.begin = self.begin, 0
        for self.at in range(begin, len(share)):
            yield torch.tensor(share[self.at])
        self.at = -1

    def state_dict(self) -> dict[str, int]:
        return {"begin": self.at + 1 if self.remembers else 0}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.begin = state["begin"]


def loader(dataset: Any, **settings: Any) -> DataLoader[Any]:
    return DataLoader(dataset, **{"batch_size": 8, "num_workers": 2, **settings})


def of_rank(*, sampled: bool) -> DataLoader[Any]:
    """As a rank of two would make it; the pretended job is there while the checks call this."""
    dataset = Numbers()
    if not sampled:
        return loader(dataset, shuffle=True, generator=torch.Generator().manual_seed(1))
    distributed = torch.distributed
    there = distributed.is_available() and distributed.is_initialized()
    rank, world = (distributed.get_rank(), distributed.get_world_size()) if there else (0, 2)
    return loader(dataset, sampler=DistributedSampler(dataset, world, rank))


def stateful(*, remembers: bool) -> Any:
    from torchdata.stateful_dataloader import StatefulDataLoader  # type: ignore[import-untyped]  # no py.typed

    return StatefulDataLoader(Stream(remembers=remembers), batch_size=8, num_workers=2)


def unpicklable() -> DataLoader[Any]:
    return loader(Numbers(), collate_fn=lambda samples: torch.stack(samples))


@dataclass(frozen=True)
class Contract:
    """One check: what makes a loader that it fails, what makes one that it passes, and words of the failure."""

    fault: Callable[[], Any]
    twin: Callable[[], Any]
    words: str
    limits: dict[str, Any] = field(default_factory=dict)
    twin_limits: dict[str, Any] | None = None


TEXTS = 40_000

CONTRACTS = {
    "workers": Contract(lambda: loader(Numbers(raises)), lambda: loader(Numbers()), "sample 40 is torn"),
    "fds": Contract(lambda: loader(Numbers(leaves_open)), lambda: loader(Numbers()), "leaks 8 files"),
    "shm": Contract(
        lambda: loader(Numbers(shares)), lambda: loader(Numbers()), "leaks 8 shared-memory segments of torch"
    ),
    "throughput": Contract(
        lambda: loader(Numbers(waits)),
        lambda: loader(Numbers()),
        "samples/s",
        {"min_samples_per_second": 10**6},
        {"min_samples_per_second": 1},
    ),
    "stages": Contract(
        lambda: loader(Numbers(waits)),
        lambda: loader(Numbers()),
        "data wait",
        {"step_ms": 1, "max_stall": 0.01},
        {"step_ms": 1000, "max_stall": 0.99},
    ),
    "memory": Contract(
        lambda: loader(Numbers(reads_row, [f"{row:060}" for row in range(TEXTS)])),
        lambda: loader(Numbers(reads_row, np.arange(TEXTS))),
        "dataset.rows",
    ),
    "randomness": Contract(lambda: loader(Numbers(draws_alike)), lambda: loader(Numbers(draws)), "dataset.random"),
    "order": Contract(lambda: loader(Stream(shared_out=False)), lambda: loader(Stream()), "so each comes 2"),
    "shards": Contract(
        lambda: of_rank(sampled=False),
        lambda: of_rank(sampled=True),
        "2 ranks read the same samples",
        {"world_size": 2},
    ),
    "resume": Contract(lambda: stateful(remembers=False), lambda: stateful(remembers=True), "other batches come"),
    "portability": Contract(
        unpicklable, lambda: loader(Numbers()), "collate_fn is a lambda", {"start_methods": ["spawn"]}
    ),
}
