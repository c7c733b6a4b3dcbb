"""Does a sample cost more CPU time than when somebody was content with it?"""

from __future__ import annotations

import dataclasses
import statistics
from typing import TYPE_CHECKING, Any

from pytest_dataloader.errors import EmptyEpoch
from pytest_dataloader.probe.loader.borrowing import borrow
from pytest_dataloader.probe.timing.cost import LEAST_UNITS, Cost, measure_cost
from pytest_dataloader.probe.timing.evidence import Baseline
from pytest_dataloader.quantities import counted, figure
from pytest_dataloader.verdict import Advice, Verdict

if TYPE_CHECKING:
    from pytest_dataloader.checks import Setting
    from pytest_dataloader.probe.timing.evidence import BaselineEntry, Platform
    from pytest_dataloader.settings.limits import Share

NEEDS_BENCH = True

TOLERANCE = 0.15
_HOPELESS = 1.5
"""A loader that would miss the tolerance this many times cheaper fails on a busy machine too. On 2 CPUs with up to 12
running processes, 650 pairs of equal runs cost up to 1.55 times what they cost before by every measure (copies of a
megabyte; 1.26 for the other kinds), so that this leaves room (benchmarks/baseline_power.py)."""

_MEANT = Advice("", "pytest --dataloader-update-baseline, if this cost is accepted")


def measure(
    loader: Any,
    *,
    setting: Setting,
    place: Platform | None = None,
    known: BaselineEntry | None = None,
    incomparable: str = "",
    recorded: bool = False,
) -> Baseline:
    """Cost a copy of the loader for ``setting.seconds``; raises BadTarget for what is no loader."""
    workers = loader.num_workers
    with borrow(loader, in_process=True) as borrowed:
        try:
            cost = measure_cost(borrowed, setting.seconds, lambda spent: setting.progress("costing samples", spent))
        except EmptyEpoch:
            return Baseline(Cost(), place, num_workers=workers, empty=True)
    seen = Baseline(cost, place, known, incomparable, workers, recorded and cost.units >= LEAST_UNITS)
    return compare_with_baseline(seen)


def compare_with_baseline(seen: Baseline) -> Baseline:
    """The evidence with its ratios, where there is something to compare with; pure."""
    if seen.known is None or not seen.cost.units:
        return seen
    ratios = sorted(_ratios(seen.cost, seen.known))
    return dataclasses.replace(seen, ratio=statistics.median(ratios), ratio_low=ratios[0], ratio_high=ratios[-1])


def _ratios(cost: Cost, known: BaselineEntry) -> list[float]:
    """What a sample would cost by each kernel, over what it did, where the CPU is as fast and the waits are as long.

    Waits are of the disk and the network: they are no more comparable between machines than CPUs of two models, so they
    only tell how much the CPU time matters.
    """
    speeds = [1.0] + [
        cost.kernel_ms[name] / known.kernel_ms[name] for name in known.kernel_ms if name in cost.kernel_ms
    ]
    before = known.cpu_ms_per_sample + known.wait_ms_per_sample
    return [(cost.cpu_ms_per_sample / speed + known.wait_ms_per_sample) / before for speed in speeds]


def judge(evidence: Baseline, *, tolerance: Share | None = None) -> Verdict:
    """Failed only where every way to compare says that more than ``tolerance`` was added, on a quiet machine."""
    share, cost = TOLERANCE if tolerance is None else tolerance, evidence.cost
    if evidence.empty:
        return Verdict("not_measured", "the loader gave no batch: its epoch is empty")
    if cost.units < LEAST_UNITS:
        seconds = f"{cost.measured_seconds:.0f} s"
        return Verdict("inconclusive", f"{counted(cost.units, 'measurement')} in {seconds}: too few for a cost")
    now = f"{figure(cost.cpu_ms_per_sample)} ms of CPU per sample"
    if evidence.recorded and evidence.known is None:
        return Verdict("passed", f"{now}, recorded")
    if evidence.known is None:
        return Verdict("not_measured", f"{now}, not compared\n{evidence.incomparable}")
    seen = (
        f"{evidence.ratio:.2f} times the baseline, limit {1 + share:.2f} times\n"
        f"{now}, {evidence.ratio_low:.2f} to {evidence.ratio_high:.2f} times by calibration kernel"
    )
    if evidence.recorded:
        return Verdict("passed", f"{seen}\nrecorded")
    disturbances = cost.quietness.disturbances
    if evidence.ratio_low > (1 + share) * (_HOPELESS if disturbances else 1.0):
        return Verdict("failed", seen, (_MEANT,))
    if evidence.ratio_low > 1 + share:
        return Verdict("inconclusive", f"{seen}\nthe machine was too busy to say: {', '.join(disturbances)}")
    if evidence.ratio > 1 + share:
        return Verdict("inconclusive", f"{seen}\nthe calibration kernels disagree")
    return Verdict("passed", seen)
