"""The evidence of the throughput check, and how it follows from what a gauge saw."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_dataloader.probe.clocks import cpus_allowed
from pytest_dataloader.probe.quiet import QUIET, Quietness
from pytest_dataloader.probe.windows import cpu_ms_per_sample, join, quietness, rate

if TYPE_CHECKING:
    from pytest_dataloader.probe.gauge import Gauge
    from pytest_dataloader.probe.samples import CountedBy


@dataclass(frozen=True, slots=True)
class Throughput:
    """How fast a loader delivers once warm, without the neighbours; figures are 0 where nothing was measured."""

    samples_per_second: float = 0.0
    interval: tuple[float, float] = (0.0, 0.0)
    """95 % interval of samples_per_second."""
    best_samples_per_second: float = 0.0
    """In the best window."""
    wall_samples_per_second: float = 0.0
    """By the wall clock, neighbours included."""
    batches_per_second: float = 0.0
    cpu_ms_per_sample: float = 0.0
    """CPU time of the main process and of all workers."""
    cpu_ms_interval: tuple[float, float] = (0.0, 0.0)
    best_cpu_ms_per_sample: float = 0.0
    seconds_to_first_batch: float = 0.0
    seconds_to_restart: float = 0.0
    """Median time to the first batch of a later epoch; 0 where only one was begun."""
    starting_share: float = 0.0
    """Share of the measured time spent on starting epochs, where these are too short to get warm; else 0."""
    steady: bool = True
    """False where epochs were too short to get warm and whole ones were measured, their start included."""
    measured_seconds: float = 0.0
    windows: int = 0
    batches: int = 0
    samples: int = 0
    """Pulled in all, warm-up included."""
    epochs: int = 0
    workers: int = 0
    cpus: float = 1.0
    """CPUs that the process may use."""
    persistent_workers: bool = False
    counted_by: CountedBy = "indices"
    """Which rule counted the samples: probe/samples.py."""
    hung_seconds: float = 0.0
    """How long a batch was waited for before the loader was given up; 0 where all came."""
    quietness: Quietness = QUIET


def throughput(gauge: Gauge, *, hung_seconds: float = 0.0) -> Throughput:
    """What a gauge has seen so far."""
    cpus = cpus_allowed()
    speed = rate(gauge.windows, workers=gauge.workers, cpus=cpus)
    cost = cpu_ms_per_sample(gauge.windows)
    whole = join(gauge.windows)
    return Throughput(
        samples_per_second=speed.mean,
        interval=(speed.low, speed.high),
        best_samples_per_second=speed.best,
        wall_samples_per_second=whole.samples / max(1, whole.wall_ns) * 1e9,
        batches_per_second=speed.mean * whole.batches / whole.samples if whole.samples else 0.0,
        cpu_ms_per_sample=cost.mean,
        cpu_ms_interval=(cost.low, cost.high),
        best_cpu_ms_per_sample=cost.best,
        seconds_to_first_batch=gauge.seconds_to_first_batch,
        seconds_to_restart=statistics.median(gauge.restarts) if gauge.restarts else 0.0,
        starting_share=whole.starting_ns / max(1, whole.wall_ns),
        steady=gauge.steady,
        measured_seconds=whole.wall_ns / 1e9,
        windows=len(gauge.windows),
        batches=gauge.batches,
        samples=gauge.samples,
        epochs=gauge.epochs,
        workers=gauge.workers,
        cpus=cpus,
        persistent_workers=gauge.borrowed.loader.persistent_workers,
        counted_by=gauge.borrowed.counted_by,
        hung_seconds=hung_seconds,
        quietness=quietness(
            gauge.windows, gauge.speeds, workers=gauge.workers, cpus=cpus, delays_known=gauge.delays_known
        ),
    )
