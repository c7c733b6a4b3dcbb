"""The reader: a forked child that reads samples as a worker would, in windows, and says what it has allocated."""

from __future__ import annotations

import gc
import itertools
import pickle
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.host.allocator import Allocated, allocated
from pytest_dataloader.probe.internals import torch_private, torch_worker_loop
from pytest_dataloader.probe.loader.batch_storages import weigh
from pytest_dataloader.probe.loader.coordination import workers_told
from pytest_dataloader.probe.loader.positions import Plan, flat_indices
from pytest_dataloader.probe.memory import holders
from pytest_dataloader.probe.memory.reference_cycles import Collected, Collector, garbage_now

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_dataloader.probe.host.child_process import Child
    from pytest_dataloader.probe.memory.objects import Walk

WARM, FIRST, SECOND, AGAIN = "warm", "first", "second", "again"
LATER = "later"
LONGER, HOLDERS, CYCLES = b"\0longer", b"\0holders", b"\0cycles"
"""Asks the reader to read the same once more, what holds what it has kept, or what is in its reference cycles; other
messages are paths to write to."""
_WINDOW_SECONDS = {WARM: 0.15, FIRST: 0.3, SECOND: 0.3, AGAIN: 0.45, LATER: 0.12}
"""Budget of each window. A dataset of 20 us a sample is through all four in 0.15 s."""
_MOST_SAMPLES = {WARM: 200, FIRST: 1000, SECOND: 1000, AGAIN: 2000, LATER: 500}
"""Samples per window: a list of 110 MB shows after 400 reads where the sample is drawn at the positions read."""
LONGEST_SECONDS = 1.5
"""Where few samples were read in a window's budget and blocks grew as a slow leak's would, it goes on for so long."""
GROWTH_BLOCKS, NOISE_BLOCKS = 0.25, 256
"""Per sample, and in a window: what a leak must exceed. Windows of clean loaders gain up to 142 blocks, whether they
hold 80 samples or 1,500 (36 runs over datasets of 2 ms a sample): 1.2 a sample where these are few."""
WARM_POSITIONS = 16
"""Distinct samples read again and again in the first window, so that imports and first calls end there."""
_BATCH_SECONDS = 0.05
_SMALLEST, _LARGEST = 4, 64


@dataclass(frozen=True, slots=True)
class ReaderReport:
    """What the reader says after a window; ``ranks`` are the plan's positions read since the start.

    ``restarted`` is what was allocated right after an iterable dataset's new iteration replaced the old one.
    """

    name: str
    samples: int
    ranks: int
    batches: int
    errors: int
    error: str
    seconds: float
    allocated: Allocated
    restarted: Allocated | None
    growth: tuple[tuple[str, int], ...]
    collected: Collected = field(default_factory=Collected)
    crossing_bytes_per_sample: float = 0.0
    """What crosses to the main process, of the batch that had most for each of its samples."""


class SampleReader:
    """Stands in for a worker's queues: hands out indices window by window, takes and drops the batches."""

    def __init__(self, child: Child, loader: Any, plan: Plan, seen: Walk) -> None:
        self.child = child
        self.loader = loader
        self.plan = plan
        self.batched = torch_private.reads_batches(loader)
        self.largest = min(getattr(loader, "batch_size", None) or _LARGEST, _LARGEST)
        self.size = min(_SMALLEST, self.largest)
        self.seen = seen
        self.before = [size() for _, size in seen.containers]
        self.steps = self._steps()
        self.sent = self.samples = self.ranks = self.errors = 0
        self.error = ""
        self.ended = False
        self.restarted: Allocated | None = None
        self.blocks = 0
        """Allocated when the last window ended."""
        self.batches = 0
        """Read until then."""
        self.collector = Collector()
        self.crossing = 0
        """Bytes of the last batch that would cross to the main process."""
        self.crossing_per_sample = 0.0

    def get(self, timeout: float | None = None) -> Any:  # noqa: ARG002  # the queue's signature
        """The next indices, as the worker asks for them."""
        return next(self.steps)

    def put(self, message: Any) -> None:
        """Take what the worker made, pickle it as the queue would, and drop it."""
        if torch_worker_loop.is_next_epoch(message[0]):
            return
        data = message[1]
        if torch_private.is_exhausted(data):
            self.ended = True
            return
        error = torch_private.exception_in(data)
        if error:
            self.errors += 1
            self.error = self.error or error
            return
        try:
            self.crossing = weigh(data).crossing_bytes
        except Exception as unpicklable:
            self.error = self.error or f"{type(unpicklable).__name__}: {unpicklable}"

    def _steps(self) -> Iterator[Any]:
        windows = ((WARM, self._warm()), (FIRST, self._onward()), (SECOND, self._onward()), (AGAIN, self._again()))
        for name, batches in windows:
            yield from self._window(name, batches)
        while (path := self.child.hear(60.0)) is not None:
            if path == LONGER:
                yield from self._window(LATER, self._again())
            elif path == HOLDERS:
                self.child.tell(pickle.dumps((holders.bytes_held_now(self.loader, self.plan), holders.results_kept())))
            elif path == CYCLES:
                yield from self._leave_garbage()
                self.child.tell(pickle.dumps(garbage_now()))
            else:
                self._touch(path)
        self.child.sleep()

    def _window(self, name: str, batches: Iterator[tuple[Any, int]]) -> Iterator[Any]:
        started = time.monotonic()
        if self.ended or (name in (AGAIN, LATER) and self.plan.iterable):
            yield from self._restart()
        read = 0
        for batch, samples in batches:
            at = time.monotonic()
            yield self.sent, batch
            self.sent += 1
            if not self.ended:
                read += samples
                self.crossing_per_sample = max(self.crossing_per_sample, self.crossing / max(1, samples))
            self._adapt(samples, time.monotonic() - at)
            spent = time.monotonic() - started
            late = spent >= _WINDOW_SECONDS[name] and not self._doubtful(name, read, spent)
            if read >= _MOST_SAMPLES[name] or self.ended or late:
                break
        self._report(name, read, time.monotonic() - started)

    def _doubtful(self, window: str, read: int, seconds: float) -> bool:
        """Whether blocks have grown by what may be noise or the beginning of a leak."""
        if window not in (SECOND, AGAIN) or seconds >= LONGEST_SECONDS:
            return False
        grown = allocated().blocks - self.blocks
        # At this pace it must come out of the noise in time: noise does not keep pace.
        at_last = grown * LONGEST_SECONDS / seconds
        return GROWTH_BLOCKS * read <= grown < NOISE_BLOCKS <= at_last

    def _leave_garbage(self) -> Iterator[Any]:
        """Read a batch, or a few samples, and keep the collector from what these leave."""
        if self.ended or self.plan.iterable:
            yield from self._restart()
        gc.collect()
        gc.disable()
        self.size = min(_SMALLEST, self.largest)
        for batch, _samples in itertools.islice(self._again(), 1 if self.batched else _SMALLEST):
            yield self.sent, batch
            self.sent += 1

    def _touch(self, path: bytes) -> None:
        """Write to what was looked at under a path and was read: that costs nothing more if reading copied it.

        For the empty path, which comes first, only write to the entries that name these objects: in holes of the
        program's heap each may lie on a page of its own, 10 MB for the 1,024 of a path.
        """
        read = self._positions_read
        entries = self.seen.samples[path.decode()] if path else itertools.chain(*self.seen.samples.values())
        for entry in entries:
            if 0 <= entry[2] < read and path:
                sys.getrefcount(entry[0])  # a reference more, a reference less: both are writes
        self.child.tell(b"touched")

    @property
    def _positions_read(self) -> int:
        return len(flat_indices(self.plan.batches[: self.ranks])) if self.plan.batches else self.ranks

    def _restart(self) -> Iterator[Any]:
        self.ended = False
        yield torch_worker_loop.next_epoch(1)
        gc.collect()
        self.restarted = allocated()
        self.collector.forget()  # what an iteration has left is no garbage of its samples

    def _adapt(self, samples: int, seconds: float) -> None:
        if samples and seconds > 0:
            self.size = max(min(_SMALLEST, self.largest), min(self.largest, int(samples * _BATCH_SECONDS / seconds)))

    def _warm(self) -> Iterator[tuple[Any, int]]:
        few = self.ranks = self._few()
        while True:
            yield from ((batch, samples) for batch, samples, _ in self._batches(0, few))
            if self.plan.iterable:
                return

    def _few(self) -> int:
        if self.plan.batches:
            return 1
        return WARM_POSITIONS if self.plan.iterable else min(WARM_POSITIONS, max(1, len(self.plan.indices) // 4))

    def _onward(self) -> Iterator[tuple[Any, int]]:
        """Samples not read yet."""
        for batch, samples, cursor in self._batches(self.ranks, 1 << 40):
            self.ranks = cursor
            yield batch, samples

    def _again(self) -> Iterator[tuple[Any, int]]:
        """What the windows before have read, once more: a cache does not grow by it, a leak does."""
        passes = range(1) if self.plan.iterable or not self.ranks else itertools.count()
        for _ in passes:
            yield from ((batch, samples) for batch, samples, _ in self._batches(0, self.ranks))

    def _batches(self, start: int, stop: int) -> Iterator[tuple[Any, int, int]]:
        """Batches in the plan's order: (what a worker is sent, samples in it, cursor after it).

        The cursor counts samples, or batches where a sampler of the user's makes them.
        """
        while start < stop:
            size = min(self.size if self.batched else 1, stop - start)
            if self.plan.iterable:
                start += size
                yield ([None] * size if self.batched else None), size, start
            elif self.plan.batches:
                if start >= len(self.plan.batches):
                    return
                batch = self.plan.batches[start]
                start += 1
                yield batch, len(batch) if self.batched else 1, start
            else:
                chunk = list(self.plan.indices[start : start + size])
                if not chunk:
                    return
                start += len(chunk)
                yield (chunk if self.batched else chunk[0]), len(chunk), start

    def _report(self, name: str, read: int, seconds: float) -> None:
        # The parent's objects are frozen out of this collection: it is of garbage made in here alone.
        collected = self.collector.collect(read, self.sent - self.batches)
        sizes = [
            (path, size() - before) for (path, size), before in zip(self.seen.containers, self.before, strict=True)
        ]
        growth = tuple((path, grown) for path, grown in sizes if grown > 0)
        window = ReaderReport(
            name,
            read,
            self._positions_read,
            self.sent,
            self.errors,
            self.error,
            seconds,
            allocated(),
            self.restarted,
            growth[:50],
            collected,
            self.crossing_per_sample,
        )
        self.blocks, self.batches = window.allocated.blocks, self.sent
        self.child.tell(pickle.dumps(window))
        self.child.hear(60.0)


def read_as_worker(loader: Any, plan: Plan, seen: Walk) -> Callable[[Child], None]:
    """What a forked child runs to be the reader."""

    def run(child: Child) -> None:
        # A collection would write to the header of every container inherited from the parent.
        gc.freeze()
        reader = SampleReader(child, loader, plan, seen)
        torch_worker_loop.work(loader, reader, reader, seed=_SEED, workers=workers_told(loader))

    return run


_SEED = 20260813
"""Of the reader's random numbers; drawing one from the loader's generator would change the user's run."""
