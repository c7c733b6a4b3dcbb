"""The evidence of the throughput check, and how it follows from what a meter saw."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_dataloader.claim import Claim
from pytest_dataloader.errors import NotMeasured
from pytest_dataloader.probe.host.clocks import cpus_allowed
from pytest_dataloader.probe.host.interference import QUIET, Quietness
from pytest_dataloader.probe.timing.windows import Window, cpu_ms_per_sample, join, quietness, rate

if TYPE_CHECKING:
    from pytest_dataloader.probe.loader.counting import CountedBy
    from pytest_dataloader.probe.timing.rate_meter import RateMeter


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
    step_ms: float = 0.0
    """What a consumer takes for a batch: as given, or to take the samples asked for; 0 where neither is known."""
    receive_ms_per_batch: float = 0.0
    """Of the consumer's own time: CPU time with workers, all of it without."""
    counted_by: CountedBy = "indices"
    """Which rule counted the samples: probe/loader/counting.py."""
    hung_seconds: float = 0.0
    """How long a batch was waited for before the loader was given up; 0 where all came."""
    quietness: Quietness = QUIET

    @property
    def stall(self) -> float:
        """Share of its time that a consumer of ``step_ms`` waits for batches, as the rates say.

        Raises NotMeasured where no step is known.
        """
        if not self.step_ms or not self.batches_per_second:
            raise NotMeasured("throughput.stall was not measured: give step_ms, the time of one training step")
        period = max(1e3 / self.batches_per_second, self.step_ms + self.receive_ms_per_batch)
        return 1 - self.step_ms / period


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


def throughput(meter: RateMeter, *, hung_seconds: float = 0.0) -> Throughput:
    """What a meter has seen so far."""
    cpus = cpus_allowed()
    speed = rate(meter.windows, workers=meter.workers, cpus=cpus)
    cost = cpu_ms_per_sample(meter.windows)
    whole = join(meter.windows)
    return Throughput(
        samples_per_second=speed.mean,
        interval=(speed.low, speed.high),
        best_samples_per_second=speed.best,
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
        persistent_workers=meter.borrowed.loader.persistent_workers,
        counted_by=meter.borrowed.counted_by,
        hung_seconds=hung_seconds,
        quietness=quietness(
            meter.windows, meter.speeds, workers=meter.workers, cpus=cpus, delays_known=meter.delays_known
        ),
    )


def claims_of(seen: Throughput, samples: float | None, batches: float | None, cpu_ms: float | None) -> list[Claim]:
    """What was seen, held against the limits that were set."""
    of_batches = seen.batches_per_second / seen.samples_per_second if seen.samples_per_second else 0.0
    # Where whole epochs were measured, no loader is faster than what it gave once its first batch was there.
    warm = 1.0 if seen.steady or not seen.workers else 1 / max(1e-9, 1 - seen.starting_share)
    claims = []
    for unit, allowed, scale in (("samples/s", samples, 1.0), ("batches/s", batches, of_batches)):
        if allowed is not None:
            low, high, best = (*seen.interval, seen.best_samples_per_second)
            seen_here = scale * seen.samples_per_second
            claims.append(Claim(unit, allowed, seen_here, scale * low, scale * high * warm, scale * best * warm))
    if cpu_ms is not None:
        cost = (seen.cpu_ms_per_sample, *seen.cpu_ms_interval, seen.best_cpu_ms_per_sample)
        claims.append(Claim("ms of CPU per sample", cpu_ms, *cost, floor=False))
    return claims
