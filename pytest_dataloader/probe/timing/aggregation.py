"""The evidence of the stages check, from what an instrumented run gathered."""

from __future__ import annotations

import dataclasses
import statistics
from typing import TYPE_CHECKING

from pytest_dataloader.probe.host.clocks import cpus_allowed
from pytest_dataloader.probe.internals.envelopes import DELAY, WALL, between
from pytest_dataloader.probe.timing import bottleneck
from pytest_dataloader.probe.timing.evidence import STAGES, WORKER_STAGES, Stages, WorkerStages
from pytest_dataloader.probe.timing.instrumented_run import BRIEF_NS
from pytest_dataloader.probe.timing.stage_costs import (
    Costs,
    Pace,
    RunRecord,
    blocked,
    costs,
    helpful_workers,
    pace,
    warm,
)
from pytest_dataloader.probe.timing.stall import Stall, Waits, stall
from pytest_dataloader.probe.timing.stragglers import STRAGGLES, straggler
from pytest_dataloader.probe.timing.windows import half_width, join, measured_rate, quietness_of_windows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_dataloader.probe.internals.envelopes import BatchStamps
    from pytest_dataloader.probe.timing.instrumented_run import EpochStart, InstrumentedLoader
    from pytest_dataloader.probe.timing.rate_meter import RateMeter

_MOST_WORKERS = 4
"""Times as many workers as there are, at most, are said to help: what holds with more is not known."""


def aggregate(
    instrumented: InstrumentedLoader,
    meter: RateMeter,
    *,
    tolerated: float | None = None,
    hung_seconds: float = 0.0,
    at_work: bool = False,
) -> Stages:
    """What the run of an instrumented loader says so far; ``tolerated`` as for ``stall``."""
    seen = RunRecord(
        batch_stamps=tuple(instrumented.stamp_log.batch_stamps),
        handouts=tuple(instrumented.handouts),
        starts=tuple(instrumented.starts),
        ending_ns=dict(instrumented.ending_ns),
        workers=meter.workers,
        consumer_cpu_ns=instrumented.pulling_cpu_ns / max(1, instrumented.pulled),
        pins=instrumented.pins,
    )
    per_batch = meter.samples / meter.batches if meter.batches else 0.0
    found = Stages(
        seconds_to_first_batch=meter.seconds_to_first_batch,
        samples_per_batch=per_batch,
        tensors_per_batch=instrumented.tensors,
        tensor_bytes_per_batch=instrumented.tensor_bytes,
        shared_bytes_per_batch=instrumented.weight.shared_bytes,
        piped_bytes_per_batch=instrumented.weight.piped_bytes,
        array_bytes_per_batch=instrumented.weight.array_bytes,
        eight_bit_fields=instrumented.eight_bit_fields,
        batches=meter.batches,
        stamped_batches=len(seen.batch_stamps),
        epochs=meter.epochs,
        workers=meter.workers,
        cpus=cpus_allowed(),
        persistent_workers=bool(instrumented.loader.persistent_workers),
        pinned=instrumented.pins,
        measured_seconds=join(meter.windows).wall_ns / 1e9,
        hung_seconds=hung_seconds,
        at_work=at_work,
        quietness=quietness_of_windows(
            meter.windows, meter.speeds, workers=meter.workers, cpus=cpus_allowed(), delays_known=meter.delays_known
        ),
    )
    if not seen.batch_stamps or not per_batch:
        return found
    return _complete(found, seen, instrumented, meter, tolerated)


def _complete(
    found: Stages, seen: RunRecord, instrumented: InstrumentedLoader, meter: RateMeter, tolerated: float | None
) -> Stages:
    cost = costs(seen)
    ms = 1e-6 / found.samples_per_batch
    workers = _per_worker(seen, found.samples_per_batch)
    slowest, factor = _straggler(seen, in_order=instrumented.in_order)
    startup_ns, boundary_ns = _startup(seen, cost, persistent=found.persistent_workers)
    per_epoch = instrumented.batches_per_epoch
    begin_ns = startup_ns / per_epoch if per_epoch else 0.0
    held_up = [one for one in seen.batch_stamps if factor < STRAGGLES or one.worker == slowest]
    held_up_by = costs(seen, held_up)
    windows = join(meter.windows)
    allowed = pace(
        cost,
        workers=seen.workers,
        cpus=found.cpus,
        own_cpu_ns=windows.own_cpu_ns / windows.handed if windows.handed else 0.0,
        step_ns=instrumented.step_ns,
        slowest=held_up_by,
        startup_ns=begin_ns,
    )
    passing = allowed.passing
    waiting, behind = _waiting(seen, instrumented.step_ns)
    in_turn = [look.early for look in seen.handouts if look.number >= 0]
    complete = dataclasses.replace(
        found,
        bottleneck=allowed.bottleneck or "",
        ms_per_sample={stage: spent * ms for stage, spent in _spent(cost, instrumented.step_ns, begin_ns).items()},
        pace_ms_per_sample={stage: passing.get(stage, 0.0) * ms for stage in STAGES},
        limit_ms_per_sample=allowed.period * ms,
        limit_error=_error(_work(held_up)) if allowed.slowest == "workers" else 0.0,
        collate_waiting_ms_per_sample=cost.collate_waiting * ms,
        waiting_share_of_worker=max(0.0, cost.waiting) / max(1.0, cost.work),
        helpful_workers=0
        if factor >= STRAGGLES
        else helpful_workers(cost, allowed, workers=seen.workers, most=_MOST_WORKERS * seen.workers),
        samples_per_second=measured_rate(meter.windows, workers=meter.workers, cpus=found.cpus).mean,
        sampler_ms_per_sample=cost.sampler * ms,
        sampler_waiting_ms_per_sample=cost.sampler_waiting * ms,
        handover_ms_per_sample=cost.handover * ms,
        delay_ms_per_sample=cost.delay * ms,
        queue_wait_ms_per_batch=_queue_wait(seen) / 1e6,
        out_of_order_share=statistics.fmean(in_turn) if in_turn else 0.0,
        head_of_line_share=behind,
        waiting_share=waiting,
        worker_startup_seconds=max((one.startup_seconds for one in workers), default=0.0),
        startup_seconds=startup_ns / 1e9,
        epoch_boundary_seconds=boundary_ns / 1e9,
        per_worker=workers,
        slowest_worker=slowest,
        straggler_factor=factor,
        batches_per_epoch=per_epoch,
        simulated=_simulated(instrumented, meter, cost, allowed, tolerated),
    )
    return dataclasses.replace(complete, why=bottleneck.describe_bottleneck(complete, allowed.slowest))


def _spent(cost: Costs, step_ns: float, startup_ns: float) -> dict[str, float]:
    """Nanoseconds per batch, by stage."""
    own: dict[str, float] = {stage: getattr(cost, stage) for stage in (*WORKER_STAGES, "receive", "pin")}
    return {**own, "consumer": step_ns, "startup": startup_ns}


def _per_worker(seen: RunRecord, per_batch: float) -> tuple[WorkerStages, ...]:
    found = []
    for worker in range(seen.workers):
        own = [one for one in seen.batch_stamps if one.worker == worker]
        if not own:
            continue
        cost = costs(seen, own)
        idle = [max(0, one.index[WALL] - one.free_ns) for one in warm(own) if one.free_ns]
        busy = statistics.fmean(one.collated[WALL] - one.index[WALL] for one in warm(own))
        found.append(
            WorkerStages(
                worker=worker,
                batches=len(own),
                ms_per_batch=cost.work / 1e6,
                ms_per_sample={stage: getattr(cost, stage) / 1e6 / per_batch for stage in WORKER_STAGES},
                startup_seconds=_median(_worker_starts(seen, own)) / 1e9,
                idle_share=statistics.fmean(idle) / max(1.0, statistics.fmean(idle) + busy) if idle else 0.0,
            )
        )
    return tuple(found)


def _worker_starts(seen: RunRecord, own: Sequence[BatchStamps]) -> list[float]:
    """From asking for each epoch that started its workers to the first index in this one."""
    found: list[float] = []
    for start in seen.starts:
        first = min((one for one in own if one.batch_id.epoch == start.epoch), key=lambda one: one.made, default=None)
        if start.fresh and first is not None and first.made == 0:
            found.append(max(0, first.index[WALL] - start.asked_ns - first.index[DELAY]))
    return found


def _straggler(seen: RunRecord, *, in_order: bool) -> tuple[int, float]:
    """The slowest worker, and how many times as long as the others' a batch of it takes; 1 where none waits for it."""
    took = {worker: _work([one for one in seen.batch_stamps if one.worker == worker]) for worker in range(seen.workers)}
    slowest, factor = straggler(took)
    return slowest, factor if in_order else 1.0


def _work(batch_stamps: Sequence[BatchStamps]) -> list[float]:
    """What the workers spent on each batch, warm-up left out."""
    spent = (between(one.index, one.collated) for one in warm(batch_stamps))
    return [max(cpu, wall - delay) for wall, cpu, _, delay in spent]


def _error(times: Sequence[float]) -> float:
    """Half the 95 % interval of the mean, in shares of it; 0 for a single batch."""
    return half_width(times) / max(1.0, statistics.fmean(times)) if len(times) > 1 else 0.0


def _startup(seen: RunRecord, cost: Costs, *, persistent: bool) -> tuple[float, float]:
    """What starting an epoch costs beyond the work on its first batch, and the gap between two epochs.

    Where workers persist, or there are none, it is the start of a later epoch that counts.
    """
    ending = _median([float(spent) for spent in seen.ending_ns.values()])
    later = [start for start in seen.starts if not start.fresh]
    counted: Sequence[EpochStart] = later or ([] if persistent else seen.starts)
    beyond = [max(0.0, start.first_ns - start.asked_ns - cost.latency - _delay(seen, start)) for start in counted]
    followed = [start.first_ns - start.asked_ns for start in counted if start.epoch - 1 in seen.ending_ns]
    boundary = ending + _median([float(spent) for spent in followed]) if followed else 0.0
    return (_median(beyond) + ending if beyond else 0.0), boundary


def _delay(seen: RunRecord, start: EpochStart) -> int:
    """How long the main process, and the worker of the first batch since it was started, had waited for a CPU."""
    first = (
        one.index[DELAY] for one in seen.batch_stamps if one.batch_id.epoch == start.epoch and one.batch_id.number == 0
    )
    return start.delay_ns + (next(first, 0) if start.fresh and seen.workers else 0)


def _median(values: Sequence[float]) -> float:
    return statistics.median(values) if values else 0.0


def _waiting(seen: RunRecord, step_ns: float) -> tuple[float, float]:
    """Share of the time that the consumer waited for a batch, and share of these waits in which a later one lay ready.

    Without workers nobody waits: the consumer does the work.
    """
    if not seen.workers or not seen.handouts:
        return 0.0, 0.0
    own = blocked([between(one.unpacking, one.unpacked) for one in seen.batch_stamps if one.in_main_thread])
    waits = [max(0.0, look.blocked_ns - own) for look in seen.handouts]
    spent = sum(look.got[WALL] - look.asked[WALL] + step_ns for look in seen.handouts)
    behind = sum(wait for wait, look in zip(waits, seen.handouts, strict=True) if look.held)
    return sum(waits) / max(1.0, spent), behind / max(1.0, sum(waits))


def _queue_wait(seen: RunRecord) -> float:
    """From being written in the worker to being unpacked and handed out, without the unpacking."""
    got = {(look.epoch, look.number): look.got[WALL] for look in seen.handouts if look.number >= 0}
    waits = [
        max(0, got[place] - one.packed[WALL] - (one.unpacked[WALL] - one.unpacking[WALL]))
        for one in warm(seen.batch_stamps)
        if (place := (one.batch_id.epoch, one.batch_id.number)) in got
    ]
    return statistics.fmean(waits) if waits else 0.0


def _simulated(
    instrumented: InstrumentedLoader, meter: RateMeter, cost: Costs, allowed: Pace, tolerated: float | None
) -> Stall | None:
    if not instrumented.step_ns:
        return None
    beside = [value for part, value in allowed.parts.items() if part in ("workers", "cpus", "pinning")]
    asked = [between(look.asked, look.got)[WALL] for look in instrumented.handouts]
    return stall(
        Waits(
            step_ns=instrumented.step_ns,
            windows=meter.windows,
            wall_share=instrumented.wall_waited_ns
            / max(1, instrumented.wall_waited_ns + instrumented.waits * instrumented.step_ns),
            waiting_steps=statistics.fmean(wait > 2 * cost.receive + BRIEF_NS for wait in asked) if asked else 0.0,
            workers=meter.workers,
            cpus=cpus_allowed(),
            capacity_ns=max(beside, default=0.0),
            receive_ns=cost.receive_here if meter.workers else cost.latency,
            making_ns=max(allowed.parts.get("workers", 0.0), allowed.parts.get("pinning", 0.0)),
        ),
        tolerated,
    )
