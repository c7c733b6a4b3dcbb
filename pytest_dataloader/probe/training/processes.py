"""What the processes of a training take, read from /proc now and then: memory, CPU, descriptors, shared memory."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pytest_dataloader.probe.host import clocks, descriptors, process_tree, segments
from pytest_dataloader.probe.host.interference import QUIET, read_machine
from pytest_dataloader.probe.memory.smaps import read_rollup
from pytest_dataloader.probe.training.evidence import WorkerUse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_dataloader.probe.host.interference import Machine, Quietness
    from pytest_dataloader.probe.memory.smaps import Reading

READING_SECONDS, _FIRST_SECONDS = 5.0, 0.25
"""Between two readings; the first ones come sooner, each after twice as long, so that short trainings have some too."""
_SHARE = 0.0015
"""Of the time goes into reading memory at most: 3 ms a worker with torch in it, and 20 ms a GB."""
_BUSY_SECONDS = 0.2
"""A worker's share of CPU time is told over so long at least."""


@dataclass(slots=True)
class _Known:
    """A worker as it was first read, and as it was last."""

    worker: int
    first_cpu_ns: int
    first_ns: int
    first_bytes: int | None = None
    private_bytes: int | None = None
    cpu_ns: int = 0
    last_ns: int = 0
    descriptors: int = 0


@dataclass(frozen=True, slots=True)
class _Moment:
    """What the training has spent by a moment, and what the machine has."""

    wall_ns: int
    own_ns: int
    machine: Machine


def _cpu_of_tree() -> int:
    """CPU time of this process and of all that it has started."""
    below = (clocks.cpu_of_ns(pid) or 0 for pid in process_tree.descendant_pids(os.getpid()))
    return clocks.process_cpu_ns() + clocks.reaped_cpu_ns() + sum(below)


@dataclass(slots=True)
class ProcessReadings:
    """Readings of the workers of a loader, and of this process, taken by whoever iterates it.

    ``due`` says when; readers are parameters. A worker that has ended keeps its last reading until others are read.
    """

    wall: Callable[[], int] = clocks.wall_ns
    memory: Callable[[int], Reading] = read_rollup
    cpu_of: Callable[[int], int | None] = clocks.cpu_of_ns
    descriptors_of: Callable[[int | None], int | None] = descriptors.count_descriptors
    delay_of: Callable[[int], int | None] = clocks.delay_of_ns
    segments_of: Callable[[int | None], set[segments.Segment]] = segments.open_segments
    machine: Callable[[], Machine] = read_machine
    own_cpu: Callable[[], int] = lambda: _cpu_of_tree()
    due_ns: int = 0
    _memory_due_ns: int = 0
    _period_seconds: float = _FIRST_SECONDS
    peak_descriptors: int = 0
    peak_segment_bytes: int = 0
    peak_private_bytes: int = 0
    """Of any worker, also of those that have ended."""
    peak_growth_bytes: int = 0
    _known: dict[int, _Known] = field(default_factory=dict)
    _first: _Moment | None = None
    _last: _Moment | None = None

    def read(self, workers: Sequence[int]) -> None:
        """Read this process and the workers of these pids, in the order of their numbers."""
        for gone in self._known.keys() - set(workers):
            del self._known[gone]
        found: set[segments.Segment] = set()
        pids: list[int | None] = [None, *workers]
        for pid in pids:
            opened = self.descriptors_of(pid) or 0
            self.peak_descriptors = max(self.peak_descriptors, opened)
            found |= self.segments_of(pid)
            if pid is not None:
                self._read_cpu(workers.index(pid), pid, opened)
        self._last = _Moment(self.wall(), self.own_cpu(), self.machine())
        self._first = self._first or self._last
        self.peak_segment_bytes = max(self.peak_segment_bytes, segments.total_bytes(found))
        if self.wall() >= self._memory_due_ns:
            self._read_memory()
        self.due_ns = self.wall() + int(self._period_seconds * 1e9)
        self._period_seconds = min(READING_SECONDS, 2 * self._period_seconds)

    def _read_cpu(self, number: int, pid: int, opened: int) -> None:
        spent, now = self.cpu_of(pid), self.wall()
        if spent is None:  # gone
            return
        cpu = spent + (self.delay_of(pid) or 0)  # a worker that others keep from a CPU is at work
        known = self._known.setdefault(pid, _Known(number, cpu, now))
        known.cpu_ns, known.last_ns, known.descriptors = cpu, now, opened

    def _read_memory(self) -> None:
        began = clocks.thread_cpu_ns()
        for pid, known in self._known.items():
            try:
                private = self.memory(pid).private_bytes
            except (OSError, ValueError):  # gone, or of a system without /proc
                continue
            known.private_bytes = private
            known.first_bytes = private if known.first_bytes is None else known.first_bytes
            self.peak_private_bytes = max(self.peak_private_bytes, private)
            self.peak_growth_bytes = max(self.peak_growth_bytes, private - known.first_bytes)
        spent = clocks.thread_cpu_ns() - began
        self._memory_due_ns = self.wall() + int(spent / _SHARE)

    @property
    def uses(self) -> tuple[WorkerUse, ...]:
        """Each worker as last read."""
        return tuple(
            WorkerUse(
                worker=known.worker,
                pid=pid,
                private_bytes=known.private_bytes or 0,
                growth_bytes=(known.private_bytes or 0) - (known.first_bytes or 0),
                busy_share=_busy(known),
                descriptors=known.descriptors,
            )
            for pid, known in self._known.items()
        )

    @property
    def quietness(self) -> Quietness:
        """How much others disturbed the training between the first and the last reading."""
        if self._first is None or self._last is None or self._last.wall_ns <= self._first.wall_ns:
            return QUIET
        elapsed = self._last.wall_ns - self._first.wall_ns
        room = elapsed * max(1, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1)
        own = self._last.own_ns - self._first.own_ns
        before, after = self._first.machine, self._last.machine
        return replace(
            QUIET,
            others_share=max(0.0, (after.busy_ns - before.busy_ns - own) / room),
            own_share=own / room,
            steal_share=(after.steal_ns - before.steal_ns) / room,
            throttled_share=(after.throttled_ns - before.throttled_ns) / elapsed,
        )

    @property
    def busy_share(self) -> float | None:
        """Share of the time in which workers compute; None before they have been read for long enough."""
        long = [known for known in self._known.values() if known.last_ns - known.first_ns >= _BUSY_SECONDS * 1e9]
        return sum(map(_busy, long)) / len(long) if long else None


def descriptor_limit() -> int:
    """How many descriptors a process may open; 0 where that is not limited, or not known."""
    if sys.platform == "win32":
        return 0
    limit = descriptors.limit()
    return 0 if limit == sys.maxsize else limit


def _busy(known: _Known) -> float:
    elapsed = known.last_ns - known.first_ns
    return (known.cpu_ns - known.first_cpu_ns) / elapsed if elapsed > 0 else 0.0
