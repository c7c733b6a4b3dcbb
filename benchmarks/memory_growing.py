"""Loaders that leak, fill caches or keep batches, some of them with copies beside."""

from __future__ import annotations

import functools
import random
import time
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.utils.data import DataLoader, TensorDataset

if TYPE_CHECKING:
    from collections.abc import Iterator


from memory_loaders import ROWS, Iterate, Read, accumulates, load, path_of


@accumulates("leak", path="dataset.log")
def leak_of_strings() -> DataLoader[Any]:
    def get(self: Any, at: int) -> int:
        self.log.append(f"read {path_of(at)}")
        return at

    return load(Read(ROWS, get, log=[]))


@accumulates("leak", path="dataset.log")
def leak_of_tensors() -> DataLoader[Any]:
    def get(self: Any, at: int) -> int:
        self.log.append(torch.full((64,), at))
        return at

    return load(Read(ROWS, get, log=deque()))


@accumulates("leak", path="dataset.seen")
def leak_of_keys() -> DataLoader[Any]:
    def get(self: Any, at: int) -> int:
        self.seen[at, random.random()] = at
        return at

    return load(Read(ROWS, get, seen={}))


@accumulates("leak")
def leak_in_collate() -> DataLoader[Any]:
    kept: list[Any] = []

    def collate(batch: list[Any]) -> Any:
        kept.append(torch.stack(batch))
        return kept[-1]

    return load(Read(ROWS, lambda self, at: self.rows[at], rows=torch.zeros(ROWS, 20)), collate_fn=collate)


@accumulates("leak")
def leak_in_an_iterable() -> DataLoader[Any]:
    def rows(self: Any) -> Iterator[int]:
        for at in range(ROWS):
            self.log.append(path_of(at))
            yield at

    return load(Iterate(rows, log=[]))


@accumulates("leak")
def slow_leak_of_arrays() -> DataLoader[Any]:
    def get(self: Any, at: int) -> int:
        time.sleep(0.005)
        self.log.append(np.full(2000, at))
        return at

    return load(Read(ROWS, get, log=[]))


@accumulates("leak", path="dataset.log")
def slow_leak_of_records() -> DataLoader[Any]:
    def get(self: Any, at: int) -> int:
        time.sleep(0.002)
        self.log.append({"path": path_of(at)})
        return at

    return load(Read(ROWS, get, log=[]))


@accumulates("cache", path="dataset.cache")
def slow_cache_of_records() -> DataLoader[Any]:
    def get(self: Any, at: int) -> int:
        if at not in self.cache:
            time.sleep(0.001)
            self.cache[at] = {"path": path_of(at)}
        return len(self.cache[at])

    return load(Read(ROWS, get, cache={}))


@accumulates("cache", path="dataset.cache")
def cache_of_arrays() -> DataLoader[Any]:
    def get(self: Any, at: int) -> Any:
        if at not in self.cache:
            self.cache[at] = np.full(100, at)
        return self.cache[at]

    return load(Read(ROWS, get, cache={}))


@accumulates("cache")
def cache_by_decorator() -> DataLoader[Any]:
    @functools.cache
    def decode(at: int) -> Any:
        return torch.full((50,), at)

    return load(Read(ROWS, lambda _self, at: decode(at)))


@accumulates("cache", path="dataset.cache")
def cache_in_a_list() -> DataLoader[Any]:
    def get(self: Any, at: int) -> Any:
        if self.cache[at] is None:
            self.cache[at] = path_of(at) * 4
        return len(self.cache[at])

    return load(Read(ROWS, get, cache=[None] * ROWS))


@accumulates("cache")
def cache_of_5000() -> DataLoader[Any]:
    @functools.lru_cache(maxsize=5000)
    def decode(at: int) -> Any:
        return np.full(200, at)

    return load(Read(ROWS, lambda _self, at: decode(at)))


@accumulates("copy_on_access", "leak", path="dataset.samples", together=True)
def paths_and_leak() -> DataLoader[Any]:
    def get(self: Any, at: int) -> int:
        self.log.append(f"read {at}")
        return len(self.samples[at])

    return load(Read(ROWS, get, log=[], samples=[path_of(at) for at in range(ROWS)]))


@accumulates("copy_on_access", "cache", path="dataset.samples", together=True)
def records_and_cache() -> DataLoader[Any]:
    def get(self: Any, at: int) -> Any:
        if at not in self.cache:
            self.cache[at] = np.full(50, len(self.samples[at]["path"]))
        return self.cache[at]

    return load(Read(ROWS, get, cache={}, samples=[{"path": path_of(at), "y": at} for at in range(ROWS)]))


@accumulates("retained")
def loader_that_keeps_batches() -> DataLoader[Any]:
    class Keeping(DataLoader[Any]):
        def __iter__(self) -> Any:
            self.kept: list[Any] = []
            for batch in super().__iter__():
                self.kept.append(batch)
                yield batch

    return Keeping(TensorDataset(torch.zeros(ROWS, 20)), batch_size=32, num_workers=2)
