"""Loaders whose workers do not grow."""

from __future__ import annotations

import array
import functools
import gc
import importlib
import mmap
import random
import tempfile
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import torch
from torch.utils.data import DataLoader, Subset, TensorDataset

if TYPE_CHECKING:
    from collections.abc import Iterator


from memory_loaders import ROWS, Batched, Iterate, Read, clean, length_at, load, path_of, paths, value_at


@clean
def numpy_floats() -> DataLoader[Any]:
    return load(Read(ROWS, value_at("rows"), rows=np.zeros((ROWS, 20), dtype=np.float32)))


@clean
def numpy_with_labels() -> DataLoader[Any]:
    get = lambda self, at: (self.rows[at], int(self.labels[at]))  # noqa: E731
    return load(Read(ROWS, get, rows=np.zeros((ROWS, 8)), labels=np.arange(ROWS)))


@clean
def numpy_bytes() -> DataLoader[Any]:
    return load(Read(ROWS, length_at("rows"), rows=np.array([path_of(at) for at in range(ROWS)], dtype=np.bytes_)))


@clean
def numpy_unicode() -> DataLoader[Any]:
    return load(Read(ROWS, length_at("rows"), rows=np.array([path_of(at) for at in range(ROWS)])))


@clean
def numpy_structured() -> DataLoader[Any]:
    rows = np.zeros(ROWS, dtype=[("path", "S64"), ("label", "i8")])
    return load(Read(ROWS, lambda self, at: int(self.rows[at]["label"]), rows=rows))


@clean
def numpy_memory_mapped() -> DataLoader[Any]:
    with tempfile.NamedTemporaryFile(suffix=".npy") as file:
        np.save(file, np.zeros((ROWS, 16)))
        file.flush()
        rows = np.load(file.name, mmap_mode="r")
    return load(Read(ROWS, lambda self, at: np.array(self.rows[at]), rows=rows))


@clean
def one_tensor() -> DataLoader[Any]:
    return load(Read(ROWS, value_at("rows"), rows=torch.zeros(ROWS, 20)))


@clean
def tensor_dataset() -> DataLoader[Any]:
    return load(TensorDataset(torch.zeros(ROWS, 20), torch.zeros(ROWS)))


@clean
def shared_tensor() -> DataLoader[Any]:
    return load(Read(ROWS, value_at("rows"), rows=torch.zeros(ROWS, 20).share_memory_()))


@clean
def few_large_arrays() -> DataLoader[Any]:
    return load(
        Read(ROWS, lambda self, at: self.rows[at % 100][at // 100], rows=[np.zeros(50_000) for _ in range(100)])
    )


@clean
def few_large_tensors() -> DataLoader[Any]:
    rows = {f"shard{at}": torch.zeros(50_000) for at in range(100)}
    return load(Read(ROWS, lambda self, at: self.rows[f"shard{at % 100}"][at // 100], rows=rows))


@clean
def few_large_byte_strings() -> DataLoader[Any]:
    return load(
        Read(ROWS, lambda self, at: self.rows[at % 200][at : at + 9], rows=[bytes(300_000) for _ in range(200)])
    )


@clean
def pyarrow_strings() -> DataLoader[Any]:
    return load(
        Read(ROWS, lambda self, at: len(self.rows[at].as_py()), rows=pa.array([path_of(at) for at in range(ROWS)]))
    )


@clean
def pyarrow_table() -> DataLoader[Any]:
    rows = pa.table({"path": [path_of(at) for at in range(ROWS)], "label": np.arange(ROWS)})
    return load(Read(ROWS, lambda self, at: self.rows["label"][at].as_py(), rows=rows))


@clean
def pandas_numbers() -> DataLoader[Any]:
    frame = pd.DataFrame({"x": np.zeros(ROWS), "y": np.arange(ROWS)})
    return load(Read(ROWS, lambda self, at: float(self.frame["y"].iat[at]), frame=frame))


@clean
def pandas_arrow_strings() -> DataLoader[Any]:
    frame = pd.DataFrame({"path": pd.array([path_of(at) for at in range(ROWS)], dtype="string[pyarrow]")})
    return load(Read(ROWS, lambda self, at: len(self.frame["path"].iat[at]), frame=frame))


@clean
def serialised_records() -> DataLoader[Any]:
    joined = b"".join(path_of(at).encode() for at in range(ROWS))
    ends = torch.cumsum(torch.tensor([len(path_of(at)) for at in range(ROWS)]), 0)
    get = lambda self, at: len(bytes(self.rows[int(self.ends[at]) - 40 : int(self.ends[at])].numpy()))  # noqa: E731
    return load(Read(ROWS, get, rows=torch.frombuffer(bytearray(joined), dtype=torch.uint8), ends=ends))


@clean
def machine_array() -> DataLoader[Any]:
    return load(Read(ROWS, value_at("rows"), rows=array.array("q", range(ROWS))))


@clean
def mapped_file() -> DataLoader[Any]:
    with tempfile.TemporaryFile() as file:
        file.write(bytes(ROWS * 16))
        file.flush()
        rows = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return load(Read(ROWS, lambda self, at: len(self.rows[at * 16 : at * 16 + 16]), rows=rows))


@clean
def computed_samples() -> DataLoader[Any]:
    return load(Read(ROWS, lambda _self, at: torch.full((32,), float(at))))


@clean
def imports_in_worker() -> DataLoader[Any]:
    names = (
        "sqlite3",
        "xml.dom.minidom",
        "xmlrpc.client",
        "ensurepip",
        "lib2to3.pygram",
        "pydoc_data.topics",
        "turtle",
    )

    def get(_self: Any, at: int) -> int:
        for name in names:
            try:
                importlib.import_module(name)
            except ImportError:
                continue
        return at

    return load(Read(ROWS, get))


@clean
def tables_built_in_worker() -> DataLoader[Any]:
    def get(self: Any, at: int) -> int:
        if not hasattr(self, "table"):
            self.table = [path_of(row) for row in range(300_000)]
        return at

    return load(Read(ROWS, get))


@clean
def big_prefetch() -> DataLoader[Any]:
    return load(Read(ROWS, value_at("rows"), rows=torch.zeros(ROWS, 20)), prefetch_factor=32, persistent_workers=True)


@clean
def allocator_warm_up() -> DataLoader[Any]:
    return load(Read(ROWS, lambda _self, at: torch.zeros(3, 128, 128 + at % 32)), collate_fn=lambda batch: len(batch))


@clean
def large_images() -> DataLoader[Any]:
    return load(Read(ROWS, lambda _self, at: np.full((3, 96, 96), at, dtype=np.float32)), batch_size=16)


@clean
def collects_garbage() -> DataLoader[Any]:
    def get(self: Any, at: int) -> Any:
        if at % 8 == 0:
            gc.collect()
        return self.rows[at]

    return load(Read(ROWS, get, rows=np.zeros((ROWS, 8))))


@clean
def makes_cyclic_garbage() -> DataLoader[Any]:
    def get(_self: Any, at: int) -> int:
        ring: list[Any] = [{"at": at}, path_of(at)]
        ring.append(ring)
        return at

    return load(Read(ROWS, get))


@clean
def small_list() -> DataLoader[Any]:
    return load(Read(4000, length_at("rows"), rows=[path_of(at) for at in range(4000)]))


@clean
def small_dict() -> DataLoader[Any]:
    return load(Read(2000, length_at("rows"), rows={at: path_of(at) for at in range(2000)}))


@clean
def small_records() -> DataLoader[Any]:
    rows = [{"path": path_of(at), "label": at % 10} for at in range(1500)]
    return load(Read(1500, lambda self, at: self.rows[at]["label"], rows=rows))


@clean
def tiny_dataset() -> DataLoader[Any]:
    return load(Read(3, length_at("rows"), rows=["a", "b", "c"]), batch_size=2)


@clean
def unused_list() -> DataLoader[Any]:
    return load(Read(ROWS, value_at("rows"), rows=np.zeros(ROWS), names=paths(50)))


@clean
def unused_dict() -> DataLoader[Any]:
    names = {path_of(at): at for at in range(ROWS)}
    return load(Read(ROWS, value_at("rows"), rows=np.zeros(ROWS), names=names))


@clean
def unused_records_beside_garbage() -> DataLoader[Any]:
    def get(self: Any, at: int) -> Any:
        ring: list[Any] = []
        ring.append(ring)
        return self.rows[at]

    return load(Read(ROWS, get, rows=np.zeros(ROWS), records=[[path_of(at), at] for at in range(ROWS)]))


@clean
def length_of_unused_list() -> DataLoader[Any]:
    return load(Read(ROWS, lambda self, at: len(self.names) + at, names=paths(30)))


@clean
def repeated_strings() -> DataLoader[Any]:
    names = [f"class_{at}" for at in range(100)]
    return load(Read(ROWS, length_at("rows"), rows=[names[at % 100] for at in range(ROWS)]))


@clean
def small_integers() -> DataLoader[Any]:
    return load(Read(ROWS, value_at("rows"), rows=[at % 200 for at in range(ROWS)]))


@clean
def bounded_cache() -> DataLoader[Any]:
    @functools.lru_cache(maxsize=64)
    def decode(at: int) -> Any:
        return np.full(100, at)

    return load(Read(ROWS, lambda _self, at: decode(at)))


@clean
def iterable_numbers() -> DataLoader[Any]:
    return load(Iterate(lambda self: self.rows, rows=np.zeros((ROWS, 8))))


@clean
def iterable_with_shuffle_buffer() -> DataLoader[Any]:
    def rows(_self: Any) -> Iterator[Any]:
        held: list[Any] = []
        for at in range(ROWS):
            held.append(np.full(64, at))
            if len(held) >= 10_000:
                yield held.pop(random.randrange(len(held)))
            else:
                yield np.full(64, at)

    return load(Iterate(rows))


@clean
def no_batching() -> DataLoader[Any]:
    return load(Read(ROWS, value_at("rows"), rows=np.zeros((ROWS, 8))), batch_size=None)


@clean
def whole_batches() -> DataLoader[Any]:
    return load(Batched(ROWS, value_at("rows"), rows=np.zeros((ROWS, 8))))


@clean
def subset_of_numbers() -> DataLoader[Any]:
    return load(Subset(Read(ROWS, value_at("rows"), rows=np.zeros((ROWS, 8))), np.arange(0, ROWS, 2)))  # type: ignore[arg-type]


@clean
def random_augmentation() -> DataLoader[Any]:
    get = lambda self, at: self.rows[at] + torch.rand(20) + random.random() + np.random.rand()  # noqa: E731
    return load(Read(ROWS, get, rows=torch.zeros(ROWS, 20)))


@clean
def slow_numbers() -> DataLoader[Any]:
    def get(self: Any, at: int) -> Any:
        time.sleep(0.01)
        return self.rows[at]

    return load(Read(ROWS, get, rows=np.zeros((ROWS, 8))))


def _slow(seconds: float, sample: Any, **options: Any) -> DataLoader[Any]:
    def get(_: Any, at: int) -> Any:
        time.sleep(seconds)
        return sample(at)

    return load(Read(ROWS, get), **options)


@clean
def slow_tensors() -> DataLoader[Any]:
    return _slow(0.002, lambda at: torch.tensor(float(at)))


@clean
def slow_single_tensors() -> DataLoader[Any]:
    return _slow(0.002, lambda at: torch.tensor(float(at)), batch_size=1)


@clean
def slow_dicts() -> DataLoader[Any]:
    return _slow(0.002, lambda at: {"x": torch.rand(3), "y": at, "name": f"sample {at}"}, batch_size=4)


@clean
def slower_arrays() -> DataLoader[Any]:
    return _slow(0.005, lambda at: (np.random.rand(4), at), batch_size=2)


@clean
def some_samples_raise() -> DataLoader[Any]:
    def get(self: Any, at: int) -> Any:
        if at % 97 == 0:
            raise ValueError(f"sample {at} is broken")
        return self.rows[at]

    return load(Read(ROWS, get, rows=np.zeros((ROWS, 8))))
