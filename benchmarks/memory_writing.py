"""Loaders whose samples write to arrays in place, each its own part; and such as write to buffers, or to copies."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from memory_loaders import Iterate, Read, clean, copies, load, value_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch.utils.data import DataLoader

POINTS = 2000


def _clouds() -> list[Any]:
    return [np.random.default_rng(at).normal(size=(1024, 6)).astype("float32") for at in range(POINTS)]


def _centred(points: Any) -> Any:
    points[:, :3] -= points[:, :3].mean(0)
    return points


@copies("dataset.clouds", 49)
def arrays_centred_in_place() -> DataLoader[Any]:
    return load(Read(POINTS, lambda self, at: _centred(self.clouds[at]), clouds=_clouds()))


@copies("dataset.clouds", 49)
def tensors_centred_in_place() -> DataLoader[Any]:
    clouds = [torch.from_numpy(each) for each in _clouds()]
    return load(Read(POINTS, lambda self, at: _centred(self.clouds[at]), clouds=clouds))


@copies("dataset.clouds", 49)
def rows_of_one_array_centred_in_place() -> DataLoader[Any]:
    return load(Read(POINTS, lambda self, at: _centred(self.clouds[at]), clouds=np.stack(_clouds())))


@copies("dataset.rows", 16)
def rows_of_one_tensor_scaled_in_place() -> DataLoader[Any]:
    return load(Read(40_000, lambda self, at: self.rows[at].div_(2.0), rows=torch.ones(40_000, 100)))


@copies("dataset.records", 49)
def records_with_arrays_centred_in_place() -> DataLoader[Any]:
    records = [{"points": points, "label": at} for at, points in enumerate(_clouds())]
    return load(Read(POINTS, lambda self, at: _centred(self.records[at]["points"]), records=records))


@copies("dataset.clouds", 49)
def few_arrays_centred_in_place() -> DataLoader[Any]:
    clouds = [np.ones((20_000, 6)) for _ in range(50)]
    return load(Read(50, lambda self, at: _centred(self.clouds[at])[:8], clouds=clouds))


@copies("dataset.clouds", 49)
def arrays_of_a_stream_centred_in_place() -> DataLoader[Any]:
    return load(Iterate(lambda self: (_centred(points) for points in self.clouds), clouds=_clouds()))


@copies("dataset.points", 24)
def parts_of_one_array_scaled_in_place() -> DataLoader[Any]:
    """Samples of unequal length lie in one array, so that nobody knows which rows a sample has."""
    ends = np.cumsum(np.random.default_rng(0).integers(20, 180, size=10_000))

    def get(self: Any, at: int) -> Any:
        part = self.points[self.ends[at - 1] if at else 0 : self.ends[at]]
        part *= 0.5
        return part[:20]

    return load(Read(10_000, get, ends=ends, points=np.ones((int(ends[-1]), 3))))


@copies("dataset.pictures", 24)
def lazily_filled_array() -> DataLoader[Any]:
    def get(self: Any, at: int) -> Any:
        if not self.known[at]:
            self.pictures[at] = at
            self.known[at] = True
        return self.pictures[at, :4]

    pictures = np.zeros((2000, 3000), np.float32)
    pictures[:] = 1  # an array that was written to before workers start
    return load(Read(2000, get, pictures=pictures, known=np.zeros(2000, bool)))


@copies("dataset.pictures", 24)
def array_filled_in_workers_alone() -> DataLoader[Any]:
    def get(self: Any, at: int) -> Any:
        if not self.known[at]:
            self.pictures[at] = at
            self.known[at] = True
        return self.pictures[at, :4]

    return load(Read(2000, get, pictures=np.zeros((2000, 3000), np.float32), known=np.zeros(2000, bool)))


@clean
def arrays_centred_in_a_copy() -> DataLoader[Any]:
    return load(Read(POINTS, lambda self, at: _centred(self.clouds[at].copy()), clouds=_clouds()))


@clean
def arrays_read_beside_a_buffer() -> DataLoader[Any]:
    def get(self: Any, at: int) -> Any:
        self.buffer[:] = self.rows[at % 100].mean()
        return self.buffer[0, :8].copy()

    return load(Read(20_000, get, rows=np.ones((100, 5000)), buffer=np.zeros((1000, 512))))


@clean
def ring_of_buffers() -> DataLoader[Any]:
    def get(self: Any, at: int) -> Any:
        self.calls += 1
        mine = self.buffers[self.calls % len(self.buffers)]
        mine[:] = at
        return mine[:8].copy()

    return load(Read(20_000, get, calls=0, buffers=[np.zeros(20_000) for _ in range(40)]))


@clean
def output_of_a_transform() -> DataLoader[Any]:
    def get(self: Any, at: int) -> Any:
        return torch.mul(self.rows[at], 2.0, out=self.out).clone()

    return load(Read(20_000, get, rows=torch.ones(20_000, 500), out=torch.empty(500)))


@clean
def tensor_that_is_shared_and_written_to() -> DataLoader[Any]:
    return load(Read(20_000, lambda self, at: self.rows[at].add_(1), rows=torch.zeros(20_000, 200).share_memory_()))


@clean
def file_that_is_mapped_and_read() -> DataLoader[Any]:
    with tempfile.NamedTemporaryFile(suffix=".npy") as file:
        np.save(file, np.ones((4000, 2048)))
        file.flush()
        rows = np.load(file.name, mmap_mode="c")
    rows[:50].sum()
    return load(Read(4000, lambda self, at: self.rows[at].mean(), rows=rows))


@clean
def views_that_are_read() -> DataLoader[Any]:
    rows = np.ones((4000, 2048))
    return load(Read(4000, lambda self, at: self.views[at].sum(), rows=rows, views=list(rows)))


@clean
def array_not_written_yet() -> DataLoader[Any]:
    return load(Read(4000, value_at("rows"), rows=np.zeros((4000, 2048))))


@clean
def stream_of_large_arrays() -> DataLoader[Any]:
    def rows(self: Any) -> Iterator[Any]:
        yield from (row * 2 for row in self.rows)

    return load(Iterate(rows, rows=np.ones((4000, 2048))))
