"""How fast a loader would be under other settings, from one profile of it; pure."""

from __future__ import annotations

import dataclasses
import heapq
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_dataloader.probe.loader.settings import LoaderSettings

_NORM = 6.0
"""Close bottlenecks hurt each other: the period is this norm of them."""
_SIMULATED = 240
"""Batches; the first third fills the pipeline and does not count."""


@dataclass(frozen=True, slots=True)
class Profile:
    """What a batch costs; seconds, without the neighbours."""

    batch_seconds: tuple[float, ...]
    """Of one batch after the other, without workers, but for drawing its indices."""
    waiting_seconds: float
    """Mean of the part that is not CPU time."""
    sampler_seconds: float
    """Drawing the indices of a batch, which the main process does whatever the workers."""
    sampler_waiting_seconds: float
    """The part of that that is not CPU time."""
    samples_per_batch: float
    worker_seconds: float
    """A batch in the only worker: its own time, and what passing it on adds."""
    worker_cpu_seconds: float
    main_cpu_seconds: float
    """Receiving a batch, and drawing the indices of another."""
    start_seconds: float
    """To start one worker, to its first batch."""
    cpus: float
    """That the process may use."""
    crowding: float
    """How many times more CPU time work takes when all of them are busy."""
    batches: int | None
    """Of an epoch; None where the loader does not say."""

    @property
    def making_seconds(self) -> float:
        """A batch without workers, once its indices are drawn."""
        return sum(self.batch_seconds) / len(self.batch_seconds)

    @property
    def alone_seconds(self) -> float:
        """A batch without workers."""
        return self.making_seconds + self.sampler_seconds

    @property
    def main_seconds(self) -> float:
        """What a batch takes of the main process, whatever the workers."""
        return self.main_cpu_seconds + self.sampler_waiting_seconds


def period(profile: Profile, settings: LoaderSettings) -> float:
    """Seconds per batch once warm, of a consumer that takes batches as fast as they come.

    The workers share their time, the main process receives one batch after the other and draws the indices of those to
    come, and all share the CPUs.
    """
    if not settings.num_workers:
        return profile.alone_seconds
    cpu = profile.worker_cpu_seconds + profile.main_cpu_seconds
    full = cpu * profile.crowding / profile.cpus
    return _norm(simulate_workers(profile, settings), full)


def simulate_workers(profile: Profile, settings: LoaderSettings) -> float:
    """Seconds per batch of workers that are kept busy as torch does it, with the variation of the profile.

    In order, batch i goes to worker i mod N, and only once batch i - N x prefetch_factor was handed out; out of order
    it goes to whoever is free.
    """
    scale = profile.worker_seconds / max(profile.making_seconds, 1e-9)
    times = [scale * each for each in profile.batch_seconds]
    handed = (_in_order if settings.in_order else _out_of_order)(
        [times[at % len(times)] for at in range(_SIMULATED)],
        settings.num_workers,
        settings.num_workers * settings.prefetch_factor,
        profile.main_seconds,
    )
    third = _SIMULATED // 3
    steady = (handed[-1] - handed[third]) / (_SIMULATED - 1 - third)
    return _norm(steady, profile.main_seconds)


def _in_order(times: Sequence[float], workers: int, most: int, receiving: float) -> list[float]:
    finished: list[float] = []
    handed: list[float] = []
    for at, time in enumerate(times):
        asked = handed[at - most] if at >= most else 0.0
        free = finished[at - workers] if at >= workers else 0.0
        finished.append(max(asked, free) + time)
        handed.append(max(finished[at], handed[-1] if handed else 0.0) + receiving)
    return handed


def _out_of_order(times: Sequence[float], workers: int, most: int, receiving: float) -> list[float]:
    free = [0.0] * workers
    done: list[float] = []
    handed: list[float] = []
    for at, time in enumerate(times):
        asked = handed[at - most] if at >= most else 0.0
        begun = max(asked, heapq.heappop(free))
        heapq.heappush(free, begun + time)
        heapq.heappush(done, begun + time)
        if at + 1 >= most:
            handed.append(max(heapq.heappop(done), handed[-1] if handed else 0.0) + receiving)
    while done:
        handed.append(max(heapq.heappop(done), handed[-1] if handed else 0.0) + receiving)
    return handed


def predicted_rate(
    profile: Profile, settings: LoaderSettings, batch_period: float | None = None, first: float | None = None
) -> float:
    """Samples per second over a later epoch, its start included; over an endless one where its length is unknown.

    ``batch_period`` and ``first``, the seconds to the first batch of new workers, are predicted where not given.
    """
    each = period(profile, settings) if batch_period is None else batch_period
    if not profile.batches or not settings.num_workers:
        return profile.samples_per_batch / each
    began = profile.worker_seconds
    if not settings.persistent_workers:
        # Workers start one after the other, and load beside each other.
        starting = max(0.0, profile.start_seconds - profile.worker_seconds)
        began = profile.worker_seconds + starting * settings.num_workers if first is None else first
    # Each worker makes one of the first batches, beside the others: no faster together than later on.
    first_batches = min(settings.num_workers, profile.batches)
    spent = max(began, first_batches * each) + (profile.batches - first_batches) * each
    return profile.batches * profile.samples_per_batch / spent


def batched(profile: Profile) -> Profile:
    """The best profile that the loader could have if its dataset had ``__getitems__``: a batch waits only once."""
    spared = 1 - 1 / max(1.0, profile.samples_per_batch)
    # Each wait costs CPU time as well, to fall asleep and to wake up; at best all of it.
    computing = profile.making_seconds - profile.waiting_seconds
    saved = profile.making_seconds * spared
    return dataclasses.replace(
        profile,
        batch_seconds=(profile.making_seconds - saved,),
        waiting_seconds=profile.waiting_seconds * (1 - spared),
        worker_seconds=profile.worker_seconds - saved,
        worker_cpu_seconds=max(profile.worker_cpu_seconds - computing * spared, 0.0),
        start_seconds=max(0.0, profile.start_seconds - saved),
    )


def _norm(*times: float) -> float:
    most = max(times)
    return most * math.fsum((time / most) ** _NORM for time in times) ** (1 / _NORM) if most > 0 else 0.0
