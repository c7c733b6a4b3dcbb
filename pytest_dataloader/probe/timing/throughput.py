"""The evidence of the throughput check, from what a rate meter saw."""

from __future__ import annotations

import statistics
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_dataloader.probe.host.clocks import cpus_allowed
from pytest_dataloader.probe.timing.evidence import Throughput
from pytest_dataloader.probe.timing.windows import (
    Window,
    cpu_ms_per_sample,
    join,
    measured_rate,
    quietness_of_windows,
    window_rates,
)

if TYPE_CHECKING:
    from pytest_dataloader.probe.timing.rate_meter import RateMeter


def _receive_ms(whole: Window, ms_per_sample: float, workers: int) -> float:
    if workers:
        return whole.consumer_cpu_ns / 1e6 / whole.handed if whole.handed else 0.0
    return ms_per_sample * whole.samples / whole.batches if whole.batches else 0.0


def step_of(
    seen: Throughput, step_ms: float | None, samples_per_second: float | None, batches_per_second: float | None
) -> Throughput:
    """The same with the step of its consumer: as given, else of one that takes as much as is asked for."""
    per_batch = seen.samples_per_second / seen.batches_per_second if seen.batches_per_second else 0.0
    asked = 1e3 / batches_per_second if batches_per_second else 0.0
    asked = 1e3 * per_batch / samples_per_second if samples_per_second else asked
    return replace(seen, step_ms=step_ms or asked)


def throughput(meter: RateMeter, *, hung_seconds: float = 0.0, at_work: bool = False) -> Throughput:
    """What a meter has seen so far."""
    cpus = cpus_allowed()
    machine = quietness_of_windows(
        meter.windows, meter.speeds, workers=meter.workers, cpus=cpus, delays_known=meter.delays_known
    )
    speed = measured_rate(meter.windows, workers=meter.workers, cpus=cpus, machine=machine)
    cost = cpu_ms_per_sample(meter.windows)
    whole = join(meter.windows)
    return Throughput(
        samples_per_second=speed.mean,
        interval=(speed.low, speed.high),
        best_samples_per_second=speed.best,
        window_samples_per_second=tuple(window_rates(meter.windows, workers=meter.workers, cpus=cpus)),
        wall_samples_per_second=whole.samples / max(1, whole.wall_ns) * 1e9,
        batches_per_second=speed.mean * whole.batches / whole.samples if whole.samples else 0.0,
        cpu_ms_per_sample=cost.mean,
        cpu_ms_interval=(cost.low, cost.high),
        best_cpu_ms_per_sample=cost.best,
        seconds_to_first_batch=meter.seconds_to_first_batch,
        seconds_to_restart=statistics.median(meter.restarts) if meter.restarts else 0.0,
        starting_share=whole.starting_ns / max(1, whole.wall_ns),
        steady=meter.steady,
        measured_seconds=whole.wall_ns / 1e9,
        windows=len(meter.windows),
        batches=meter.batches,
        samples=meter.samples,
        epochs=meter.epochs,
        workers=meter.workers,
        cpus=cpus,
        receive_ms_per_batch=_receive_ms(whole, 1e3 / speed.mean if speed.mean else 0.0, meter.workers),
        persistent_workers=meter.borrowed.persistent_workers,
        counted_by=meter.borrowed.counted_by,
        hung_seconds=hung_seconds,
        at_work=at_work,
        quietness=machine,
    )
