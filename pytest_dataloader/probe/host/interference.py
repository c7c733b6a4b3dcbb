"""What the rest of the machine did meanwhile: CPU time of everybody, steal, throttling."""

from __future__ import annotations

import functools
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_dataloader.probe.host import clocks
from pytest_dataloader.quantities import percent

if TYPE_CHECKING:
    from collections.abc import Iterable

_TICK_NS = 10**9 // (os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100)


_LOST = 0.10
"""Six kinds of loader with 0 and 2 workers on 2 idle CPUs: at most 0.05; with two busy loops 0.04 to 0.66."""
_TAKEN = 0.15
"""The same: at most 0.05 (0.51 once, when another job ran); 0.47 to 0.99."""
_IDLE = 0.25
"""Where this share of the CPUs idled, others' work took nothing from the loader."""
_LEFT = 0.01
"""Of the CPUs' time, what others leave at least, as far as shares of it can be read."""
_STEAL = 0.02
_THROTTLED = 0.01
_SATURATED = 0.9
"""A loader that uses this share of its CPUs runs into its quota by itself."""
_SLOWDOWN = 1.25
"""Median over fastest run of a small fixed computation: at most 1.14 in 72 runs of 2.5 s, quiet and loaded; 1.4 to 2 on
a host whose sibling hyperthreads were busy."""


@dataclass(frozen=True, slots=True)
class Quietness:
    """How much the neighbours disturbed a measurement; shares of its time, or of the CPUs' time."""

    delays_known: bool
    """False where the system does not tell run-queue delays (macOS, Windows): then only others' CPU time is known."""
    lost_share: float
    """Share of the time that the loader was kept from a CPU by others; taken out of its figures."""
    others_share: float
    """Share of the CPUs' time that other processes took."""
    own_share: float
    """Share of the CPUs' time that the loader took."""
    steal_share: float
    """Share of the CPUs' time that the hypervisor gave to other machines."""
    throttled_share: float
    """Share of the time that the control group was held back by its CPU quota."""
    cpu_slowdown: float
    """Median over fastest run of a small fixed computation between the windows."""

    @property
    def disturbances(self) -> tuple[str, ...]:
        """What makes this measurement unfit for failing anybody, in words; empty on a quiet machine."""
        idle = 1 - self.others_share - self.own_share
        found = []
        if self.lost_share > _LOST:
            found.append(f"CPU contention: {percent(self.lost_share)} of the time spent waiting for a CPU")
        if self.others_share > _TAKEN and idle < _IDLE:
            found.append(f"other processes used {percent(self.others_share)} of the CPU time")
        if self.steal_share > _STEAL:
            found.append(f"the hypervisor took {percent(self.steal_share)} of the CPU time")
        if self.throttled_share > _THROTTLED and self.own_share < _SATURATED:
            found.append(f"CPU throttling by the control group's quota for {percent(self.throttled_share)} of the time")
        if self.cpu_slowdown > _SLOWDOWN:
            found.append(f"a fixed computation took {self.cpu_slowdown:.1f} times its fastest time")
        return tuple(found)

    @property
    def sentence(self) -> str:
        """That the machine was busy, and with what; empty on a quiet machine."""
        return f"the machine was busy: {', '.join(self.disturbances)}" if self.disturbances else ""

    @property
    def most_gain(self) -> float:
        """Times as fast as measured, at most, that a loader may be which has what others took for itself."""
        return 1 / max(_LEFT, 1 - self.others_share - self.steal_share)


QUIET = Quietness(True, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
"""A machine without neighbours."""


@dataclass(frozen=True, slots=True)
class Machine:
    """Totals since boot over the CPUs that this process may use; a figure that the system does not tell stays 0."""

    busy_ns: int = 0
    steal_ns: int = 0
    throttled_ns: int = 0


def read_stat(lines: Iterable[str], cpus: frozenset[int]) -> tuple[int, int]:
    """Busy and stolen nanoseconds of the given CPUs in the lines of /proc/stat.

    Fields are user, nice, system, idle, iowait, irq, softirq, steal; guest time is in user already.
    """
    busy = steal = 0
    for line in lines:
        name, _, rest = line.partition(" ")
        if not name.startswith("cpu"):
            break
        if name[3:].isdigit() and int(name[3:]) in cpus:
            ticks = [int(field) for field in rest.split()[:8]] + [0] * 8
            busy += sum(ticks[index] for index in (0, 1, 2, 5, 6))
            steal += ticks[7]
    return busy * _TICK_NS, steal * _TICK_NS


def read_throttled(text: str) -> int:
    """Nanoseconds for which a control group was held back by its quota, from its cpu.stat (v2 in us, v1 in ns)."""
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        if name == "throttled_usec":
            return int(value) * 1000
        if name == "throttled_time":
            return int(value)
    return 0


def read_machine() -> Machine:
    """Read the totals now (about 0.1 ms)."""
    if sys.platform != "linux":
        return _read_elsewhere()
    try:
        with Path("/proc/stat").open(encoding="ascii") as lines:
            busy, steal = read_stat(lines, frozenset(os.sched_getaffinity(0)))
    except OSError:
        busy = steal = 0
    return Machine(
        busy_ns=busy,
        steal_ns=steal,
        throttled_ns=max((read_throttled(_text(path)) for path in _throttle_files()), default=0),
    )


def _read_elsewhere() -> Machine:
    import psutil

    spent = psutil.cpu_times()
    return Machine(busy_ns=int((sum(spent) - spent.idle) * 1e9))


@functools.cache
def _throttle_files() -> tuple[Path, ...]:
    return tuple(path for group in clocks.control_groups() if (path := group / "cpu.stat").exists())


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return ""
