"""Stragglers: a worker whose batches take longer than the others', which wait for it where batches keep their order."""

from __future__ import annotations

import random
import statistics
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

STRAGGLES = 1.5
"""A worker whose batches take this many times as long as the others' holds them up."""
LEAST_BATCHES = 3
"""Of each worker, before one is called slower than the others."""
CHANCE = 0.01
"""Share of random deals of the same batches to the workers of which one would be as unlike the others."""
_DEALS = 2000
_MOST_BATCHES = 500
"""Of each worker, the last ones, are dealt."""


def straggler(took: Mapping[int, Sequence[float]]) -> tuple[int, float]:
    """The slowest worker, and how many times as long as the others' a batch of it takes.

    ``took`` has the times of each worker's batches. The typical batch decides, by the median; and where none is slow by
    that, the mean, if batches dealt to the workers at random are hardly ever so unlike (a permutation test): one slow
    file is no straggler, but each eighth batch is if the same worker always gets it.
    """
    if min(map(len, took.values()), default=0) < LEAST_BATCHES:
        return -1, 1.0
    slowest, factor = _slowest({worker: statistics.median(times) for worker, times in took.items()})
    if factor >= STRAGGLES or len(took) == 1:
        return slowest, factor
    by_mean, times_as_long = _slowest({worker: statistics.fmean(times) for worker, times in took.items()})
    if times_as_long >= STRAGGLES and _chance(took) <= CHANCE:
        return by_mean, times_as_long
    return slowest, factor


def _slowest(typical: Mapping[int, float]) -> tuple[int, float]:
    slowest = max(typical, key=lambda worker: typical[worker])
    others = [time for worker, time in typical.items() if worker != slowest]
    return slowest, typical[slowest] / max(1.0, statistics.median(others)) if others else 1.0


def _chance(took: Mapping[int, Sequence[float]]) -> float:
    """Share of random deals in which the slowest worker's mean is at least what it is."""
    hands = [list(times)[-_MOST_BATCHES:] for times in took.values()]
    slowest = max(statistics.fmean(times) for times in hands)
    pool = [time for times in hands for time in times]
    dealer, as_slow = random.Random(0), 0
    for _ in range(_DEALS):
        dealer.shuffle(pool)
        begin, means = 0, []
        for times in hands:
            means.append(statistics.fmean(pool[begin : begin + len(times)]))
            begin += len(times)
        as_slow += max(means) >= slowest
    return as_slow / _DEALS
