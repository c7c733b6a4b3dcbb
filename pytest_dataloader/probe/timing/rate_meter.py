"""Watches a borrowed loader while it is pulled from, and cuts the time into windows."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_dataloader.probe.host import clocks
from pytest_dataloader.probe.host.cpu_accounting import CpuAccount
from pytest_dataloader.probe.host.interference import Machine, read_machine
from pytest_dataloader.probe.timing.windows import Stamp, Window, join, stretch

if TYPE_CHECKING:
    from pytest_dataloader.probe.loader.borrowing import Borrowed
    from pytest_dataloader.probe.loader.stream import DrawnStream

_CHUNK_NS = 2_000_000
"""Batches are pulled in a tight loop for about this long between two looks at the clock."""
_WARM_UP_BATCHES = 2
"""Per worker, beside the prefetched ones: the first and second batch of a fresh worker cost 1.7 and 1.0 (dict batches),
1.35 and 1.06 (JPEG), 8.1 and 1.8 (tiny tensors) times a later one."""
_DEPTHS = 4
"""A stretch is at least this many times as long as the loader's store of prefetched batches."""
_TIMEOUT_SECONDS = 6.0
"""Where the budget gave no window, up to this many times the budget is spent."""
_KERNEL_RUNS = 4
_GENERATIONS = 3
"""Each set of workers has its own cost of passing batches on: seven runs of one loader of dict batches, each steady
within itself, gave 5,600 to 7,500 samples/s. So the budget is spread over as many sets of workers."""
_SECOND_LOOK = 0.25
"""Share of the budget that a later look is given."""
_QUICK_START = 0.1
"""New workers are worth it where starting them takes no more than this share of the budget."""

Enough = Callable[["RateMeter"], bool]


@dataclass(slots=True)
class RateMeter:
    """Pulls from a loader and collects windows, for about ``seconds``; readers of clocks are parameters."""

    borrowed: Borrowed | DrawnStream
    seconds: float
    came: Callable[[str, float], None] = lambda _what, _spent: None
    """Told, whenever batches came, what is going on and which share of the budget is spent."""
    wall_ns: Callable[[], int] = clocks.wall_ns
    machine: Callable[[], Machine] = read_machine
    kernel: Callable[[], int] = clocks.kernel_ns
    sleep: Callable[[float], None] = time.sleep
    processes: CpuAccount = field(default_factory=CpuAccount)

    windows: list[Window] = field(default_factory=list)
    steady: bool = True
    """False where epochs are too short to get warm: then the windows hold whole epochs with their start."""
    epochs: int = 0
    batches: int = 0
    samples: int = 0
    workers: int = 0
    seconds_to_first_batch: float = 0.0
    restarts: list[float] = field(default_factory=list)
    """Seconds to the first batch of each later epoch."""
    generations: int = 0
    """Sets of workers that were measured."""
    speeds: list[int] = field(default_factory=list)
    """CPU time of the calibration kernel after each window."""
    delays_known: bool = True
    _open: list[Window] = field(default_factory=list)
    _chunk: int = 1
    _began_ns: int = 0

    @property
    def spent(self) -> float:
        """Share of the budget that is spent; it counts from the first batch."""
        return (self.wall_ns() - self._began_ns) / 1e9 / self.seconds if self._began_ns else 0.0

    def run(self, enough: Enough) -> None:
        """Measure until ``enough`` (asked after each window) or the budget is spent."""
        while not self._over() and not (self.windows and enough(self)):
            if not self._measure_epoch(enough):
                break
        if self._open and not self.windows:
            self._close_window()

    def measure_again(self, seconds: float, enough: Enough) -> None:
        """Rest for ``seconds``, then measure some more: neighbours come and go."""
        self.came("looking again in a while", min(1.0, self.spent))
        self.sleep(seconds)
        self._open.clear()
        self._began_ns = self.wall_ns() - int((1 - _SECOND_LOOK) * self.seconds * 1e9)
        self.run(enough)

    @property
    def _new_workers_due(self) -> bool:
        quick = 0 < self.seconds_to_first_batch <= _QUICK_START * self.seconds
        due = self.generations < min(_GENERATIONS, 1 + int(self.spent * _GENERATIONS))
        return bool(
            due and quick and self.workers and self.windows and self.steady and not self.borrowed.keeps_iterator
        )

    def _over(self) -> bool:
        return self.spent >= (1.0 if self.windows or self._open else _TIMEOUT_SECONDS)

    def _measure_epoch(self, enough: Enough) -> bool:
        """Pull one epoch, or as much of it as is needed; False where the loader gave nothing."""
        if self._new_workers_due:
            self.borrowed.renew_workers()
        start = self._stamp()
        known = self.borrowed.workers
        self.borrowed.begin_epoch()
        first = self._pull(1)
        if first == (0, 0):
            return False
        starting = self.wall_ns() - start.wall_ns
        starting += 0 if self._began_ns else round(self.borrowed.started_seconds * 1e9)
        if self._began_ns == 0:
            self._began_ns, self.seconds_to_first_batch = self.wall_ns(), starting / 1e9
        else:
            self.restarts.append(starting / 1e9)
        self.epochs += 1
        self.workers = len(self.borrowed.workers)
        self.generations += self.borrowed.workers != known or self.generations == 0
        if not self.steady:
            self._whole_epoch(start, first, starting)
        elif self._warm_up():
            self._cut_stretches(enough)
        if not self.windows and not self._open and not self._over():
            self.steady = False
        return True

    def _warm_up(self) -> bool:
        """Pull what the fresh pipeline had in store; False where the epoch ended first."""
        fresh = self.workers if self.workers else self.epochs == 1
        spare = self.borrowed.depth + _WARM_UP_BATCHES * int(fresh) - 1
        while spare > 0 and self.spent < _TIMEOUT_SECONDS / 2:
            # Batches from the store come at once: how many to pull at a time is not to be learned from them.
            wanted = 1 if self.workers else min(spare, self._chunk)
            batches, _ = self._pull(wanted)
            spare -= batches
            if batches < wanted:
                return False
        self._chunk = 1 if self.workers else self._chunk
        return True

    def _cut_stretches(self, enough: Enough) -> None:
        """Cut windows until the epoch ends, the time is over or it is enough."""
        ended = False
        while not (ended or self._over() or self._new_workers_due) and not (self.windows and enough(self)):
            ended = self._stretch()
            if sum(part.wall_ns for part in self._open) >= self._window_ns:
                self._close_window()
        if ended:
            while self._pull(self._chunk)[0]:  # what the workers still had under way: persistent ones start clean
                pass

    def _stretch(self) -> bool:
        """Pull until the window is full; whether the epoch ended, in which case the last batches do not count."""
        least = max(1, _DEPTHS * self.borrowed.depth)
        goal = self._window_ns - sum(part.wall_ns for part in self._open)
        start, batches, samples = self._stamp(), 0, 0
        ended = late = full = False
        while not (ended or late or full):
            wanted = self._chunk if batches >= least else min(self._chunk, least - batches)
            got, more = self._pull(wanted)
            batches, samples = batches + got, samples + more
            ended = got < wanted or self.borrowed.running_dry
            late = self._over()
            full = batches >= least and self.wall_ns() - start.wall_ns >= goal
        ran_out = got < wanted and self.workers > 0
        if batches and not ran_out and (batches >= least or (late and not self.windows)):
            self._open.append(stretch(start, self._stamp(), batches=batches, samples=samples))
        return ended

    def _whole_epoch(self, start: Stamp, first: tuple[int, int], starting: int) -> None:
        (batches, samples), got = first, 1
        while got and not self._over():
            got, more = self._pull(self._chunk)
            batches, samples = batches + got, samples + more
            self.processes.read(self.borrowed.workers)  # the last look at workers that end with their epoch
        self._open.append(stretch(start, self._stamp(), batches=batches, samples=samples, starting_ns=starting))
        if sum(part.wall_ns for part in self._open) >= self._window_ns:
            self._close_window()

    @property
    def _window_ns(self) -> int:
        return int(min(1.0, max(0.05, self.seconds / 12)) * 1e9)

    def _close_window(self) -> None:
        self.windows.append(join(self._open))
        self._open.clear()
        self.speeds.append(int(statistics.median(self.kernel() for _ in range(_KERNEL_RUNS))))

    def _pull(self, most: int) -> tuple[int, int]:
        began = self.wall_ns()
        batches, samples = self.borrowed.pull(most)
        self.came("measuring" if self.windows else "warming up", self.spent)
        if batches:
            period = max(1, self.wall_ns() - began) / batches
            self._chunk = max(1, min(2 * self._chunk, int(_CHUNK_NS / period)))
        self.batches += batches
        self.samples += samples
        return batches, samples

    def _stamp(self) -> Stamp:
        machine = self.machine()
        spent = self.processes.read(self.borrowed.workers)
        self.delays_known = self.delays_known and spent.delays_known
        return Stamp(
            wall_ns=spent.wall_ns,
            consumer_cpu_ns=spent.consumer_cpu_ns,
            consumer_delay_ns=spent.consumer_delay_ns,
            main_cpu_ns=spent.main_cpu_ns,
            worker_cpu_ns=spent.worker_cpu_ns,
            worker_delay_ns=spent.worker_delay_ns,
            busy_ns=machine.busy_ns,
            threads_delay_ns=spent.threads_delay_ns,
            steal_ns=machine.steal_ns,
            throttled_ns=machine.throttled_ns,
            ready=self.borrowed.ready or 0,
            waited_ns=self.borrowed.waited_ns,
        )
