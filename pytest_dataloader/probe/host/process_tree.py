"""Which processes are this one's own: those below it now, and every one that multiprocessing started from here."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import time
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

GONE = frozenset("ZXx")
"""States of a process that runs no more: it waits to be reaped, or is being removed."""


@dataclass(frozen=True, slots=True)
class ProcessInfo:
    """A process: its pid names another one some day, the pid and the time it ``started`` (clock ticks) never do."""

    pid: int
    started: int
    parent: int
    name: str
    state: str

    @property
    def is_worker(self) -> bool:
        """Whether this is a worker of a DataLoader, by the name that torch gives them."""
        return self.name == WORKER

    @property
    def runs(self) -> bool:
        """Whether the process was running when it was read; a zombie was not."""
        return self.state not in GONE


WORKER = "pt_data_worker"


def parse_stat(text: str) -> ProcessInfo | None:
    """A process from its /proc/PID/stat; None for anything else. The name may hold spaces and parentheses."""
    head, _, rest = text.rpartition(") ")
    pid, _, name = head.partition(" (")
    fields = rest.split()
    if not pid.isdigit() or len(fields) < 20:
        return None
    return ProcessInfo(int(pid), int(fields[19]), int(fields[1]), name, fields[0])


def read_process(pid: int) -> ProcessInfo | None:
    """The process of that pid now; None once it is gone."""
    if sys.platform != "linux":
        return _read_elsewhere(pid)
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:  # noqa: PTH123  # 10 us less than Path
            return parse_stat(file.read())
    except OSError:
        return None


def resident_bytes(pid: int) -> int | None:
    """Memory of a process that is in RAM, shared pages included; None once it is gone, and where there is no /proc."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:  # noqa: PTH123  # as in read
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return None


def is_alive(info: ProcessInfo) -> bool:
    """Whether this very process still runs, and not another one with its pid."""
    now = read_process(info.pid)
    return now is not None and now.started == info.started and now.runs


def descendants(root: int | None = None) -> tuple[ProcessInfo, ...]:
    """The processes below ``root`` (this one), zombies too. Those whose parent has ended are not below it any more."""
    root = os.getpid() if root is None else root
    found: list[ProcessInfo] = []
    waiting = children(root)
    while waiting:
        info = read_process(waiting.pop())
        if info is not None:
            found.append(info)
            waiting += children(info.pid)
    return tuple(found)


def descendant_pids(root: int) -> list[int]:
    """The pids of the processes below ``root``."""
    return [info.pid for info in descendants(root)]


def state_of(pid: int) -> str:
    """The state of a process, or of a thread by its native id, as ``ps`` calls it; empty once it is gone."""
    info = read_process(pid)
    return "" if info is None else info.state


def has_ended(pid: int) -> bool:
    """Whether a process is gone, or waits for nothing but its parent."""
    info = read_process(pid)
    return info is None or not info.runs


def wait_for_end(pids: Iterable[int], seconds: float) -> None:
    """Wait for processes to end, so long at most."""
    deadline = time.monotonic() + seconds
    while not all(map(has_ended, pids)) and time.monotonic() < deadline:
        time.sleep(0.001)


def children(pid: int) -> list[int]:
    """The pids of the processes that a process has started and not waited for."""
    if sys.platform != "linux":
        return _children_elsewhere(pid)
    found: list[int] = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208  # 0.1 ms for a tree, in every test that is watched
            found += map(int, Path(f"/proc/{pid}/task/{task}/children").read_text(encoding="ascii").split())
    except FileNotFoundError:
        # The process has ended, or the kernel keeps no such lists (CONFIG_PROC_CHILDREN).
        return found if _keeps_children() else _children_elsewhere(pid)
    except OSError:
        return found
    return found


def _keeps_children() -> bool:
    return Path("/proc/thread-self/children").exists()


def _children_elsewhere(pid: int) -> list[int]:
    import psutil

    try:
        return [child.pid for child in psutil.Process(pid).children()]
    except psutil.Error:
        return []


def _read_elsewhere(pid: int) -> ProcessInfo | None:
    import psutil

    try:
        process = psutil.Process(pid)
        state = "Z" if process.status() == psutil.STATUS_ZOMBIE else "R"
        return ProcessInfo(pid, int(process.create_time() * 100), process.ppid(), process.name(), state)
    except psutil.Error:
        return None


class ProcessRegistry:
    """Every process that multiprocessing started here while the registry was kept, also those that are gone.

    It holds no process object: those keep descriptors open until they are collected.
    """

    __slots__ = ("seen",)

    def __init__(self) -> None:
        self.seen: list[ProcessInfo] = []

    @property
    def pids(self) -> frozenset[int]:
        return frozenset(info.pid for info in self.seen)

    @property
    def alive(self) -> tuple[ProcessInfo, ...]:
        """Those that still run, as they are now: workers name themselves only once they have begun."""
        now = ((info, read_process(info.pid)) for info in self.seen)
        return tuple(new for old, new in now if new is not None and new.started == old.started and new.runs)


_kept: list[ProcessRegistry] = []


@contextlib.contextmanager
def keep_process_registry() -> Iterator[ProcessRegistry]:
    """Write down every process that multiprocessing starts from this one during the block, by any start method.

    That is the only way to know whose a segment of shared memory was once its maker has ended.
    """
    process_registry = ProcessRegistry()
    if not hasattr(BaseProcess.start, _MARK):
        BaseProcess.start = _noting(BaseProcess.start)  # type: ignore[method-assign,assignment]  # put back below
    _kept.append(process_registry)
    try:
        yield process_registry
    finally:
        _kept[:] = [other for other in _kept if other is not process_registry]
        original = getattr(BaseProcess.start, _MARK, None)
        # Whoever replaced it after us has kept ours, which notes nothing any more.
        if not _kept and original is not None:
            BaseProcess.start = original  # type: ignore[method-assign]


_MARK = "started_without_pytest_dataloader"


def _noting(start: Callable[[BaseProcess], None]) -> Callable[[BaseProcess], None]:
    @functools.wraps(start)
    def noted(process: BaseProcess) -> None:
        start(process)
        if process.pid is not None and _kept:
            # A child of a fork server may have ended and been reaped by now.
            info = read_process(process.pid) or ProcessInfo(process.pid, 0, os.getpid(), "", "X")
            for process_registry in _kept:
                process_registry.seen.append(info)

    setattr(noted, _MARK, start)
    return noted
