"""What the stamps of a run say about each stage, and which of them sets the pace; pure.

Times are without the time that a thread waited for a CPU (its run-queue delay), so that neighbours are in none.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_dataloader.probe.internals.envelopes import CPU, DELAY, PROCESS_CPU, WALL, BatchStamps, Moment, between

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pytest_dataloader.probe.timing.evidence import Stage
    from pytest_dataloader.probe.timing.instrumented_run import EpochStart, Handout

_WARM_UP = 2
"""Batches of a fresh worker that do not count: they cost up to 8 times a later one (probe/timing/rate_meter.py)."""
_SETTLED = 4
"""Some loaders settle later: samples of 8 MB took 15 ms to make in the third and fourth batch of a worker, 2 ms in
later ones. With these left out, fetching is 1.08 to 1.15 of the truth, and 1.23 with the first 12, which leaves few
(benchmarks/stages_truth.py, medians of five runs): of batches of which each eighth takes 250 ms, 8 the others, the
later ones of a run of 5 s had none, or three times too many."""
_ENOUGH = 0.5
"""Where at least so much of what warm workers' clocks saw came later, these are left out."""
HELPS = 1.2
"""More workers help where they are this many times as slow as what would hold the loader up next."""
_HELPERS = 0.5
"""Threads of a dataset are at work where the process's other threads compute for this share of the waiting."""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """What a run gathered: timed batches, looks at the consumer, starts and ends of epochs."""

    batch_stamps: Sequence[BatchStamps]
    handouts: Sequence[Handout]
    starts: Sequence[EpochStart]
    ending_ns: Mapping[int, int]
    """By epoch that ended: from asking for one more batch to being told that there is none."""
    workers: int
    consumer_cpu_ns: float
    """CPU time of the consuming thread per batch; timed or not."""
    pins: bool = False


@dataclass(frozen=True, slots=True)
class Costs:
    """Nanoseconds per batch."""

    read: float = 0.0
    fetch: float = 0.0
    collate: float = 0.0
    collate_waiting: float = 0.0
    """Part of collating: neither computing nor waiting for a CPU."""
    send: float = 0.0
    receive_here: float = 0.0
    """In the consuming thread."""
    receive_aside: float = 0.0
    """In the pinning thread."""
    handover: float = 0.0
    """Part of receiving: waiting for the workers' threads that hand tensors over."""
    pin: float = 0.0
    sampler: float = 0.0
    sampler_waiting: float = 0.0
    """Part of drawing indices: neither computing nor waiting for a CPU."""
    delay: float = 0.0
    """Waiting for a CPU, in the worker's stages."""

    @property
    def receive(self) -> float:
        """Wherever it is done."""
        return self.receive_here + self.receive_aside

    @property
    def work(self) -> float:
        """What a worker takes. Pickling runs beside reading that waits, and takes turns with Python that computes."""
        return self.collate + self.fetch + max(self.read, self.send)

    @property
    def waiting(self) -> float:
        """Part of a worker's work that needs no CPU."""
        return self.work - self.fetch - (self.collate - self.collate_waiting) - max(0.0, self.send - self.read)

    @property
    def latency(self) -> float:
        """From index to unpacked batch, nobody being in the way."""
        return self.read + self.fetch + self.collate + self.send + self.receive + self.pin


def costs(seen: RunRecord, batch_stamps: Sequence[BatchStamps] | None = None) -> Costs:
    """Mean costs over the timed batches, or over some of them; the first ones of each worker are left out."""
    chosen = warm(seen.batch_stamps if batch_stamps is None else batch_stamps)
    if not chosen:
        return Costs()
    fetched = _mean(between(one.index, one.fetched) for one in chosen)
    collated = _mean(between(one.fetched, one.collated) for one in chosen)
    send = _sending(chosen) if seen.workers else 0.0
    read, helped = _waiting(fetched, send)
    here, aside, pin = _arriving(seen, chosen, fetched[CPU] + collated[CPU])
    collate_waiting = blocked([between(one.fetched, one.collated) for one in chosen])
    sampler_waiting = _sampler_blocked(chosen)
    return Costs(
        read=read,
        fetch=min(fetched[CPU], fetched[WALL]) + helped,
        collate=collated[CPU] + collate_waiting,
        collate_waiting=collate_waiting,
        send=send,
        receive_here=here,
        receive_aside=aside,
        handover=_handover(chosen) if seen.workers else 0.0,
        pin=pin,
        sampler=statistics.fmean(one.batch_id.sampler_cpu_ns for one in chosen) + sampler_waiting,
        sampler_waiting=sampler_waiting,
        delay=fetched[DELAY] + collated[DELAY],
    )


def warm(batch_stamps: Sequence[BatchStamps]) -> Sequence[BatchStamps]:
    """The batches of settled workers; where these are few, those of warmed-up ones; all where there are no others."""
    warmed = [one for one in batch_stamps if one.made >= _WARM_UP]
    settled = [one for one in warmed if one.made >= _SETTLED]
    return (settled if len(settled) >= _ENOUGH * len(warmed) else warmed) or batch_stamps


def _mean(moments: Iterable[Moment]) -> tuple[float, ...]:
    return tuple(statistics.fmean(each) for each in zip(*moments, strict=True))


def _waiting(fetched: Sequence[float], send: float) -> tuple[float, float]:
    """What of a fetch was waiting for data, and what was waiting for the dataset's own threads to compute.

    Neither is the wait of a Python thread for those that send batches, which hold the GIL as long as they compute.
    """
    waiting = max(0.0, fetched[WALL] - fetched[CPU] - fetched[DELAY])
    others = max(0.0, fetched[PROCESS_CPU] - fetched[CPU])
    helpers = max(0.0, others - send)
    helped = min(waiting, helpers) if helpers >= _HELPERS * waiting else 0.0
    in_turns = min(others, send) * fetched[CPU] / max(1.0, fetched[CPU] + waiting)
    return max(0.0, waiting - helped - in_turns), helped


def _sending(batch_stamps: Sequence[BatchStamps]) -> float:
    """CPU time per batch of the threads that pickle, write to the pipe and hand tensors over.

    From what they had spent at two batches. What they are kept waiting by is no cost of sending: a consumer that does
    not read yet, or Python computing.
    """
    return _per_batch(batch_stamps, CPU) + _per_batch(batch_stamps, PROCESS_CPU)


def _per_batch(batch_stamps: Sequence[BatchStamps], clock: int) -> float:
    """What the threads that send spent by a clock, per batch; with too few batches, what packing one took."""
    spent = batches = 0
    last: dict[int, BatchStamps] = {}
    for one in batch_stamps:
        before = last.get(one.pid)
        if before is not None and one.made > before.made:
            spent += one.packed[clock] - before.packed[clock]
            batches += one.made - before.made
        last[one.pid] = one
    if batches:
        return spent / batches
    return statistics.fmean(one.packed[CPU] - one.packing[CPU] for one in batch_stamps) if clock == CPU else 0.0


def _handover(batch_stamps: Sequence[BatchStamps]) -> float:
    """Waiting for the workers' threads that hand tensors over, but not while these wait for a CPU."""
    waits = [(between(one.unpacking, one.unpacked), one.handing_delay) for one in batch_stamps]
    return blocked([(wall - others, cpu, process, delay) for (wall, cpu, process, delay), others in waits])


def _arriving(seen: RunRecord, batch_stamps: Sequence[BatchStamps], cpu_in_stages: float) -> tuple[float, float, float]:
    """Receiving in the consuming thread, receiving in the pinning thread, and pinning."""
    if not seen.workers:
        return _handing_out(seen, batch_stamps, cpu_in_stages)
    here = _handover([one for one in batch_stamps if one.in_main_thread])
    aside = [between(one.unpacking, one.unpacked) for one in batch_stamps if not one.in_main_thread]
    pinned = [between(one.unpacked, one.pinned) for one in batch_stamps if one.pinned[WALL]]
    return seen.consumer_cpu_ns + _sampler_blocked(batch_stamps) + here, _served(aside), _served(pinned)


def blocked(moments: Sequence[Moment]) -> float:
    """Time in which a thread neither worked nor waited for a CPU; the median, for now and then it waits for another
    thread of its process that waits for a CPU.
    """
    return statistics.median(max(0, wall - cpu - delay) for wall, cpu, _, delay in moments) if moments else 0.0


def _sampler_blocked(batch_stamps: Sequence[BatchStamps]) -> float:
    return statistics.median(max(0, one.batch_id.sampler_ns - one.batch_id.sampler_cpu_ns) for one in batch_stamps)


def _served(moments: Sequence[Moment]) -> float:
    return statistics.fmean(moment[CPU] for moment in moments) + blocked(moments) if moments else 0.0


def _handing_out(
    seen: RunRecord, batch_stamps: Sequence[BatchStamps], cpu_in_stages: float
) -> tuple[float, float, float]:
    """Without workers: what comes before and after fetching and collating, in the call that hands the batch out.

    Its CPU time is taken from unstamped batches, because the clocks themselves would be in it.
    """
    before, after = [], []
    looks = iter(seen.handouts)
    look = next(looks, None)
    for one in batch_stamps:
        while look is not None and look.got[WALL] < one.collated[WALL]:
            look = next(looks, None)
        if look is not None and look.asked[WALL] <= one.index[WALL]:
            before.append(between(look.asked, one.index))
            after.append(between(one.collated, look.got))
    pin = _served(after) if seen.pins else 0.0
    pin_cpu = pin - blocked(after) if seen.pins else 0.0
    rest = max(0.0, seen.consumer_cpu_ns - cpu_in_stages - pin_cpu) if after else 0.0
    return rest + blocked(before) + (0.0 if seen.pins else blocked(after)), 0.0, pin


@dataclass(frozen=True, slots=True)
class Pace:
    """How many nanoseconds per batch each part of a loader needs at least, and the stages that this goes into.

    The parts run beside each other, and the slowest sets the pace; ``startup``, an epoch's start spread over its
    batches, comes on top.
    """

    parts: Mapping[str, float]
    stages: Mapping[str, Mapping[Stage, float]] = field(default_factory=dict)
    startup: float = 0.0

    @property
    def slowest(self) -> str:
        """The part that needs the most; empty where none needs any."""
        part = max(self.parts, key=lambda name: self.parts[name], default="")
        return part if part and self.parts[part] > 0 else ""

    @property
    def period(self) -> float:
        """Time that passes per batch."""
        return self.parts.get(self.slowest, 0.0) + self.startup

    @property
    def passing(self) -> dict[Stage, float]:
        """What of that time each stage takes. What runs beside the slowest part takes none."""
        stages = self.stages.get(self.slowest, {})
        scale = self.parts.get(self.slowest, 0.0) / (sum(stages.values()) or 1.0)
        return {**{stage: scale * cost for stage, cost in stages.items()}, "startup": self.startup}

    @property
    def bottleneck(self) -> Stage | None:
        """The stage that most of the time goes into."""
        passing = self.passing
        stage = max(passing, key=lambda stage: passing[stage])
        return stage if passing[stage] > 0 else None


def pace(
    cost: Costs,
    *,
    workers: int,
    cpus: float,
    own_cpu_ns: float,
    step_ns: float,
    slowest: Costs,
    startup_ns: float,
) -> Pace:
    """What each part allows. ``own_cpu_ns`` is all CPU time of a batch, 0 where no window was whole;
    ``slowest`` is what the worker that holds the others up takes, ``startup_ns`` an epoch's start spread over
    its batches.
    """
    here: dict[Stage, float] = {"receive": cost.receive_here, "consumer": step_ns}
    if not workers:
        together: dict[Stage, float] = {**_working(cost), **here, "pin": cost.pin}
        return Pace({"process": sum(together.values())}, {"process": together}, startup_ns)
    computing: dict[Stage, float] = {
        "fetch": cost.fetch,
        "collate": cost.collate - cost.collate_waiting,
        "send": cost.send,
        "receive": cost.receive - cost.handover,
    }
    parts = {
        "workers": slowest.work / workers,
        "cpus": max(own_cpu_ns, computing["fetch"] + computing["collate"]) / cpus,
        "main": cost.receive_here + step_ns,
        "pinning": cost.receive_aside + cost.pin,
    }
    aside: dict[Stage, float] = {"receive": cost.receive_aside, "pin": cost.pin}
    return Pace(parts, {"workers": _working(slowest), "cpus": computing, "main": here, "pinning": aside}, startup_ns)


def _working(cost: Costs) -> dict[Stage, float]:
    """What a worker's time goes into: what it reads and what it sends run beside each other."""
    longer: dict[Stage, float] = {"read": cost.read} if cost.read >= cost.send else {"send": cost.send}
    return {**longer, "fetch": cost.fetch, "collate": cost.collate}


def helpful_workers(cost: Costs, allowed: Pace, *, workers: int, most: int) -> int:
    """How many workers would make them no slower than the next slowest part; 0 where no more would help."""
    if allowed.slowest != "workers":
        return 0
    others = max(need for part, need in allowed.parts.items() if part != "workers")
    wanted = math.ceil(cost.work / others) if others > 0 else most
    return min(wanted, most) if wanted > workers and allowed.parts["workers"] > HELPS * others else 0
