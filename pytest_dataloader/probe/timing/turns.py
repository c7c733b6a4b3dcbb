"""A loader pulled from for a few milliseconds at a time, so that something else can have the turns between."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_dataloader.errors import EmptyEpoch
from pytest_dataloader.probe.host.clocks import thread_cpu_ns, thread_delay_ns, wall_ns

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_dataloader.probe.loader.borrowing import Borrowed

UNIT_NS = 2_000_000
"""What a loader gives in about this time is one unit: short enough to fall between two turns of the neighbours."""
WARM_UP_UNITS = 3


@dataclass(frozen=True, slots=True)
class Taken:
    """What came of one turn, and the nanoseconds that it took."""

    whole: bool
    """False where the epoch ended before."""
    batches: int
    samples: int
    wall_ns: int
    cpu_ns: int
    lost_ns: int
    """Waiting for a CPU that others held."""


@dataclass(slots=True)
class Turn:
    """Takes turns of a borrowed loader; readers of clocks are parameters."""

    borrowed: Borrowed
    cpu: Callable[[], int] = thread_cpu_ns
    wall: Callable[[], int] = wall_ns
    delay: Callable[[], int | None] = thread_delay_ns

    def begin(self) -> None:
        """Start an epoch with the same random state in every run; the first batch is warm-up. Raises EmptyEpoch."""
        import torch

        torch.manual_seed(0)
        random.seed(0)
        self.borrowed.begin_epoch()
        if self.borrowed.pull(1)[0] == 0:
            raise EmptyEpoch

    def take(self, batches: int) -> Taken:
        """Pull so many batches, fewer where the epoch ends before."""
        delay, cpu, wall = self.delay() or 0, self.cpu(), self.wall()
        got, samples = self.borrowed.pull(batches)
        spent, worked = self.wall() - wall, self.cpu() - cpu
        lost = (self.delay() or 0) - delay
        return Taken(got == batches and samples > 0, got, samples, spent, worked, lost)


def fitted(batches: int, took_ns: float) -> int:
    """How many batches make a unit, where so many took so long; at most twice as many as before."""
    return max(1, min(2 * batches, int(batches * UNIT_NS / max(1.0, took_ns))))
