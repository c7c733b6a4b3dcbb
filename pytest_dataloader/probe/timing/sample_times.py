"""How long single samples take: read one by one in a forked child, those that seemed to hold the loader up as well."""

from __future__ import annotations

import gc
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.host import child_process
from pytest_dataloader.probe.host.clocks import read_kept_delay_ns, wall_ns
from pytest_dataloader.probe.internals import torch_private
from pytest_dataloader.probe.loader.plan import plan_reading

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SLOW = 10.0
"""A sample that takes so many times the median, and ``LEAST_MS``, is slow; pictures of all sizes differ less."""
LEAST_MS = 5.0
_SHOWN = 3
_CONFIRMED = 8
_WARM_UP = 2
_LEAST_SAMPLES = 8
_PATIENCE = 4.0
"""Times as long as the budget by the clock, which others may hold the CPU for, are each half's limit."""
_TIMEOUT_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class SlowSample:
    """One sample and the time that it took at least, of two readings by processes of their own."""

    index: str
    ms: float


@dataclass(frozen=True, slots=True)
class SampleTimes:
    """How long samples take, without the wait for a CPU; ``slowest`` are those that hold a whole batch up."""

    samples: int
    median_ms: float
    p95_ms: float
    slowest: tuple[SlowSample, ...] = ()
    slow: int = 0
    """How many are so slow, of those read."""


def sample_times(loader: Any, suspects: Iterable[Any], *, per_batch: float, seconds: float) -> SampleTimes | None:
    """Time samples for ``seconds``, half of them for ``suspects``; None where samples cannot be read one by one."""
    if torch_private.reads_by_iteration(loader):
        return None
    indices = list(plan_reading(loader).indices)
    doubtful = [index for index in suspects if isinstance(index, int)]
    # Those that are slow are read once more by another process: a stumble of the machine does not come twice.
    timed = child_process.ask(lambda: _read(loader.dataset, indices, doubtful, seconds), seconds + _TIMEOUT_SECONDS)
    if not timed or len(timed) < _LEAST_SAMPLES:
        return None
    times = sorted(timed.values())
    median = statistics.median(times)
    least = max(SLOW * median, LEAST_MS, per_batch * median)
    slow = sorted((index for index, ms in timed.items() if ms >= least), key=lambda index: -timed[index])
    again = (
        child_process.ask(lambda: _read(loader.dataset, indices, slow[:_CONFIRMED], 0.0), _TIMEOUT_SECONDS)
        if slow
        else {}
    ) or {}
    sure = {index: min(timed[index], again.get(index, 0.0)) for index in slow[:_CONFIRMED]}
    found = sorted(((ms, index) for index, ms in sure.items() if ms >= least), reverse=True)
    return SampleTimes(
        samples=len(timed),
        median_ms=median,
        p95_ms=times[int(0.95 * (len(times) - 1))],
        slowest=tuple(SlowSample(str(index), ms) for ms, index in found[:_SHOWN]),
        slow=len(slow) if len(found) == len(sure) else len(found),
    )


def _read(dataset: Any, indices: Sequence[int], doubtful: Sequence[int], seconds: float) -> dict[int, float]:
    """Milliseconds by index: of some samples for half of the time, then of the doubtful ones."""
    import torch

    torch.set_num_threads(1)  # the threads of the parent were not forked
    gc.freeze()
    for index in indices[-_WARM_UP:]:  # imports and first calls
        _time(dataset, index)
    found: dict[int, float] = {}
    spent, patience = 0.0, wall_ns() + _PATIENCE * seconds * 1e9
    for index in indices:
        if spent > seconds * 500 or (wall_ns() > patience and len(found) >= _LEAST_SAMPLES):
            break
        found[index] = _time(dataset, index)
        spent += found[index]
    for index in doubtful:
        if index not in found:
            found[index] = _time(dataset, index)
            spent += found[index]
        if seconds and (spent > seconds * 1000 or wall_ns() > patience + _PATIENCE * seconds * 1e9):
            break
    return found


def _time(dataset: Any, index: int) -> float:
    whole = getattr(dataset, "__getitems__", None)
    delay, began = read_kept_delay_ns(), wall_ns()
    whole([index]) if callable(whole) else dataset[index]
    took = wall_ns() - began
    return max(0.0, took - (read_kept_delay_ns() - delay)) / 1e6
