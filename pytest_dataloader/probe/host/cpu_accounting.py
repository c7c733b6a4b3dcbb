"""CPU time and run-queue delay of this process and of the workers that come and go under it."""

from __future__ import annotations

import multiprocessing.context
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_dataloader.probe.host import clocks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from multiprocessing.process import BaseProcess

_FORKSERVER_PROCESS: type | None = getattr(multiprocessing.context, "ForkServerProcess", None)
_TRIES = 8


@dataclass(frozen=True, slots=True)
class Spent:
    """Running totals: nanoseconds."""

    wall_ns: int
    main_cpu_ns: int
    worker_cpu_ns: int
    worker_delay_ns: int
    """Mean over the workers, of the thread that fetches and collates."""
    threads_delay_ns: int
    """Sum over all threads of all workers."""
    consumer_cpu_ns: int
    consumer_delay_ns: int
    delays_known: bool


@dataclass(slots=True)
class CpuAccount:
    """Adds up what the main process and its workers spend; readers of the clocks are parameters."""

    wall: Callable[[], int] = clocks.wall_ns
    main_cpu: Callable[[], int] = clocks.process_cpu_ns
    consumer_cpu: Callable[[], int] = clocks.thread_cpu_ns
    consumer_delay: Callable[[], int | None] = clocks.thread_delay_ns
    reaped: Callable[[], int] = clocks.reaped_cpu_ns
    cpu_of: Callable[[int], int | None] = clocks.cpu_of_ns
    delays_of: Callable[[int], Mapping[int, int]] = clocks.delays_of_ns
    _gone_cpu_ns: int = 0
    _worker_delay_ns: int = 0
    _threads_delay_ns: int = 0
    _delays: dict[int, int] = field(default_factory=dict)
    """By thread, as last read."""
    _last: dict[int, int] = field(default_factory=dict)

    def read(self, workers: Sequence[BaseProcess]) -> Spent:
        """Totals now. To be called from the thread that consumes the batches.

        Read again where that thread lost its CPU between two clocks: some would count the wait, and others not.
        """
        for _ in range(_TRIES):
            before = self.consumer_delay() or 0
            seen = self._read(workers)
            if seen.consumer_delay_ns == before:
                break
        return seen

    def _read(self, workers: Sequence[BaseProcess]) -> Spent:
        grown, cpu = [], 0
        known = True
        for worker in workers:
            pid = worker.pid
            spent = self.cpu_of(pid) if pid is not None else None
            if pid is None or spent is None:
                continue
            cpu += spent
            delays = self.delays_of(pid)
            known = known and pid in delays
            grown.append(self._grown(pid, delays))
            if _FORKSERVER_PROCESS is not None and isinstance(worker, _FORKSERVER_PROCESS):
                self._last[pid] = spent
        self._worker_delay_ns += sum(grown) // max(1, len(grown))
        # Workers that have ended are our own children, and count as such once they are waited for.
        main_cpu, worker_cpu = self.main_cpu() + self.reaped(), cpu + self._ended(workers)
        wall, consumer_cpu, delay = self.wall(), self.consumer_cpu(), self.consumer_delay()
        return Spent(
            wall_ns=wall,
            main_cpu_ns=main_cpu,
            worker_cpu_ns=worker_cpu,
            worker_delay_ns=self._worker_delay_ns,
            threads_delay_ns=self._threads_delay_ns,
            consumer_cpu_ns=consumer_cpu,
            consumer_delay_ns=delay or 0,
            delays_known=known and delay is not None,
        )

    def _grown(self, pid: int, delays: Mapping[int, int]) -> int:
        """What the thread that fetches and collates has waited since the last reading; adds up that of all threads."""
        since = {thread: delay - self._delays.get(thread, 0) for thread, delay in delays.items()}
        self._delays.update(delays)
        self._threads_delay_ns += sum(max(0, each) for each in since.values())  # less where an id is used again
        return max(0, since.get(pid, 0))

    def _ended(self, workers: Sequence[BaseProcess]) -> int:
        """CPU time of ended workers of a fork server, which are not our children: as last read."""
        alive = {worker.pid for worker in workers if worker.pid is not None and self.cpu_of(worker.pid) is not None}
        for pid in [pid for pid in self._last if pid not in alive]:
            self._gone_cpu_ns += self._last.pop(pid)
        return self._gone_cpu_ns
