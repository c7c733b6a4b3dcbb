"""A stream of 1,000 samples that four workers read, each of them all or its share."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from torch.utils.data import DataLoader, IterableDataset, get_worker_info

if TYPE_CHECKING:
    from collections.abc import Iterator

CHECK = "order"
EFFECT = "gives each sample {figure} times an epoch"
COMPARE = "ratio"
ROUNDS = 2


class Faulty(IterableDataset[int]):
    def __iter__(self) -> Iterator[int]:
        yield from range(1_000)


class Mended(IterableDataset[int]):
    def __iter__(self) -> Iterator[int]:
        worker = get_worker_info()
        first, step = (worker.id, worker.num_workers) if worker is not None else (0, 1)
        yield from islice(range(1_000), first, None, step)


def faulty() -> float:
    loader = DataLoader(Faulty(), batch_size=10, num_workers=4)
    return sum(map(len, loader)) / 1_000


def mended() -> float:
    loader = DataLoader(Mended(), batch_size=10, num_workers=4)
    return sum(map(len, loader)) / 1_000
