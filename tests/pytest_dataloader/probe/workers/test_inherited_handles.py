"""Files and sockets that workers use and that were opened before the fork: only where that is a fault."""

from __future__ import annotations

import mmap
import os
import socket
import sqlite3
import threading
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, Sampler, get_worker_info

from pytest_dataloader.checks import Setting, workers
from pytest_dataloader.probe.workers.inherited_handles import inherited_handles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

ROWS, WIDTH = 64, 16
OPENED: list[Any] = []
"""What loaders of a test have opened."""


@pytest.fixture(autouse=True)
def closed_afterwards() -> Iterator[None]:
    yield
    while OPENED:
        OPENED.pop().close()


def keep(handle: Any) -> Any:
    OPENED.append(handle)
    return handle


class Rows(Dataset[Any]):
    """Reads a row by a function of itself and the index; what is opened is ``handle``."""

    def __init__(self, path: Path, handle: Any, read: Callable[[Any, int], bytes]) -> None:
        self.path, self.handle, self.read = path, handle, read

    def __len__(self) -> int:
        return ROWS

    def __getitem__(self, index: int) -> Any:
        return torch.frombuffer(bytearray(self.read(self, index)), dtype=torch.uint8)


class Lines(IterableDataset[Any]):
    """Reads rows of the file that belongs to the worker, or of the first one."""

    def __init__(self, handles: list[Any], *, one_each: bool) -> None:
        self.handles, self.one_each = handles, one_each

    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        handle = self.handles[info.id if self.one_each and info else 0]
        while row := handle.read(WIDTH):
            yield torch.frombuffer(bytearray(row), dtype=torch.uint8)


class FromFile(Sampler[int]):
    """Reads in the main process in which order rows are wanted."""

    def __init__(self, handle: Any) -> None:
        self.handle = handle

    def __iter__(self) -> Iterator[int]:
        self.handle.seek(0)
        yield from (number % ROWS for number in self.handle.read(ROWS))

    def __len__(self) -> int:
        return ROWS


@pytest.fixture
def path(tmp_path: Path) -> Path:
    rows = tmp_path / "rows.bin"
    rows.write_bytes(bytes(number % 251 for number in range(ROWS * WIDTH)))
    with sqlite3.connect(tmp_path / "rows.sqlite") as new:
        new.execute("CREATE TABLE row (number INTEGER PRIMARY KEY, data BLOB)")
        new.executemany("INSERT INTO row VALUES (?, ?)", ((n, bytes([n]) * 5000) for n in range(ROWS)))
    new.close()
    return rows


def sought(rows: Rows, index: int) -> bytes:
    rows.handle.seek(index * WIDTH)
    return bytes(rows.handle.read(WIDTH))


def read_at(rows: Rows, index: int) -> bytes:
    return os.pread(rows.handle.fileno(), WIDTH, index * WIDTH)


def mapped(rows: Rows, index: int) -> bytes:
    return bytes(rows.handle[index * WIDTH : (index + 1) * WIDTH])


def selected(rows: Rows, index: int) -> bytes:
    [(data,)] = rows.handle.execute("SELECT data FROM row WHERE number = ?", (index,))
    return bytes(data)


def selected_anew(rows: Rows, index: int) -> bytes:
    if rows.handle is None:
        rows.handle = sqlite3.connect(rows.path.with_suffix(".sqlite"))
    return selected(rows, index)


def of_its_own(rows: Rows, index: int) -> bytes:
    return sought(Rows(rows.path, rows.handle[index], sought), index)


def logged(rows: Rows, index: int) -> bytes:
    rows.handle.write(f"{index}\n")
    rows.handle.flush()
    return bytes([index])


def by_chance(_rows: Rows, _index: int) -> bytes:
    return os.urandom(WIDTH)


def opened_by_process(rows: Rows, index: int) -> bytes:
    pid, handle = rows.handle
    if pid != os.getpid():
        handle = rows.path.open("rb")
        rows.handle = (os.getpid(), handle)
    return sought(Rows(rows.path, handle, sought), index)


def answered(rows: Rows, index: int) -> bytes:
    rows.handle.sendall(bytes([index]))
    return bytes(rows.handle.recv(1))


def answered_by_worker(rows: Rows, index: int) -> bytes:
    info = get_worker_info()
    return answered(Rows(rows.path, rows.handle[info.id if info else 0], answered), index)


def opens_its_own(_worker: int) -> None:
    rows: Any = get_worker_info().dataset  # type: ignore[union-attr]  # in a worker there is one
    rows.handle = rows.path.open("rb")


def load(dataset: Any, **options: Any) -> DataLoader[Any]:
    settings: dict[str, Any] = {"batch_size": 4, "num_workers": 2, "multiprocessing_context": "fork"}
    return DataLoader(dataset, **settings | options)


def echoing() -> Any:
    """One end of a connection, whose other end a thread answers."""
    here, there = map(keep, socket.socketpair())

    def answer() -> None:
        with there:
            while asked := there.recv(1):
                there.sendall(asked)

    threading.Thread(target=answer, daemon=True).start()
    return here


FAULTS: dict[str, tuple[Callable[[Path], DataLoader[Any]], str, str, str]] = {
    "a file that is sought in": (
        lambda path: load(Rows(path, keep(path.open("rb")), sought)), "io.BufferedReader", "dataset.handle", "position",
    ),
    "a file without a buffer": (
        lambda path: load(Rows(path, keep(path.open("rb", buffering=0)), sought), shuffle=True),
        "io.FileIO", "dataset.handle", "position",
    ),
    "a file of a stream": (
        lambda path: load(Lines([keep(path.open("rb", buffering=0))], one_each=False)),
        "io.FileIO", "dataset.handles[*]", "position",
    ),
    "a connection to SQLite": (
        lambda path: load(Rows(path, keep(sqlite3.connect(path.with_suffix(".sqlite"))), selected)),
        "sqlite3.Connection", "dataset.handle", "library",
    ),
    "a connection to SQLite and one worker": (
        lambda path: load(Rows(path, keep(sqlite3.connect(path.with_suffix(".sqlite"))), selected), num_workers=1),
        "sqlite3.Connection", "dataset.handle", "library",
    ),
    "a socket": (lambda path: load(Rows(path, echoing(), answered)), "socket.socket", "dataset.handle", "stream"),
}  # fmt: skip

HEALTHY: dict[str, Callable[[Path], DataLoader[Any]]] = {
    "a file that is read at an offset": lambda path: load(Rows(path, keep(path.open("rb")), read_at)),
    "a file that is mapped": lambda path: load(
        Rows(path, mmap.mmap(keep(path.open("rb")).fileno(), 0, access=mmap.ACCESS_READ), mapped)
    ),
    "a file for each sample": lambda path: load(
        Rows(path, [keep(path.open("rb", buffering=0)) for _ in range(ROWS)], of_its_own)
    ),
    "a file and one worker": lambda path: load(Rows(path, keep(path.open("rb")), sought), num_workers=1),
    "a file for each worker": lambda path: load(
        Lines([keep(path.open("rb", buffering=0)) for _ in range(2)], one_each=True)
    ),
    "a file that worker_init_fn opens": lambda path: load(
        Rows(path, keep(path.open("rb")), sought), worker_init_fn=opens_its_own
    ),
    "a file that each process opens": lambda path: load(
        Rows(path, (os.getpid(), keep(path.open("rb"))), opened_by_process)
    ),
    "a file that the sampler reads": lambda path: load(
        Rows(path, (0, None), opened_by_process), sampler=FromFile(keep(path.open("rb")))
    ),
    "a log": lambda path: load(Rows(path, keep(path.with_suffix(".log").open("a")), logged)),
    "a file that nobody reads": lambda path: load(Rows(path, keep(path.open("rb")), by_chance)),
    "a connection that is made in the worker": lambda path: load(Rows(path, None, selected_anew)),
    "a socket for each worker": lambda path: load(Rows(path, [echoing(), echoing()], answered_by_worker)),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_what_all_workers_use_is_named(fault: str, path: Path) -> None:
    make, kind, attribute, sharing = FAULTS[fault]
    [found] = inherited_handles(make(path))
    assert (found.kind, found.attribute, found.sharing) == (kind, attribute, sharing)


@pytest.mark.parametrize("shape", HEALTHY)
def test_a_healthy_loader_is_not_accused(shape: str, path: Path) -> None:
    loader = HEALTHY[shape](path)
    assert inherited_handles(loader) == ()


def test_the_check_fails_for_it(path: Path) -> None:
    loader = load(Rows(path, keep(sqlite3.connect(path.with_suffix(".sqlite"))), selected))
    verdict = workers.judge(workers.measure(loader, setting=Setting(seconds=1.0)))
    assert verdict.outcome == "failed"
    assert "dataset.handle (sqlite3.Connection, " in verdict.reason
    assert [each.code for each in verdict.advice] == ["DL303"]


def test_a_file_stands_where_it_stood(path: Path) -> None:
    handle = keep(path.open("rb", buffering=0))
    handle.seek(5)
    assert inherited_handles(load(Rows(path, handle, sought)))
    assert handle.tell() == 5
