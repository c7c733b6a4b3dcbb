"""Does a loader cost more per sample than a reference, by more than is tolerated?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_dataloader.errors import EmptyEpoch
from pytest_dataloader.probe.host import clocks
from pytest_dataloader.probe.loader.borrowing import borrow
from pytest_dataloader.probe.timing import pairs
from pytest_dataloader.probe.timing.evidence import Comparison
from pytest_dataloader.probe.timing.pairs import Pair, Turns
from pytest_dataloader.probe.timing.turns import Turn
from pytest_dataloader.quantities import counted, figure
from pytest_dataloader.verdict import Verdict

if TYPE_CHECKING:
    from pytest_dataloader.checks import Setting
    from pytest_dataloader.settings.limits import Share

NEEDS_BENCH = True

_TOLERANCE = 0.15
_LOOK_NS = 250_000_000
"""Between two looks at whether the answer is certain."""
_TIMEOUT_SECONDS = 6.0
"""Where the budget gave too few pairs, up to this many times the budget is spent."""


def measure(loader: Any, reference: Any, *, setting: Setting, tolerance: float | None = None) -> Comparison:
    """Pull from copies of both in turn until the answer is certain, or ``setting.seconds`` are spent.

    Raises BadTarget for what is no loader, NotMeasured for one to be used once.
    """
    allowed = 1 + (_TOLERANCE if tolerance is None else tolerance)
    with borrow(loader, in_process=True) as ours, borrow(reference, in_process=True) as theirs:
        turns = Turns(Turn(ours), Turn(theirs))
        try:
            turns.begin()
        except EmptyEpoch:
            return Comparison(empty=True)
        seen: list[Pair] = []
        started = look = clocks.wall_ns()
        while True:
            pair = turns.pair()
            seen += [pair] if pair is not None else []
            now = clocks.wall_ns()
            spent = (now - started) / 1e9 / setting.seconds
            setting.progress("comparing", spent)
            if spent >= (1.0 if len(seen) >= pairs.LEAST_PAIRS else _TIMEOUT_SECONDS):
                break
            if now - look >= _LOOK_NS and len(seen) >= pairs.LEAST_PAIRS:
                look = now
                found = pairs.ratio(seen)
                if found.surely_below <= allowed or found.surely_above > allowed:
                    break
    return _comparison(seen, (clocks.wall_ns() - started) / 1e9)


def _comparison(seen: list[Pair], seconds: float) -> Comparison:
    if not seen:
        return Comparison(measured_seconds=seconds)
    found = pairs.ratio(seen)
    return Comparison(
        ratio=found.seen,
        interval=(found.low, found.high),
        certain=(found.surely_above, found.surely_below),
        cpu_ratio=pairs.ratio(seen, cpu=True).seen,
        ms_per_sample=pairs.per_sample_ns([pair.loader for pair in seen]) / 1e6,
        reference_ms_per_sample=pairs.per_sample_ns([pair.reference for pair in seen]) / 1e6,
        pairs=len(seen),
        measured_seconds=seconds,
    )


def judge(evidence: Comparison, *, tolerance: Share | None = None) -> Verdict:
    """Failed only where the loader is certainly slower than the reference by more than ``tolerance``."""
    share = _TOLERANCE if tolerance is None else tolerance
    if evidence.empty:
        return Verdict("not_measured", "one of the two loaders gave no batch: its epoch is empty", vacuous=True)
    if evidence.pairs < pairs.LEAST_PAIRS:
        seconds = f"{evidence.measured_seconds:.0f} s"
        return Verdict(
            "inconclusive", f"{counted(evidence.pairs, 'measurement')} of each loader in {seconds}: too few to compare"
        )
    low, high = (f"{each:.3f}" for each in evidence.interval)
    cost = f"{figure(evidence.ms_per_sample)} ms per sample, reference {figure(evidence.reference_ms_per_sample)} ms"
    reason = f"{evidence.ratio:.3f} times the reference (95 % CI {low} to {high}), limit {1 + share:.2f} times\n{cost}"
    surely_above, surely_below = evidence.certain
    if surely_above > 1 + share:
        return Verdict("failed", reason)
    if surely_below <= 1 + share:
        return Verdict("passed", reason)
    return Verdict("inconclusive", f"{reason}\ntoo close to call in {evidence.measured_seconds:.0f} s")
