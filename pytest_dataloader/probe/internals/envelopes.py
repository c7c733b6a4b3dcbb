"""Envelopes around indices and batches: being pickled and unpickled stamps the clock, and leaves the bare thing.

An index is opened in the worker's main thread, just before it is fetched; a batch is closed in the worker's feeder
thread and opened in the main process, or in its pinning thread. So every stage of a batch's way is timed where it
happens, and datasets, samplers, queues and torch's own code stay as they are.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.host.clocks import (
    process_cpu_ns,
    read_kept_delay_ns,
    thread_cpu_ns,
    thread_spent_ns,
    wall_ns,
)

if TYPE_CHECKING:
    from collections.abc import Callable

Moment = tuple[int, int, int, int]
"""Wall clock, CPU of the thread, CPU of the process, run-queue delay of the thread; nanoseconds."""
WALL, CPU, PROCESS_CPU, DELAY = range(4)
NEVER: Moment = (0, 0, 0, 0)


def between(start: Moment, end: Moment) -> Moment:
    """What passed from one stamp to another, of each clock."""
    return end[0] - start[0], end[1] - start[1], end[2] - start[2], end[3] - start[3]


def stamp_cheap() -> Moment:
    """A stamp of the wall clock and the thread's CPU alone, where more would cost too much."""
    return wall_ns(), thread_cpu_ns(), 0, 0


def handing_thread() -> int:
    """The native id of the thread that hands this process's tensors to the main process; 0 without one."""
    from multiprocessing import resource_sharer

    thread = getattr(getattr(resource_sharer, "_resource_sharer", None), "_thread", None)
    return thread.native_id or 0 if thread is not None and thread.is_alive() else 0


_UNDISTURBED_NS, _MOST_READINGS = 100_000, 3
"""Reading all clocks takes 6 us, 7 twice; where it took longer, others had the CPU in between, and their time is
in the delay or in the wall clock only. Beside six busy loops on two CPUs 0.12 % of 5,000 sleeps of 2 ms were told more
than 1 ms too short, and 0.07 % where it is read again; of 6,594 in one run, 2.6 % and one
(benchmarks/stamps_interrupted.py)."""


def stamp_before() -> Moment:
    """A stamp before something: the wall clock is read last, so that reading the others takes no part in it."""
    for _ in range(_MOST_READINGS):
        began = wall_ns()
        delay, process, thread = read_kept_delay_ns(), process_cpu_ns(), thread_cpu_ns()
        wall = wall_ns()
        if wall - began < _UNDISTURBED_NS:
            break
    return wall, thread, process, delay


def stamp_after() -> Moment:
    """A stamp after something."""
    for _ in range(_MOST_READINGS):
        wall, thread, process, delay = wall_ns(), thread_cpu_ns(), process_cpu_ns(), read_kept_delay_ns()
        if wall_ns() - wall < _UNDISTURBED_NS:
            break
    return wall, thread, process, delay


@dataclass(frozen=True, slots=True)
class BatchId:
    """What an index tells of itself on its way."""

    stamp_log: int
    epoch: int
    number: int
    """Position in the epoch; without workers, of its being asked for."""
    sampler_ns: int
    """Spent on drawing it in the main process, without waiting for a CPU."""
    sampler_cpu_ns: int


@dataclass(slots=True)
class BatchStamps:
    """The stamps of one batch, from index to unpacked batch."""

    batch_id: BatchId
    worker: int
    pid: int
    made: int
    """Batches that this worker's process had made before."""
    free_ns: int
    """Wall clock when the worker had made the one before; 0 for its first."""
    index: Moment
    fetched: Moment = NEVER
    collated: Moment = NEVER
    packing: Moment = NEVER
    packed: Moment = NEVER
    """Its clock of the process is the CPU time of the thread that hands tensors over."""
    unpacking: Moment = NEVER
    unpacked: Moment = NEVER
    handing_delay: int = 0
    """While it was unpacked, the time that the thread that hands its tensors over waited for a CPU; nanoseconds."""
    pinned: Moment = NEVER
    in_main_thread: bool = True
    """Whether it was unpacked by the thread that consumes; else by the one that pins."""


MOST_NAMED = 200
"""Batches whose samples are kept for the timeline; it holds no more."""
_REMEMBERED = 1024
"""Batches whose indices are at hand when one of them turns out to be slow: many more than are ever under way."""


@dataclass(slots=True)
class StampLog:
    """The stamps that came in from one borrowed loader; ``count`` says how many samples an index asks for, None where
    the batch alone tells.
    """

    count: Callable[[Any], int | None]
    number: int = field(default_factory=itertools.count(1).__next__)
    epoch: int = 0
    arrived: list[tuple[Any, ...]] = field(default_factory=list)
    """As they came: tuples of numbers, which the garbage collector does not look into."""
    pinned: dict[tuple[int, ...], Moment] = field(default_factory=dict)
    """By epoch and number."""
    sized: list[int] = field(default_factory=lambda: [0, 0])
    """How many samples the timed indices ask for, and in how many batches, as far as indices tell."""
    asked: deque[tuple[int, int, Any]] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))
    """The last indices that were asked for, by epoch and number."""
    name: Callable[[Any], tuple[int, ...]] = lambda _index: ()
    """The first few samples that an index asks for."""
    named: dict[tuple[int, int], tuple[int, ...]] = field(default_factory=dict)
    """What ``name`` said of the first batches that were timed, by epoch and number."""
    opened: BatchStamps | None = None
    """Without workers: the batch under way."""
    thread: int = field(default_factory=threading.get_ident)

    def open(self) -> None:
        """From now on take in what arrives."""
        _stamp_logs[self.number] = self

    def close(self) -> None:
        """Take nothing in any more."""
        _stamp_logs.pop(self.number, None)

    def stamps(self, place: int) -> BatchStamps:
        """The stamps that arrived as the ``place``-th."""
        batch_id, worker, moments, unpacking, unpacked, handing_delay, in_main = self.arrived[place]
        pinned = self.pinned.get(batch_id[1:3], NEVER)
        made: tuple[Any, ...] = (*worker, *moments, unpacking, unpacked, handing_delay, pinned, in_main)
        return BatchStamps(BatchId(*batch_id), *made)

    @property
    def batch_stamps(self) -> list[BatchStamps]:
        """All that arrived."""
        return [self.stamps(place) for place in range(len(self.arrived))]

    def note_samples(self, number: int, index: Any) -> None:
        """Keep the first samples of a batch, where not many batches' are kept yet."""
        if len(self.named) < MOST_NAMED:
            self.named[self.epoch, number] = self.name(index)


_stamp_logs: dict[int, StampLog] = {}
"""By number, which is what crosses the processes."""


class _Arriving(threading.local):
    """What the calling thread is unpacking."""

    began: Moment = NEVER
    handing: tuple[int, int] = (0, 0)
    """The worker, and its thread that hands tensors over."""
    delay: int = 0
    """What that thread had waited for a CPU when it began."""
    last: tuple[int, ...] | None = None


_arriving = _Arriving()


class _Worker:
    """What this worker process is doing."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.made = 0
        self.free_ns = 0
        self.opened: BatchStamps | None = None


_worker = _Worker()


class StampedIndex:
    """An index on its way to a worker."""

    __slots__ = ("_batch_id", "_index")

    def __init__(self, index: Any, batch_id: BatchId) -> None:
        self._index = index
        self._batch_id = batch_id

    def __reduce__(self) -> tuple[Any, ...]:
        batch_id = self._batch_id
        return _open_index, (
            self._index,
            batch_id.stamp_log,
            batch_id.epoch,
            batch_id.number,
            batch_id.sampler_ns,
            batch_id.sampler_cpu_ns,
        )


def _open_index(index: Any, *batch_id: int) -> Any:
    global _worker
    from torch.utils.data import get_worker_info

    info = get_worker_info()
    worker = info.id if info is not None else 0
    if _worker.pid != os.getpid():  # made before the fork, by worker threads of the main process
        _worker = _Worker()
    _worker.opened = BatchStamps(BatchId(*batch_id), worker, os.getpid(), _worker.made, _worker.free_ns, NEVER)
    _worker.opened.index = stamp_before()
    return index


class StampedCollate:
    """A collate function as workers get it: it puts the batch of a timed index into an envelope."""

    def __init__(self, collate: Callable[[Any], Any]) -> None:
        self.collate = collate

    def __call__(self, samples: Any) -> Any:
        stamps = _worker.opened
        if stamps is None:
            batch = self.collate(samples)
        else:
            stamps.fetched = stamp_after()
            batch = self.collate(samples)
            stamps.collated = stamp_after()
            _worker.opened = None
            batch = _StampedBatch(batch, stamps)
        _worker.made += 1
        _worker.free_ns = wall_ns()
        return batch

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "collate":  # asked for while it is unpickled, before it has any
            raise AttributeError(name)
        return getattr(self.collate, name)


class CollateHere(StampedCollate):
    """A collate function without workers: the batch stays bare."""

    def __init__(self, collate: Callable[[Any], Any], stamp_log: StampLog) -> None:
        super().__init__(collate)
        self._stamp_log = stamp_log

    def __call__(self, samples: Any) -> Any:
        stamps = self._stamp_log.opened
        if stamps is None:
            return self.collate(samples)
        stamps.fetched = stamp_after()
        batch = self.collate(samples)
        stamps.collated = stamp_after()
        batch_id = stamps.batch_id
        numbers = (batch_id.stamp_log, batch_id.epoch, batch_id.number, batch_id.sampler_ns, batch_id.sampler_cpu_ns)
        moments = (stamps.index, stamps.fetched, stamps.collated, NEVER, NEVER)
        self._stamp_log.arrived.append((numbers, (0, stamps.pid, stamps.made, 0), moments, NEVER, NEVER, 0, True))
        self._stamp_log.opened = None
        return batch


class _StampedBatch:
    """A batch on its way to the main process."""

    __slots__ = ("_batch", "_stamps")

    def __init__(self, batch: Any, stamps: BatchStamps) -> None:
        self._batch = batch
        self._stamps = stamps

    def __reduce__(self) -> tuple[Any, ...]:
        # Arguments are pickled in this order, and unpickled in this order.
        return _open_batch, (_Begin(self._stamps), self._batch, _End(self._stamps))


class _Begin:
    __slots__ = ("_stamps",)

    def __init__(self, stamps: BatchStamps) -> None:
        self._stamps = stamps

    def __reduce__(self) -> tuple[Any, ...]:
        self._stamps.packing = stamp_cheap()
        return _begin, (self._stamps.pid, handing_thread())


class _End:
    __slots__ = ("_stamps",)

    def __init__(self, stamps: BatchStamps) -> None:
        self._stamps = stamps

    def __reduce__(self) -> tuple[Any, ...]:
        seen, batch_id = self._stamps, self._stamps.batch_id
        wall, cpu, _, _ = stamp_cheap()
        thread = handing_thread()
        seen.packed = (wall, cpu, thread_spent_ns("self", thread)[0] if thread else 0, 0)
        moments = (seen.index, seen.fetched, seen.collated, seen.packing, seen.packed)
        numbers = (batch_id.stamp_log, batch_id.epoch, batch_id.number, batch_id.sampler_ns, batch_id.sampler_cpu_ns)
        return _end, (numbers, (seen.worker, seen.pid, seen.made, seen.free_ns), moments)


def _begin(*handing: int) -> None:
    worker, thread = _arriving.handing = handing[0], handing[1]
    _arriving.delay = thread_spent_ns(worker, thread)[1] if thread else 0
    _arriving.began = stamp_before()


def _end(
    batch_id: tuple[int, int, int, int, int],
    worker: tuple[int, int, int, int],
    moments: tuple[Moment, Moment, Moment, Moment, Moment],
) -> None:
    unpacked = stamp_after()
    stamp_log = _stamp_logs.get(batch_id[0])
    if stamp_log is None:  # measuring is over
        return
    process, thread = _arriving.handing
    handing_delay = max(0, thread_spent_ns(process, thread)[1] - _arriving.delay) if thread else 0
    in_main = stamp_log.thread == threading.get_ident()
    stamp_log.arrived.append((batch_id, worker, moments, _arriving.began, unpacked, handing_delay, in_main))
    _arriving.last = None if in_main else batch_id


def _open_batch(_begin: None, batch: Any, _end: None) -> Any:
    return batch


def stamp_pinned(number: Any) -> None:
    """Called by the pinning thread once the batch of that number is pinned."""
    batch_id, _arriving.last = _arriving.last, None
    stamp_log = _stamp_logs.get(batch_id[0]) if batch_id is not None else None
    if batch_id is not None and stamp_log is not None and batch_id[2] == number:
        stamp_log.pinned[batch_id[1:3]] = stamp_after()
