"""What a sample costs in CPU time, beside small fixed computations that go through the same ups and downs."""

from __future__ import annotations

import contextlib
import statistics
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_dataloader.probe.host import clocks
from pytest_dataloader.probe.host.calibration import KERNELS
from pytest_dataloader.probe.host.interference import QUIET, Quietness, read_machine
from pytest_dataloader.probe.timing.neighbours import quietness_between
from pytest_dataloader.probe.timing.turns import WARM_UP_UNITS, Turn, fitted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pytest_dataloader.probe.loader.borrowing import Borrowed

LEAST_UNITS = 12
_TIMEOUT_SECONDS = 6.0
"""Where the budget gave too few units, up to this many times the budget is spent."""
_QUICK = 0.10
"""The cost told is that of the quick units: one in ten is cheaper. Neighbours, garbage collections and page faults only
ever add to CPU time: between fresh processes, this quantile over that of a kernel varied half as much as the mean."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Milliseconds per sample without workers, and per run of each kernel; zeros where nothing was measured."""

    cpu_ms_per_sample: float = 0.0
    wait_ms_per_sample: float = 0.0
    """Neither computing nor waiting for a CPU: reads, sleeps, locks."""
    kernel_ms: Mapping[str, float] = field(default_factory=dict)
    units: int = 0
    samples: int = 0
    measured_seconds: float = 0.0
    quietness: Quietness = QUIET


@dataclass(frozen=True, slots=True)
class _Unit:
    """Nanoseconds of one turn: of a sample, and of each kernel."""

    cpu_ns: float
    wait_ns: float
    kernels_ns: tuple[int, ...]


def measure_cost(borrowed: Borrowed, seconds: float, came: Callable[[float], None] = lambda _spent: None) -> Cost:
    """Pull from a loader borrowed ``in_process`` and run the kernels in turn; ``came`` is told the share spent.

    Raises EmptyEpoch where an epoch holds no batch.
    """
    with _one_thread():
        return _Costing(Turn(borrowed, _cpu_ns), seconds, came).run()


@dataclass(slots=True)
class _Costing:
    turn: Turn
    seconds: float
    came: Callable[[float], None]
    batches: int = 1
    samples: int = 0
    units: list[_Unit] = field(default_factory=list)

    def run(self) -> Cost:
        self.turn.begin()
        for _ in range(WARM_UP_UNITS):
            self._take_turn()
        self.units.clear()
        started, cpu, before = clocks.wall_ns(), _cpu_ns(), read_machine()
        while not self._over(clocks.wall_ns() - started):
            self._take_turn()
        spent = clocks.wall_ns() - started
        speeds = [unit.kernels_ns[0] for unit in self.units]
        quiet = quietness_between(before, read_machine(), wall_ns=spent, own_ns=_cpu_ns() - cpu, speeds=speeds)
        return self._cost(spent, quiet)

    def _over(self, spent_ns: int) -> bool:
        spent = spent_ns / 1e9 / self.seconds
        self.came(spent)
        return spent >= (1.0 if len(self.units) >= LEAST_UNITS else _TIMEOUT_SECONDS)

    def _take_turn(self) -> None:
        taken = self.turn.take(self.batches)
        if not taken.whole:
            self.turn.begin()
            self.batches = min(self.batches, max(1, taken.batches))  # an epoch may hold less than a unit
            return
        self.samples += taken.samples
        wait = max(0, taken.wall_ns - taken.lost_ns - taken.cpu_ns)
        kernels = tuple(_kernel_times())
        self.units.append(_Unit(taken.cpu_ns / taken.samples, wait / taken.samples, kernels))
        self.batches = fitted(self.batches, taken.cpu_ns + wait)

    def _cost(self, spent_ns: int, quietness: Quietness) -> Cost:
        if not self.units:
            return Cost(measured_seconds=spent_ns / 1e9)
        kernels = zip(KERNELS, zip(*(unit.kernels_ns for unit in self.units), strict=True), strict=True)
        return Cost(
            cpu_ms_per_sample=_quick([unit.cpu_ns for unit in self.units]) / 1e6,
            wait_ms_per_sample=statistics.median(unit.wait_ns for unit in self.units) / 1e6,
            kernel_ms={name: _quick(times) / 1e6 for name, times in kernels},
            units=len(self.units),
            samples=self.samples,
            measured_seconds=spent_ns / 1e9,
            quietness=quietness,
        )


def _kernel_times() -> Iterator[int]:
    for kernel in KERNELS.values():
        started = clocks.thread_cpu_ns()
        kernel()
        yield clocks.thread_cpu_ns() - started


def _cpu_ns() -> int:
    """CPU time of this process, of all its threads and of the processes that it has started and waited for."""
    return clocks.process_cpu_ns() + clocks.reaped_cpu_ns()


def _quick(values: Sequence[float]) -> float:
    return max(1.0, sorted(values)[int(_QUICK * (len(values) - 1))])


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Torch with one thread, as in a worker: its threads would wait for each other's CPUs."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
