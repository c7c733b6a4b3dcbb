"""Files that workers tear and leave: the judgement of events, and real workers that write, read and forget."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from pytest_dataloader.checks import Setting
from pytest_dataloader.checks.workers import judge, measure
from pytest_dataloader.probe.workers.file_events import EventKind, FileEvent, torn_files

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def happened(path: Path, *events: tuple[EventKind, int, float]) -> list[FileEvent]:
    """Events of a file that was last written at 100 s."""
    path.write_bytes(b"content")
    os.utime(path, (100.0, 100.0))
    return [FileEvent(kind, worker, seconds, str(path)) for kind, worker, seconds in events]


@pytest.mark.parametrize(
    ("events", "told"),
    [
        ([("write", 0, 99.0), ("read", 1, 99.5)], True),
        ([("write", 0, 99.0), ("read", 1, 100.5)], False),
        ([("write", 0, 99.0), ("read", 0, 99.5)], False),
        ([("read", 1, 98.0), ("write", 0, 99.0)], False),
        ([("write", 0, 98.0), ("read", 1, 98.5), ("write", 0, 99.0)], False),
        ([("write", 0, 99.0), ("write", 1, 99.5)], False),
        ([("read", 0, 99.0), ("read", 1, 99.5)], False),
    ],
    ids=[
        "while it is written",
        "later",
        "by its writer",
        "before",
        "before it was written anew",
        "two writers",
        "reads",
    ],
)
def test_a_file_is_torn_where_it_is_read_before_it_is_written(
    tmp_path: Path, events: list[tuple[EventKind, int, float]], told: bool
) -> None:
    found = torn_files(happened(tmp_path / "cache.bin", *events))
    assert found == (("worker 1 read cache.bin 0.5 s before worker 0 had written it",) if told else ())


def test_an_empty_file_is_a_lock_and_not_torn(tmp_path: Path) -> None:
    events = happened(tmp_path / "lock", ("write", 0, 99.0), ("read", 1, 99.5))
    (tmp_path / "lock").write_bytes(b"")
    os.utime(tmp_path / "lock", (100.0, 100.0))
    assert torn_files(events) == ()


class Cached(Dataset[Any]):
    """Its second worker reads what the first one still writes, or what has been put into place whole."""

    def __init__(self, folder: Path, *, whole: bool) -> None:
        self.path, self.whole = folder / "cache.bin", whole
        self.filled = False

    def __len__(self) -> int:
        return 32

    def __getitem__(self, index: int) -> Any:
        if not self.filled:
            self.filled = True
            self.fill()
        return torch.tensor(index)

    def fill(self) -> None:
        info = torch.utils.data.get_worker_info()
        was_read = self.path.with_suffix(".lock")
        if info is not None and info.id == 0 and not self.path.exists():
            path = self.path.with_suffix(".part") if self.whole else self.path
            with path.open("wb", buffering=0) as file:
                file.write(b"part")
                if not self.whole:
                    wait_for(was_read.exists)
                time.sleep(0.5)
                file.write(b"part")
            path.replace(self.path)
        else:
            wait_for(lambda: self.path.exists() and self.path.stat().st_size > 0)
            assert self.path.read_bytes()
            was_read.touch()


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)


@pytest.mark.parametrize("whole", [False, True])
def test_a_cache_that_is_read_while_it_is_filled_is_told(tmp_path: Path, whole: bool) -> None:
    seen = judge(measure(DataLoader(Cached(tmp_path, whole=whole), 4, num_workers=2), setting=Setting()))
    assert (seen.outcome, "worker 1 read cache.bin" in seen.reason) == (
        ("passed", False) if whole else ("inconclusive", True)
    )


class Unpacked(Dataset[Any]):
    """Unpacks each sample into a temporary folder, and removes it or does not."""

    def __init__(self, folder: Path, *, tidy: bool) -> None:
        self.folder, self.tidy = folder, tidy

    def __len__(self) -> int:
        return 16

    def __getitem__(self, index: int) -> Any:
        folder = tempfile.mkdtemp(prefix="unpacked-", dir=self.folder)
        if self.tidy:
            shutil.rmtree(folder)
        return torch.tensor(index)


@pytest.mark.parametrize("tidy", [False, True])
def test_temporary_folders_that_workers_leave_are_told(tmp_path: Path, tidy: bool) -> None:
    seen = judge(measure(DataLoader(Unpacked(tmp_path, tidy=tidy), 4, num_workers=2), setting=Setting()))
    if tidy:
        assert seen.outcome == "passed"
    else:
        assert (seen.outcome, len(list(tmp_path.iterdir())) >= 16) == ("inconclusive", True)
        assert seen.reason.startswith("32 temporary files or folders left by workers: unpacked-")
        assert seen.reason.endswith(" and 29 more")
