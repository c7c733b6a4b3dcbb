"""The memory of a loader's processes that is in RAM, looked at now and then."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_dataloader.probe.host.clocks import wall_ns
from pytest_dataloader.probe.host.process_tree import resident_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable
    from multiprocessing.process import BaseProcess

_PERIOD_NS, _MOST = 50_000_000, 400
"""Time between two looks, of 20 us for each process, and how many readings are kept."""


@dataclass(slots=True)
class ResidentMemory:
    """Readings of this process and of workers: wall clock, process, bytes."""

    readings: list[tuple[int, int, int]] = field(default_factory=list)
    _read_ns: int = 0

    def read(self, now_ns: int, workers: Iterable[BaseProcess]) -> None:
        """Read what each has, unless that was done just now."""
        if now_ns - self._read_ns < _PERIOD_NS or len(self.readings) >= _MOST:
            return
        self._read_ns = now_ns
        for pid in (os.getpid(), *(worker.pid for worker in workers)):
            if pid is not None and (resident := resident_bytes(pid)) is not None:
                self.readings.append((wall_ns(), pid, resident))
