"""The timeline of a run: what happened to its first batches one by one, and when."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pytest_dataloader.probe.host.clocks import unix_offset_ns
from pytest_dataloader.probe.internals.envelopes import MOST_NAMED, WALL, between

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pytest_dataloader.probe.internals.envelopes import BatchStamps, StampLog
    from pytest_dataloader.probe.timing.instrumented_run import EpochStart, Handout
    from pytest_dataloader.probe.timing.resident_memory import ResidentMemory

MAIN = -1
"""Stands for the main process where a worker is named."""
_LEAD_NS = 1_000_000
"""Before the first stamp, so that no stamp is 0."""

_Place = tuple[int, int]
"""Epoch and number of a batch."""


@dataclass(frozen=True, slots=True)
class WorkerProcess:
    """A worker process: when the epoch was asked for that started it, else 0."""

    worker: int
    pid: int
    started_ms: float


@dataclass(frozen=True, slots=True)
class BatchTimes:
    """What happened to one batch, in milliseconds since the origin; 0 where nobody looked, or nothing happened."""

    epoch: int
    number: int
    worker: int
    """-1 where the main process made it."""
    pid: int
    """Of the process that made it."""
    indices: tuple[int, ...]
    """The first few of its samples."""
    index_ms: float
    """The worker had taken the index from its queue, and began to read."""
    fetched_ms: float
    collated_ms: float
    packing_ms: float
    """The worker's sending thread began to pickle it."""
    packed_ms: float
    unpacking_ms: float
    """The main process had taken it from the queue, and began to unpickle it."""
    unpacked_ms: float
    pinned_ms: float
    asked_ms: float
    """The consumer asked for it."""
    got_ms: float
    read_waiting_ms: float
    """Of the time from index to fetched, what went neither into computing nor into waiting for a CPU."""


@dataclass(frozen=True, slots=True)
class StepTimes:
    """The consumer's step with one batch."""

    epoch: int
    number: int
    began_ms: float
    ended_ms: float


@dataclass(frozen=True, slots=True)
class Resident:
    """Memory of a process in RAM at one moment, pages that it shares with others included."""

    at_ms: float
    pid: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Timeline:
    """The first batches of a run, all those that followed each other with clocks on every one."""

    started_unix_ns: int
    """Wall clock at the origin, a whole number of microseconds."""
    main_pid: int
    workers: tuple[WorkerProcess, ...]
    batches: tuple[BatchTimes, ...]
    """In the order in which they arrived."""
    steps: tuple[StepTimes, ...] = ()
    resident: tuple[Resident, ...] = ()
    pins_aside: bool = False
    """Whether a thread of its own in the main process unpickles batches, and pins them."""


class TimelineSource(Protocol):
    """What a timeline is made of: an ``InstrumentedLoader``, or a ``WatchedLoop``."""

    stamp_log: StampLog
    handouts: list[Handout]
    starts: list[EpochStart]
    sparse_from: int | None
    taken: list[tuple[int, int, int, int]]
    memory: ResidentMemory


def timeline(run: TimelineSource) -> Timeline | None:
    """What a run says so far; None where no batch came with clocks on it."""
    batch_stamps = _consecutive(run.stamp_log.batch_stamps, run.sparse_from)
    if not batch_stamps:
        return None
    fresh = {start.epoch: start.asked_ns for start in run.starts if start.fresh}
    first = min([*fresh.values(), *(one.index[WALL] for one in batch_stamps)])
    offset = unix_offset_ns()
    origin = (first + offset - _LEAD_NS) // 1000 * 1000 - offset
    last = max(max(one.collated[WALL], one.unpacked[WALL], one.pinned[WALL]) for one in batch_stamps)

    def ms(wall_ns: int) -> float:
        return round((wall_ns - origin) / 1e6, 3) if wall_ns else 0.0

    waits, places = _waits(run, batch_stamps), {_place(one) for one in batch_stamps}
    return Timeline(
        started_unix_ns=origin + offset,
        main_pid=os.getpid(),
        workers=_workers(batch_stamps, fresh, ms),
        batches=tuple(
            _batch(one, waits.get(_handed(one), (0, 0)), run.stamp_log.named.get(_place(one), ()), ms)
            for one in batch_stamps
        ),
        steps=tuple(
            StepTimes(epoch, number, ms(began), ms(ended))
            for epoch, number, began, ended in run.taken
            if (epoch, number) in places
        ),
        resident=tuple(Resident(ms(at), pid, size) for at, pid, size in run.memory.readings if at <= last),
        pins_aside=not all(one.in_main_thread for one in batch_stamps),
    )


def _place(one: BatchStamps) -> _Place:
    return one.batch_id.epoch, one.batch_id.number


def _handed(one: BatchStamps) -> _Place:
    """The batch as it was handed out: a kept iterator had asked for its first ones before any epoch."""
    return one.batch_id.epoch or 1, one.batch_id.number


def _consecutive(batch_stamps: Iterable[BatchStamps], sparse_from: int | None) -> list[BatchStamps]:
    """Those of each epoch up to the first batch that was left out, in the order of arrival.

    An epoch that was begun after ``sparse_from`` followed one whose last batches have no clocks. Where one iterator is
    kept for all epochs, numbers go on. Of an epoch that is left early, a later batch may have come before one that is
    never asked for.
    """
    found: list[_Place] = []
    left = None
    for place in sorted({_place(one) for one in batch_stamps}):
        epoch, number = place
        follows = number == (found[-1][1] if found else -1) + 1 and epoch != left
        begins = number == 0 and (sparse_from is None or epoch <= sparse_from)
        if len(found) == MOST_NAMED:
            break
        if follows or begins:
            found.append(place)
        else:
            left = epoch
    places = set(found)
    return [one for one in batch_stamps if _place(one) in places]


def _waits(run: TimelineSource, batch_stamps: Sequence[BatchStamps]) -> dict[_Place, tuple[int, int]]:
    """When each batch was asked for, and when it was there."""
    waits = {}
    firsts = {(start.epoch, 0): (start.asked_ns, start.first_ns) for start in run.starts}
    unnumbered = []
    for look in run.handouts:
        wait = (look.asked[WALL], look.got[WALL])
        if look.number >= 0:
            waits[look.epoch, look.number] = wait
        else:
            unnumbered.append(wait)
    if unnumbered and all(one.in_main_thread for one in batch_stamps):
        unnumbered += firsts.values()  # batches that come as they are ready need not begin with number 0
    else:
        waits |= firsts
    # Without workers, or as they come: the one whose last stamp falls into the wait.
    for one in batch_stamps:
        stamp = one.unpacked[WALL] or one.collated[WALL]
        for asked, got in unnumbered if one.in_main_thread and _handed(one) not in waits else ():
            if asked <= stamp <= got:
                waits[_handed(one)] = asked, got
    return waits


def _workers(
    batch_stamps: Sequence[BatchStamps], fresh: dict[int, int], ms: Callable[[int], float]
) -> tuple[WorkerProcess, ...]:
    """Every process but this one that made a batch."""
    firsts: dict[tuple[int, int], BatchStamps] = {}
    for one in batch_stamps:
        if one.unpacked[WALL]:
            firsts.setdefault((one.worker, one.pid), one)
    return tuple(
        WorkerProcess(worker, pid, ms(fresh.get(one.batch_id.epoch, 0)) if one.made == 0 else 0.0)
        for (worker, pid), one in sorted(firsts.items(), key=lambda item: (item[1].batch_id.epoch, item[0]))
    )


def _batch(one: BatchStamps, wait: tuple[int, int], indices: tuple[int, ...], ms: Callable[[int], float]) -> BatchTimes:
    wall, cpu, _, delay = between(one.index, one.fetched)
    return BatchTimes(
        epoch=one.batch_id.epoch,
        number=one.batch_id.number,
        worker=one.worker if one.unpacked[WALL] else MAIN,
        pid=one.pid,
        indices=indices,
        index_ms=ms(one.index[WALL]),
        fetched_ms=ms(one.fetched[WALL]),
        collated_ms=ms(one.collated[WALL]),
        packing_ms=ms(one.packing[WALL]),
        packed_ms=ms(one.packed[WALL]),
        unpacking_ms=ms(one.unpacking[WALL]),
        unpacked_ms=ms(one.unpacked[WALL]),
        pinned_ms=ms(one.pinned[WALL]),
        asked_ms=ms(wait[0]),
        got_ms=ms(wait[1]),
        read_waiting_ms=round(max(0, wall - cpu - delay) / 1e6, 3),
    )
