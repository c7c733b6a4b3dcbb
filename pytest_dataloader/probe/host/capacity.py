"""How much is left to use: memory, shared memory, and what the CPUs give when all of them are busy."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from pytest_dataloader.probe.host import clocks
from pytest_dataloader.probe.host.calibration import compute
from pytest_dataloader.probe.host.child_process import Child

_V1 = Path("/sys/fs/cgroup/memory")
_SHARED = Path("/dev/shm")
_MOST_BURNERS = 15
_KERNEL_RUNS = 60
"""About 10 ms."""


def available_bytes() -> int:
    """Memory that processes started now could still take, page cache counted as free."""
    import psutil

    left = [int(psutil.virtual_memory().available)]
    for group in clocks.control_groups():
        room = _room(group / "memory.max", group / "memory.current")
        left += [room] if room is not None else []
    room = _room(_V1 / "memory.limit_in_bytes", _V1 / "memory.usage_in_bytes")
    left += [room] if room is not None else []
    return max(0, min(left))


def _room(limit: Path, current: Path) -> int | None:
    try:
        return int(limit.read_text()) - int(current.read_text())
    except (OSError, ValueError):  # no such file, or "max"
        return None


def shared_memory_bytes() -> int | None:
    """Free room in /dev/shm, which batches of workers pass through; None where there is no such place."""
    try:
        room = os.statvfs(_SHARED)
    except (AttributeError, OSError):
        return None
    return room.f_bavail * room.f_frsize


def crowding() -> float:
    """How many times more CPU time the same work takes when all our CPUs are busy.

    Sibling hyperthreads share a core: on 2 virtual CPUs, Python in two processes took 1.3 to 1.6 times as much. 1 where
    that cannot be tried, or is not worth it: siblings of many CPUs fill up last.
    """
    others = int(clocks.cpus_allowed()) - 1
    if not 0 < others <= _MOST_BURNERS or not hasattr(os, "fork"):
        return 1.0
    compute()
    alone = _kernel_ns()
    with contextlib.ExitStack() as stack:
        for _ in range(others):
            stack.enter_context(Child.fork(_burn))
        crowded = _kernel_ns()
    return max(1.0, crowded / alone)


def _kernel_ns() -> int:
    """The least of several runs: neighbours of the machine only ever make one slower."""
    return min(_run_ns() for _ in range(_KERNEL_RUNS))


def _run_ns() -> int:
    started = clocks.thread_cpu_ns()
    compute()
    return clocks.thread_cpu_ns() - started


def _burn(_child: Child) -> None:
    while True:  # killed by the parent
        compute()
