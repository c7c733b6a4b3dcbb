"""Loaders whose workers copy what they read."""

from __future__ import annotations

import importlib
import random
import time
from collections import deque, namedtuple
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import torch
from torch.utils.data import ConcatDataset, DataLoader, Subset, random_split

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


from memory_loaders import (
    ROWS,
    Batched,
    Holder,
    Iterate,
    Read,
    Wrapper,
    copies,
    length_at,
    load,
    path_of,
    paths,
    value_at,
)

GLOBAL_ROWS: list[str] = []
Row = namedtuple("Row", "path label")


@dataclass
class Record:
    path: str
    label: int


@dataclass(slots=True)
class SlottedRecord:
    path: str
    label: int


def _list_of_paths(megabytes: float) -> Callable[[], DataLoader[Any]]:
    def build() -> DataLoader[Any]:
        rows = paths(megabytes)
        return load(Read(len(rows), length_at("samples"), samples=rows))

    build.__name__ = f"list_of_paths_{megabytes:g}_mb"
    return build


for _size in (2, 4, 10, 100, 1000):
    copies("dataset.samples", _size)(_list_of_paths(_size))


def _records(name: str, make: Callable[[int], Any], get: Callable[[Any], Any], megabytes: float) -> None:
    def build() -> DataLoader[Any]:
        rows = [make(at) for at in range(ROWS)]
        return load(Read(ROWS, lambda self, at: get(self.samples[at]), samples=rows))

    build.__name__ = name
    copies("dataset.samples", megabytes)(build)


_records("list_of_tuples", lambda at: (path_of(at), at), lambda row: row[1], 41)
_records("list_of_dicts", lambda at: {"path": path_of(at), "label": at}, lambda row: len(row["path"]), 41)
_records("list_of_dataclasses", lambda at: Record(path_of(at), at), lambda row: len(row.path), 41)
_records("list_of_slotted", lambda at: SlottedRecord(path_of(at), at), lambda row: len(row.path), 41)
_records("list_of_named_tuples", lambda at: Row(path_of(at), at), lambda row: len(row.path), 41)
_records("list_of_lists", lambda at: [at, at + 1, at + 2], lambda row: row[0] + row[1] + row[2], 32)
_records("list_of_integers", lambda at: at + 1000, lambda row: row, 6)
_records("list_of_floats", lambda at: at + 0.5, lambda row: row, 6)
_records("list_of_bytes", lambda at: path_of(at).encode(), len, 20)
_records("list_of_small_arrays", lambda at: np.array([at, at]), lambda row: row, 19)


@copies("dataset.samples", 24)
def list_of_small_tensors() -> DataLoader[Any]:
    return load(Read(40_000, value_at("samples"), samples=[torch.tensor([at, at]) for at in range(40_000)]))


@copies("dataset.table", 22)
def dict_by_number() -> DataLoader[Any]:
    return load(Read(ROWS, length_at("table"), table={at: path_of(at) for at in range(ROWS)}))


@copies("dataset.table", 6)
def dict_by_path() -> DataLoader[Any]:
    names = np.array([path_of(at) for at in range(ROWS)])
    table = {path_of(at): at + 1000 for at in range(ROWS)}
    return load(Read(ROWS, lambda self, at: self.table[str(self.names[at])], table=table, names=names))


@copies("dataset.columns", 28)
def dict_of_lists() -> DataLoader[Any]:
    columns = {"path": [path_of(at) for at in range(ROWS)], "label": [at + 1000 for at in range(ROWS)]}
    return load(Read(ROWS, lambda self, at: len(self.columns["path"][at]) + self.columns["label"][at], columns=columns))


@copies("dataset.known", 13)
def set_of_pairs() -> DataLoader[Any]:
    known = {(at, at + 1) for at in range(ROWS)}
    return load(Read(ROWS, lambda self, at: (at, at + 1) in self.known, known=known))


@copies("dataset.rows", 22)
def deque_of_paths() -> DataLoader[Any]:
    size = 20_000
    return load(Read(size, length_at("rows"), rows=deque(path_of(at) for at in range(size))))


@copies("dataset.rows", 22)
def object_array() -> DataLoader[Any]:
    return load(Read(ROWS, length_at("rows"), rows=np.array([path_of(at) for at in range(ROWS)], dtype=object)))


@copies("dataset.frame", 22)
def pandas_object_column() -> DataLoader[Any]:
    frame = pd.DataFrame({"path": pd.Series([path_of(at) for at in range(ROWS)], dtype=object), "y": np.arange(ROWS)})
    return load(Read(ROWS, lambda self, at: len(self.frame["path"].iat[at]), frame=frame))


@copies("dataset.frame", 22)
def pandas_rows() -> DataLoader[Any]:
    frame = pd.DataFrame(
        {"path": pd.Series([path_of(at) for at in range(50_000)], dtype=object), "y": np.arange(50_000)}
    )
    return load(Read(50_000, lambda self, at: int(self.frame.iloc[at]["y"]), frame=frame))


@copies("dataset.index.rows", 22)
def helper_object() -> DataLoader[Any]:
    index = Holder(rows=[path_of(at) for at in range(ROWS)])
    return load(Read(ROWS, lambda self, at: len(self.index.rows[at]), index=index))


@copies("dataset.source.reader.entries", 22)
def nested_helpers() -> DataLoader[Any]:
    source = Holder(reader=Holder(entries=tuple(path_of(at) for at in range(ROWS))))
    return load(Read(ROWS, lambda self, at: len(self.source.reader.entries[at]), source=source))


@copies("dataset.inner.samples", 22)
def behind_a_wrapper() -> DataLoader[Any]:
    return load(Wrapper(Read(ROWS, length_at("samples"), samples=[path_of(at) for at in range(ROWS)])))


@copies("dataset.dataset.samples", 22)
def behind_a_subset() -> DataLoader[Any]:
    inner = Read(ROWS, length_at("samples"), samples=[path_of(at) for at in range(ROWS)])
    order = np.random.default_rng(0).permutation(ROWS)
    return load(Subset(inner, order))  # type: ignore[arg-type]


@copies("dataset.dataset.samples", 22)
def behind_a_random_split() -> DataLoader[Any]:
    inner = Read(ROWS, length_at("samples"), samples=[path_of(at) for at in range(ROWS)])
    return load(random_split(inner, [0.8, 0.2])[0])


@copies("dataset.datasets", 22)
def concatenated() -> DataLoader[Any]:
    half = ROWS // 2
    parts = [Read(half, length_at("samples"), samples=[path_of(at) for at in range(half)]) for _ in range(2)]
    return load(ConcatDataset(parts))


@copies("dataset.get", 22)
def closure() -> DataLoader[Any]:
    rows = [path_of(at) for at in range(ROWS)]
    return load(Read(ROWS, lambda _self, at: len(rows[at])))


@copies("dataset.ROWS", 22)
def class_attribute() -> DataLoader[Any]:
    class Declared(Read):
        ROWS = [path_of(at) for at in range(ROWS)]  # noqa: RUF012

    return load(Declared(ROWS, length_at("ROWS")))


@copies("memory_copying.GLOBAL_ROWS", 22)
def module_global() -> DataLoader[Any]:
    GLOBAL_ROWS[:] = [path_of(at) for at in range(ROWS)]
    return load(Read(ROWS, lambda _self, at: len(GLOBAL_ROWS[at])))


@copies("collate_fn.names", 22)
def collate_function() -> DataLoader[Any]:
    class Collate(Holder):
        def __call__(self, batch: list[int]) -> int:
            return sum(len(self.names[at]) for at in batch)  # type: ignore[attr-defined]

    names = [path_of(at) for at in range(ROWS)]
    return load(Read(ROWS, lambda _self, at: at), collate_fn=Collate(names=names))


def _permuted(megabytes: float) -> Callable[[], DataLoader[Any]]:
    def build() -> DataLoader[Any]:
        rows = paths(megabytes)
        order = np.random.default_rng(0).permutation(len(rows))
        return load(Read(len(rows), lambda self, at: len(self.samples[self.order[at]]), samples=rows, order=order))

    build.__name__ = f"permuted_{megabytes:g}_mb"
    return build


for _size in (3, 20, 300):
    copies("dataset.samples", _size)(_permuted(_size))


@copies("dataset.samples", 22)
def shuffled_in_memory() -> DataLoader[Any]:
    rows = [path_of(at) for at in range(ROWS)]
    random.Random(0).shuffle(rows)
    return load(Read(ROWS, length_at("samples"), samples=rows), shuffle=False)


@copies("dataset.samples", 22)
def without_batching() -> DataLoader[Any]:
    return load(Read(ROWS, length_at("samples"), samples=[path_of(at) for at in range(ROWS)]), batch_size=None)


@copies("dataset.samples", 22)
def by_whole_batches() -> DataLoader[Any]:
    return load(Batched(ROWS, length_at("samples"), samples=[path_of(at) for at in range(ROWS)]))


@copies("dataset.samples", 22)
def by_a_batch_sampler() -> DataLoader[Any]:
    batches = [list(range(at, at + 20)) for at in range(0, ROWS, 20)]
    random.Random(0).shuffle(batches)
    dataset = Read(ROWS, length_at("samples"), samples=[path_of(at) for at in range(ROWS)])
    return load(dataset, batch_sampler=batches)


@copies("dataset.rows", 22)
def iterable_paths() -> DataLoader[Any]:
    return load(Iterate(lambda self: map(len, self.rows), rows=[path_of(at) for at in range(ROWS)]))


@copies("dataset.rows", 22)
def iterable_shuffled_paths() -> DataLoader[Any]:
    def rows(self: Any) -> Iterator[int]:
        order = np.random.permutation(len(self.rows))
        return (len(self.rows[at]) for at in order)

    return load(Iterate(rows, rows=[path_of(at) for at in range(ROWS)]))


@copies("dataset.samples", 22)
def slow_paths() -> DataLoader[Any]:
    def get(self: Any, at: int) -> int:
        time.sleep(0.01)
        return len(self.samples[at])

    return load(Read(ROWS, get, samples=[path_of(at) for at in range(ROWS)]))


@copies("dataset.samples", 22)
def read_beside_an_unused_list() -> DataLoader[Any]:
    unused = [path_of(at) for at in range(2 * ROWS)]
    return load(Read(ROWS, length_at("samples"), unused=unused, samples=[path_of(at) for at in range(ROWS)]))


@copies("dataset.samples", 22)
def stateful_loader() -> DataLoader[Any]:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torchdata.stateful_dataloader import StatefulDataLoader

        rows = [path_of(at) for at in range(ROWS)]
        loader: DataLoader[Any] = StatefulDataLoader(
            Read(ROWS, length_at("samples"), samples=rows), batch_size=32, num_workers=2, multiprocessing_context="fork"
        )
    return loader


@copies("dataset.samples", 22)
def imports_beside_paths() -> DataLoader[Any]:
    def get(self: Any, at: int) -> int:
        importlib.import_module("turtledemo")
        if not hasattr(self, "table"):
            self.table = [path_of(row) for row in range(200_000)]
        return len(self.samples[at])

    return load(Read(ROWS, get, samples=[path_of(at) for at in range(ROWS)]))
