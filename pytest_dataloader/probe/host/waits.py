"""What the threads of a process wait for, from /proc/PID/task: a lock that nobody can release, a sleep, or else.

Where the system call of a thread may not be read (``system_calls``), every wait is ``unknown``.
"""

from __future__ import annotations

import contextlib
import struct
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pytest_dataloader.probe.host import system_calls
from pytest_dataloader.probe.host.process_tree import GONE, children, state_of

if TYPE_CHECKING:
    from collections.abc import Sequence

WaitKind = Literal["running", "lock", "sleep", "service", "else", "unknown"]
"""``lock``: an untimed wait on a futex of this process alone; ``service``: multiprocessing's thread that hands out
descriptors, or ours that ends a worker with its loader (``orphan``); ``else``: any other system call."""

_FUTEX_COMMAND, _FUTEX_PRIVATE, _FUTEX_REALTIME = 0x7F, 0x80, 0x100
_FUTEX_WAIT, _FUTEX_WAIT_BITSET = 0, 9
_TIMER_ABSTIME = 1
_TIMESPEC = struct.Struct("qq")
DEADLOCK_SECONDS = 3.0
"""A process that has been deadlocked for so long will not go on. Healthy workers, looked at 20 times a second, were
never seen so even once (benchmarks/worker_timeouts.py)."""
_NEARLY_ALL = 50
"""Signals blocked by a thread that blocks all it can: 62 of 64."""


@dataclass(frozen=True, slots=True)
class Wait:
    """What a thread does at a moment; ``seconds`` are left of a sleep, None where that is not known."""

    kind: WaitKind
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class ProcessActivity:
    """A process and its descendants at a moment: time busy and context switches so far, waits of the process's threads.

    Busy is on a CPU, or kept from one by others: a worker that a loaded machine starves is at work.
    """

    state: str
    """Of the main thread, as ``ps`` calls it (R, S, D, T, Z); empty once the process is gone."""
    busy_ns: int
    switches: int
    waits: tuple[Wait, ...]
    """The main thread's first."""

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return bool(self.state) and self.state not in GONE

    @property
    def deadlocked(self) -> bool:
        """Whether every thread waits for a lock that only one of them could release; another process cannot."""
        return bool(self.waits) and self.waits[0].kind == "lock" and self._others_idle

    @property
    def asleep_seconds(self) -> float | None:
        """How long the main thread will go on sleeping, where no other thread does anything."""
        asleep = bool(self.waits) and self.waits[0].kind == "sleep" and self._others_idle
        return self.waits[0].seconds if asleep else None

    @property
    def _others_idle(self) -> bool:
        return all(wait.kind in ("lock", "service") for wait in self.waits[1:])


def process_activity(pid: int, *, without: int | None = None) -> ProcessActivity:
    """Look at a process and its descendants; threads with the native id ``without`` do not count."""
    state = state_of(pid)
    if not state or state in GONE:
        return ProcessActivity(state, 0, 0, ())
    busy = switches = 0
    waits = []
    for tid in _tasks(pid):
        if tid != without:
            waits.append(wait_of(pid, tid))
            more_busy, more_switches = _spent(pid, tid)
            busy, switches = busy + more_busy, switches + more_switches
    for child in children(pid):
        below = process_activity(child)
        busy, switches = busy + below.busy_ns, switches + below.switches
    return ProcessActivity(state, busy, switches, tuple(waits))


def at_rest(*pids: int, without: int | None = None) -> bool:
    """Whether no thread of these processes is on a CPU or waits for one; ``without`` as in ``process_activity``."""
    return all(state_of(tid) != "R" for pid in pids for tid in _tasks(pid) if tid != without)


def wait_of(pid: int, tid: int) -> Wait:
    """What a thread does just now."""
    call = system_calls.read_system_call(pid, tid)
    if call is None:
        return Wait("unknown")
    if call == system_calls.RUNNING:
        return Wait("running")
    name, arguments = call
    if name == "futex":
        return _futex(pid, arguments)
    if name in ("nanosleep", "clock_nanosleep"):
        return Wait("sleep", _left(pid, name, arguments))
    if name in ("accept", "poll") and _blocks_signals(pid, tid):
        return Wait("service")
    return Wait("else")


def _futex(pid: int, arguments: Sequence[int]) -> Wait:
    operation, timeout = arguments[1], arguments[3]
    command = operation & _FUTEX_COMMAND
    if command not in (_FUTEX_WAIT, _FUTEX_WAIT_BITSET) or not operation & _FUTEX_PRIVATE:
        return Wait("else")
    if not timeout:
        return Wait("lock")
    # The form that glibc uses takes a point in time, by the monotonic clock unless told otherwise.
    until = _timespec(pid, timeout) if command == _FUTEX_WAIT_BITSET else None
    clock = time.CLOCK_REALTIME if operation & _FUTEX_REALTIME else time.CLOCK_MONOTONIC
    return Wait("sleep", None if until is None else until - time.clock_gettime(clock))


def _left(pid: int, name: str, arguments: Sequence[int]) -> float | None:
    if name == "nanosleep":
        return None  # the duration that was asked for, of which some has passed
    clock, flags, request = arguments[:3]
    until = _timespec(pid, request)
    if until is None or not flags & _TIMER_ABSTIME:
        return None
    try:
        return until - time.clock_gettime(clock)
    except (OSError, OverflowError):
        return None


def _timespec(pid: int, address: int) -> float | None:
    found = system_calls.read_memory(pid, address, _TIMESPEC)
    return None if found is None else float(found[0] + found[1] * 1e-9)


def _blocks_signals(pid: int, tid: int) -> bool:
    """Whether a thread is one that is kept from signals: no thread of users' libraries is."""
    for line in _status(pid, tid):
        if line.startswith("SigBlk:"):
            return int(line.split()[1], 16).bit_count() >= _NEARLY_ALL
    return False


def _spent(pid: int, tid: int) -> tuple[int, int]:
    """Nanoseconds that a thread was on a CPU or waited for one, and its voluntary context switches."""
    busy = switches = 0
    with contextlib.suppress(OSError, ValueError, IndexError):
        on_cpu, delayed, _ = Path(f"/proc/{pid}/task/{tid}/schedstat").read_text(encoding="ascii").split()
        busy = int(on_cpu) + int(delayed)
    for line in _status(pid, tid):
        if line.startswith("voluntary_ctxt_switches:"):
            switches = int(line.split()[1])
    return busy, switches


def _status(pid: int, tid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/task/{tid}/status").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _tasks(pid: int) -> list[int]:
    """The threads of a process, the main one first."""
    try:
        return sorted(
            (int(task.name) for task in Path(f"/proc/{pid}/task").iterdir()), key=lambda tid: (tid != pid, tid)
        )
    except OSError:
        return []
