"""Clocks: wall time, and the CPU time and run-queue delay of this thread and of other processes."""

from __future__ import annotations

import ctypes
import functools
import os
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

wall_ns = time.monotonic_ns
thread_cpu_ns = time.thread_time_ns
process_cpu_ns = time.process_time_ns
_READINGS = 8


def unix_offset_ns() -> int:
    """What to add to ``wall_ns`` for the time since 1970: of several pairs of readings, by the closest one."""
    readings = [(wall_ns(), time.time_ns(), wall_ns()) for _ in range(_READINGS)]
    before, unix, after = min(readings, key=lambda each: each[2] - each[0])
    return unix - (before + after) // 2


def reaped_cpu_ns() -> int:
    """CPU time of the child processes that have ended and been waited for; 0 where the system has no such account."""
    if sys.platform == "win32":
        return 0
    import resource

    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return int((spent.ru_utime + spent.ru_stime) * 1e9)


def cpu_of_ns(pid: int) -> int | None:
    """CPU time of another process, ended threads included; None once it is gone.

    On Linux its CPU clock is read directly (nanoseconds, 1.3 us); elsewhere psutil's (ticks of 10-16 ms).
    """
    if sys.platform == "linux":
        try:
            # The id of a process's CPU clock, clock_getcpuclockid(3): complement of the pid, then CPUCLOCK_SCHED.
            return time.clock_gettime_ns((~pid << 3) | 2)
        except OSError:
            return None
    import psutil

    try:
        spent = psutil.Process(pid).cpu_times()
    except psutil.Error:
        return None
    return int((spent.user + spent.system) * 1e9)


def read_delay_ns(schedstat: str) -> int | None:
    """The run-queue delay in a line of /proc/PID/schedstat: time spent runnable but waiting for a CPU.

    None for a line without it, and for the all-zero line of kernels that keep no account.
    """
    fields = schedstat.split()
    if len(fields) < 3 or not all(field.isdigit() for field in fields) or fields[2] == "0":
        return None
    return int(fields[1])


def delay_of_ns(pid: int) -> int | None:
    """Run-queue delay of a process's main thread, which is the one that fetches and collates; None where unknown."""
    return _delay_at(f"/proc/{pid}/task/{pid}/schedstat")


def delays_of_ns(pid: int) -> dict[int, int]:
    """Run-queue delay of each thread of a process by its native id; empty where the system does not tell."""
    try:
        with os.scandir(f"/proc/{pid}/task") as threads:
            spent = {int(thread.name): thread_spent_ns(pid, int(thread.name)) for thread in threads}
    except OSError:
        return {}
    if not spent.get(pid, (0, 0))[0]:  # gone, or on a kernel that keeps no account
        return {}
    return {thread: delay for thread, (_, delay) in spent.items()}


def thread_delay_ns() -> int | None:
    """Run-queue delay of the calling thread; None where the system does not tell."""
    return _delay_at("/proc/thread-self/schedstat")


def thread_spent_ns(process: int | str, thread: int) -> tuple[int, int]:
    """CPU time and run-queue delay of a thread by its native id, of a process by its id or "self"; 0 where unknown."""
    try:  # without a file object, which takes five times as long
        descriptor = os.open(f"/proc/{process}/task/{thread}/schedstat", os.O_RDONLY)
    except OSError:
        return 0, 0
    try:
        fields = os.read(descriptor, 64).split()
    except OSError:
        return 0, 0
    finally:
        os.close(descriptor)
    return (int(fields[0]), int(fields[1])) if len(fields) > 1 else (0, 0)


class _Schedstat:
    """A thread's schedstat, kept open: a reading costs 2 us instead of 15."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.text = ctypes.create_string_buffer(64)
        try:
            self.descriptor = os.open("/proc/thread-self/schedstat", os.O_RDONLY)
        except OSError:
            self.descriptor = -1

    def read(self) -> int:
        # Not os.pread, which lets go of the GIL: a thread that waits for it takes it, and both pay for the change.
        size = _pread()(self.descriptor, self.text, 64, 0) if self.descriptor >= 0 else 0
        fields = self.text.raw[: max(0, size)].split()
        return int(fields[1]) if len(fields) > 1 else 0

    def __del__(self, close: Callable[[int], None] = os.close) -> None:
        # Not a file object: one that ends with its thread would warn that nobody closed it.
        # And close is bound here: at the interpreter's exit this may run when the module's globals are None already.
        if self.descriptor >= 0:
            close(self.descriptor)


@functools.cache
def _pread() -> Any:
    function = ctypes.PyDLL(None).pread
    function.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_long)
    function.restype = ctypes.c_long
    return function


class _KeptDelay(threading.local):
    """What each thread reads its own run-queue delay from."""

    schedstat: _Schedstat | None = None

    def read(self) -> int:
        if self.schedstat is None or self.schedstat.pid != os.getpid():  # what a forked child inherits is its parent's
            self.schedstat = _Schedstat()
        return self.schedstat.read()

    def close(self) -> None:
        self.schedstat = None


_kept_delay = _KeptDelay()
read_kept_delay_ns = _kept_delay.read
"""Run-queue delay of the calling thread, 0 where the system does not tell; keeps a file open for this thread."""
close_kept_delay = _kept_delay.close
"""Close the calling thread's file."""


def _delay_at(path: str) -> int | None:
    try:
        return read_delay_ns(Path(path).read_text(encoding="ascii"))
    except (OSError, UnicodeDecodeError):
        return None


@functools.cache
def cpus_allowed() -> float:
    """CPUs that this process may use: its affinity, cut down to the quota of its control group."""
    allowed = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return min(float(allowed), _quota())


def read_quota(cpu_max: str) -> float:
    """CPUs in a ``cpu.max`` line (``"150000 100000"`` is 1.5); infinite for ``max`` and for anything else."""
    fields = cpu_max.split()
    if len(fields) == 2 and all(field.isdigit() for field in fields) and int(fields[1]) > 0:
        return int(fields[0]) / int(fields[1])
    return float("inf")


def _quota() -> float:
    """The tightest CPU quota from this process's control group up to the root (v2, then v1 as containers see it)."""
    quotas = [float("inf")]
    for directory in control_groups():
        try:
            if (directory / "cpu.max").exists():
                quotas.append(read_quota((directory / "cpu.max").read_text()))
            elif (directory / "cpu.cfs_quota_us").exists():
                period = (directory / "cpu.cfs_period_us").read_text()
                quotas.append(read_quota(f"{(directory / 'cpu.cfs_quota_us').read_text()} {period}"))
        except OSError:
            continue
    return max(0.1, min(quotas))


@functools.cache
def control_groups() -> tuple[Path, ...]:
    """Directories of this process's CPU control group and its ancestors, innermost first; empty off Linux."""
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return ()
    found: list[Path] = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        root = Path("/sys/fs/cgroup", "cpu" if controllers else "")
        group = root / path.lstrip("/")
        found += [directory for directory in (group, *group.parents) if directory.is_relative_to(root)]
    return tuple(directory for directory in found if directory.is_dir())


_KERNEL_STEPS = 1500


def kernel_ns() -> int:
    """CPU time of a small fixed computation in Python (about 0.1 ms): how fast this CPU runs just now."""
    started = thread_cpu_ns()
    total = 0
    for step in range(_KERNEL_STEPS):
        total += step * step & 7
    return thread_cpu_ns() - started
