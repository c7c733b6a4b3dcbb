"""Two loaders pulled from in turn, a few milliseconds each, and the ratio of what a sample costs in either.

In turn, because a machine changes more within a second than loaders differ; in this process, because passing
batches between processes costs each set of workers something else.
"""

from __future__ import annotations

import math
import random
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_dataloader.probe.timing.turns import WARM_UP_UNITS, fitted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_dataloader.probe.timing.turns import Taken, Turn

LEAST_PAIRS = 24
_BLOCKS = 24
_TRIM = 0.97
"""Units dearer than this share of them count as this dear: collections of garbage fall into any unit and made the
CPU time of tiny batches vary by 11 to 24 % between equal loaders."""
_RESAMPLES = 1000
_SURE = 3.1
"""Standard deviations. With a look every quarter of a second, 300 starts of 12 equal pairs never differed."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A few batches of one loader: nanoseconds, without the time that others held the CPU."""

    samples: int
    service_ns: float
    cpu_ns: float


@dataclass(frozen=True, slots=True)
class Pair:
    """A unit of either loader, one right after the other."""

    loader: Unit
    reference: Unit


@dataclass(frozen=True, slots=True)
class Ratio:
    """Cost of a sample in the loader over that in the reference: above 1 the loader is slower."""

    seen: float
    low: float
    high: float
    """95 % interval, by the bootstrap over blocks of consecutive pairs."""
    surely_above: float
    surely_below: float
    """Bounds that hold however often one looks."""


@dataclass(slots=True)
class Turns:
    """Pulls from two loaders in turn."""

    loader: Turn
    reference: Turn
    order: Callable[[], float] = random.Random(0).random
    batches: int = 1
    """Batches of either loader in a unit."""

    def begin(self) -> None:
        """Start both loaders, and learn how many batches make a unit. Raises EmptyEpoch."""
        for side in (self.loader, self.reference):
            side.begin()
        for _ in range(WARM_UP_UNITS):
            self.pair()

    def pair(self) -> Pair | None:
        """A unit of each, in random order; None where an epoch ended meanwhile."""
        swapped = self.order() < 0.5
        first, second = (self.reference, self.loader) if swapped else (self.loader, self.reference)
        units = [_unit(side.take(self.batches)) for side in (first, second)]
        if None in units:
            # Both start anew, so that they go through the same data while their samplers agree.
            first.begin()
            second.begin()
            return None
        one, other = (unit for unit in units if unit is not None)
        self.batches = fitted(self.batches, max(one.service_ns, other.service_ns))
        return Pair(other, one) if swapped else Pair(one, other)


def _unit(taken: Taken) -> Unit | None:
    if not taken.whole:
        return None
    worked = float(taken.cpu_ns)
    return Unit(taken.samples, max(worked, float(taken.wall_ns - taken.lost_ns), 1.0), worked)


def ratio(pairs: Sequence[Pair], *, cpu: bool = False) -> Ratio:
    """The ratio over all pairs, of service time or of CPU time alone."""
    costs = _costs([pair.loader for pair in pairs], cpu), _costs([pair.reference for pair in pairs], cpu)
    blocks = _blocks(*costs)
    seen = _quotient(blocks)
    draw = random.Random(0)
    again = sorted(_quotient(draw.choices(blocks, k=len(blocks))) for _ in range(_RESAMPLES))
    width = math.exp(min(700.0, _SURE * _error(blocks)))  # e to the power of more is no number
    least, most = _middle([_quotient(_blocks([ours], [theirs])) for ours, theirs in zip(*costs, strict=True)])
    return Ratio(
        seen, again[_RESAMPLES // 40], again[-_RESAMPLES // 40], min(seen / width, least), max(seen * width, most)
    )


def _middle(ratios: list[float]) -> tuple[float, float]:
    """Where the median of the ratios surely lies, by their order alone.

    The sums alone failed 1 of 240 equal loaders: one that copies memory, on 2 CPUs with 13 processes running.
    """
    away = _SURE * math.sqrt(len(ratios)) / 2
    ordered = sorted(ratios)
    low, high = math.floor(len(ratios) / 2 - away), math.ceil(len(ratios) / 2 + away)
    return ordered[low] if low >= 0 else 0.0, ordered[high] if high < len(ordered) else float("inf")


def per_sample_ns(units: Sequence[Unit]) -> float:
    """Service time of a sample."""
    costs = _costs(units, cpu=False)
    return sum(cost for cost, _ in costs) / sum(samples for _, samples in costs)


def _costs(units: Sequence[Unit], cpu: bool) -> list[tuple[float, int]]:
    """Cost and samples of each unit, the dearest trimmed."""
    each = [(unit.cpu_ns if cpu else unit.service_ns) / unit.samples for unit in units]
    most = sorted(each)[int(_TRIM * (len(each) - 1))]
    return [(min(cost, most) * unit.samples, unit.samples) for cost, unit in zip(each, units, strict=True)]


_Block = tuple[float, float, float, float]
"""Cost and samples of the loader, cost and samples of the reference."""


def _blocks(loader: list[tuple[float, int]], reference: list[tuple[float, int]]) -> list[_Block]:
    count = min(_BLOCKS, len(loader))
    found = []
    for block in range(count):
        part = slice(block * len(loader) // count, (block + 1) * len(loader) // count)
        found.append((*_sums(loader[part]), *_sums(reference[part])))
    return found


def _sums(costs: Sequence[tuple[float, int]]) -> tuple[float, float]:
    return sum(cost for cost, _ in costs), float(sum(samples for _, samples in costs))


def _quotient(blocks: Sequence[_Block]) -> float:
    cost, samples, reference_cost, reference_samples = (sum(block[part] for block in blocks) for part in range(4))
    return (cost / samples) / (reference_cost / reference_samples)


def _error(blocks: Sequence[_Block]) -> float:
    """Standard error of the logarithm of the quotient: of a quotient of sums, by linearisation."""
    count = len(blocks)
    if count < 2:
        return float("inf")
    means = [sum(block[part] for block in blocks) / count for part in range(4)]
    away = [block[0] / means[0] - block[1] / means[1] - block[2] / means[2] + block[3] / means[3] for block in blocks]
    return statistics.stdev(away) / math.sqrt(count)
