"""What a stretch of code leaves behind: what each kind of watching looks for, and what is waited for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_dataloader.probe.host.process_tree import WORKER, ProcessInfo, ProcessRegistry
from pytest_dataloader.probe.host.segments import Segment
from pytest_dataloader.probe.resources import leftovers
from pytest_dataloader.probe.resources.leftovers import Leftovers, LeftoverWatch, Snapshot, is_of_libraries

if TYPE_CHECKING:
    from collections.abc import Collection

    from pytest_dataloader.probe.resources.leftovers import ResourceKind

RUNNING = ProcessInfo(pid=2**22 + 1, started=1, parent=1, name=WORKER, state="S")
NAMED = Segment("torch_1_2_3", inode=2**40, bytes=4096, linked=True)
FILE, PIPE = (5, "/data/train.bin"), (6, "pipe:[77]")
BATCH, OTHERS = (7, "/dev/shm/torch_1_2_3 (deleted)"), (8, "/dev/shm/psm_1")
SEMAPHORE = (9, "/dev/shm/sem.mp-1")
EVERYTHING = Leftovers((RUNNING,), (NAMED,), (FILE, PIPE, BATCH, OTHERS, SEMAPHORE))
LOOKED_FOR: dict[tuple[ResourceKind, ...], Leftovers] = {
    ("workers",): Leftovers(workers=(RUNNING,)),
    ("shm",): Leftovers(names=(NAMED,), targets=(BATCH, OTHERS)),
    ("fds",): Leftovers(targets=(FILE, PIPE, BATCH, OTHERS, SEMAPHORE)),
    ("workers", "fds"): Leftovers(workers=(RUNNING,), targets=(FILE, PIPE, BATCH, OTHERS, SEMAPHORE)),
    ("workers", "shm"): Leftovers(workers=(RUNNING,), names=(NAMED,), targets=(BATCH, OTHERS)),
    ("workers", "shm", "fds"): EVERYTHING,
    (): Leftovers(),
}


@pytest.mark.parametrize(("kinds", "expected"), LOOKED_FOR.items(), ids=[" ".join(kinds) for kinds in LOOKED_FOR])
def test_each_kind_of_watching_looks_for_its_own(kinds: Collection[ResourceKind], expected: Leftovers) -> None:
    assert EVERYTHING.only(kinds) == expected


def test_anything_at_all_is_something() -> None:
    assert not Leftovers()
    assert all((Leftovers((RUNNING,)), Leftovers(names=(NAMED,)), Leftovers(targets=(FILE,))))
    assert EVERYTHING.batches == (BATCH,)


@pytest.fixture
def watch() -> LeftoverWatch:
    registry: Any = type("NoRegistry", (), {"names": ()})()
    return LeftoverWatch(ProcessRegistry(), registry)


WAITED_FOR = {
    "workers": (Leftovers((RUNNING,)), leftovers._CLOSING_SECONDS),
    "files": (Leftovers(targets=(FILE,)), leftovers._CLOSING_SECONDS),
    "files beside batches": (Leftovers(targets=(BATCH, PIPE)), leftovers._CLOSING_SECONDS),
    "batches that this process holds": (Leftovers(targets=(BATCH, OTHERS)), 0.0),
    "names that nobody here holds": (Leftovers(names=(NAMED,)), leftovers._GRACE_SECONDS),
    "names beside workers": (Leftovers((RUNNING,), (NAMED,)), leftovers._GRACE_SECONDS),
    "nothing": (Leftovers(), 0.0),
}


@pytest.mark.parametrize(("left", "seconds"), WAITED_FOR.values(), ids=WAITED_FOR)
def test_what_may_end_by_itself_is_waited_for(watch: LeftoverWatch, left: Leftovers, seconds: float) -> None:
    assert watch._grace(left) == seconds


class Ending:
    """A worker that is gone at the sixth look; a process that looks only as long as it must sees it."""

    def __init__(self) -> None:
        self.looks = 0

    def __call__(self, _left: Leftovers) -> Leftovers:
        self.looks += 1
        return Leftovers((RUNNING,)) if self.looks < 6 else Leftovers()


def test_a_worker_that_ends_late_is_not_left_behind(watch: LeftoverWatch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leftovers, "_CLOSING_SECONDS", 60.0)
    monkeypatch.setattr(leftovers, "_CRASH_GRACE_SECONDS", 60.0)
    ending, let_go = Ending(), list[str]()
    assert watch.left_since(watch.now(), ending, lambda: let_go.append("now")) == Leftovers()
    assert (ending.looks, let_go) == (6, ["now"])


def test_a_worker_that_does_not_end_is_left_behind(watch: LeftoverWatch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leftovers, "_CLOSING_SECONDS", 0.0)
    assert watch.left_since(watch.now(), lambda _left: Leftovers((RUNNING,))) == Leftovers((RUNNING,))


def test_nothing_is_let_go_where_nothing_has_come(watch: LeftoverWatch) -> None:
    let_go = list[str]()
    assert not watch.left_since(watch.now(), lambda _left: Leftovers(), lambda: let_go.append("now"))
    assert let_go == []


@pytest.mark.parametrize(("pipes", "workers", "left"), [(2, 0, 0), (3, 0, 3), (6, 1, 0), (7, 1, 7), (10, 2, 0)])
def test_pipes_of_the_queues_of_workers_are_not_left_behind(
    watch: LeftoverWatch, pipes: int, workers: int, left: int
) -> None:
    before = Snapshot({}, frozenset(), frozenset(), started=0)
    watch._process_registry.seen.extend([RUNNING] * workers)
    found = Leftovers((RUNNING,), (NAMED,), (FILE, *((20 + number, PIPE[1]) for number in range(pipes))))
    kept = watch.without_queues(found, before)
    assert (kept.workers, kept.names, kept.targets[0]) == (found.workers, found.names, FILE)
    assert len(kept.targets) == 1 + left


OF_LIBRARIES = {
    "a device": ("/dev/nvidia0", True),
    "a file of the interpreter": ("/usr/lib/python3/data.bin", True),
    "a hidden file": ("/home/me/.cache.db", True),
    "a deleted hidden file": ("/home/me/.cache.db (deleted)", True),
    "of the kernel": ("/proc/stat", True),
    "an event loop": ("anon_inode:[eventpoll]", True),
    "a socket": ("socket:[7]", True),
    "a file of the user": ("/data/train.bin", False),
    "a file beside the interpreter": ("/usr/library/train.bin", False),
    "a pipe": ("pipe:[7]", False),
    "a batch": ("/dev/shm/torch_1_2_3 (deleted)", False),
    "shared memory": ("/dev/shm/psm_1", False),
}


@pytest.mark.parametrize(("target", "expected"), OF_LIBRARIES.values(), ids=OF_LIBRARIES)
def test_what_libraries_open_once_is_not_put_down_to_a_test(target: str, expected: bool) -> None:
    assert is_of_libraries(target, ("/usr/lib/",)) is expected
