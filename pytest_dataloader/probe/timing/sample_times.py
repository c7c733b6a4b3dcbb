"""How long single samples take: read one by one in a forked child, those that seemed to hold the loader up as well."""

from __future__ import annotations

import gc
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.host import child_process
from pytest_dataloader.probe.host.clocks import read_kept_delay_ns, wall_ns
from pytest_dataloader.probe.host.file_reads import FileReads, ReadCounter
from pytest_dataloader.probe.internals import torch_private
from pytest_dataloader.probe.loader.batch_storages import arrays_by_address
from pytest_dataloader.probe.loader.plan import plan_reading
from pytest_dataloader.probe.loader.positions import length_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SLOW = 10.0
"""A sample that takes so many times the median, and ``LEAST_MS``, is slow; pictures of all sizes differ less."""
LEAST_MS = 5.0
READ_AGAIN = 4.0
"""Times that an epoch reads the same bytes, and that a sample reads what it gives. Of readers that take what they need
it is 0.8 to 1.3, of a picture cut twice 2; of one that unpacks chunks of 256 samples for each it is 200
(benchmarks/reports)."""
READ_BYTES = 32_768
"""Of a sample: what a buffered reader takes at once is no more."""
_SHOWN = 3
_CONFIRMED = 8
_WARM_UP = 2
_LEAST_SAMPLES = 8
_WEIGHED = 8
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
    reads: FileReads | None = None
    """What they read of files that they open themselves."""
    given_bytes: int = 0
    """What a sample holds, the median of a few; 0 where that is not known."""
    dataset_size: int = 0

    @property
    def times_read(self) -> float:
        """How often an epoch reads the bytes of its files; 0 where that is not known.

        Files that have not all been seen are counted as far as samples read them.
        """
        reads = self.reads
        if reads is None or reads.samples < _LEAST_SAMPLES or not reads.file_bytes:
            return 0.0
        samples = max(reads.samples, self.dataset_size) if reads.settled else reads.samples
        return reads.bytes / reads.samples * samples / reads.file_bytes

    @property
    def reads_again(self) -> bool:
        """Whether much more is read than there is, and than samples hold."""
        reads = self.reads
        if reads is None or self.times_read < READ_AGAIN:
            return False
        each = reads.bytes / reads.samples
        return each >= READ_BYTES and each >= READ_AGAIN * self.given_bytes > 0


def sample_times(loader: Any, suspects: Iterable[Any], *, per_batch: float, seconds: float) -> SampleTimes | None:
    """Time samples for ``seconds``, half of them for ``suspects``; None where samples cannot be read one by one."""
    if torch_private.reads_by_iteration(loader):
        return None
    indices = list(plan_reading(loader).indices)
    doubtful = [index for index in suspects if isinstance(index, int)]
    # Those that are slow are read once more by another process: a stumble of the machine does not come twice.
    first = child_process.ask(lambda: _read(loader.dataset, indices, doubtful, seconds), seconds + _TIMEOUT_SECONDS)
    timed, reads, given = first or ({}, None, 0)
    if len(timed) < _LEAST_SAMPLES:
        return None
    times = sorted(timed.values())
    median = statistics.median(times)
    least = max(SLOW * median, LEAST_MS, per_batch * median)
    slow = sorted((index for index, ms in timed.items() if ms >= least), key=lambda index: -timed[index])
    second = (
        child_process.ask(lambda: _read(loader.dataset, indices, slow[:_CONFIRMED], 0.0), _TIMEOUT_SECONDS)
        if slow
        else None
    )
    again = second[0] if second else {}
    sure = {index: min(timed[index], again.get(index, 0.0)) for index in slow[:_CONFIRMED]}
    found = sorted(((ms, index) for index, ms in sure.items() if ms >= least), reverse=True)
    return SampleTimes(
        samples=len(timed),
        median_ms=median,
        p95_ms=times[int(0.95 * (len(times) - 1))],
        slowest=tuple(SlowSample(str(index), ms) for ms, index in found[:_SHOWN]),
        slow=len(slow) if len(found) == len(sure) else len(found),
        reads=reads,
        given_bytes=given,
        dataset_size=length_of(loader.dataset),
    )


def _read(
    dataset: Any, indices: Sequence[int], doubtful: Sequence[int], seconds: float
) -> tuple[dict[int, float], FileReads | None, int]:
    """Milliseconds by index: of some samples for half of the time, then of the doubtful ones. And what the former read
    of files, and hold.
    """
    import torch

    torch.set_num_threads(1)  # the threads of the parent were not forked
    gc.freeze()
    for index in indices[-_WARM_UP:]:  # imports and first calls
        _time(dataset, index)
    counter = ReadCounter()
    held: list[int] = []
    found: dict[int, float] = {}
    spent, patience = 0.0, wall_ns() + _PATIENCE * seconds * 1e9
    for index in indices:
        if spent > seconds * 500 or (wall_ns() > patience and len(found) >= _LEAST_SAMPLES):
            break
        counter.begin()
        found[index] = _time(dataset, index, held if len(held) < _WEIGHED else None)
        counter.end()
        spent += found[index]
    for index in doubtful:
        if index not in found:
            found[index] = _time(dataset, index)
            spent += found[index]
        if seconds and (spent > seconds * 1000 or wall_ns() > patience + _PATIENCE * seconds * 1e9):
            break
    return found, counter.total(), int(statistics.median(held)) if held else 0


def _time(dataset: Any, index: int, held: list[int] | None = None) -> float:
    whole = getattr(dataset, "__getitems__", None)
    delay, began = read_kept_delay_ns(), wall_ns()
    made = whole([index]) if callable(whole) else dataset[index]
    took = wall_ns() - began
    if held is not None:
        arrays = arrays_by_address(made).values()
        held.append(sum(int(getattr(array, "nbytes", 0)) for array in arrays) or len(repr(made)))
    return max(0.0, took - (read_kept_delay_ns() - delay)) / 1e6
