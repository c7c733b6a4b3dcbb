"""A measured figure held against a limit; pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pytest_dataloader.quantities import figure, percent
from pytest_dataloader.verdict import Advice, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

LimitOutcome = Literal["kept", "missed", "close"]


@dataclass(frozen=True, slots=True)
class LimitTest:
    """What was seen of a figure, and what was allowed: a floor where more is better, else a ceiling."""

    unit: str
    allowed: float
    seen: float
    low: float
    high: float
    best: float
    """In the best stretch: neighbours only ever make a loader slower."""
    floor: bool = True
    words: str = ""
    """What was seen and allowed, where the figures of the test are not those that the user gave."""

    def outcome(self, margin: float, best: float = 1.0) -> LimitOutcome:
        """Kept where what was seen reaches the limit; missed where even the end of the interval, ``margin`` times
        better (1.1 is 10 %), and the best stretch, ``best`` times better, do not; close otherwise.
        """
        if self.seen <= 0:
            return "close"
        if self.floor:
            missed = max(self.best * best, self.high * margin) < self.allowed
            return "kept" if self.seen >= self.allowed else "missed" if missed else "close"
        missed = min(self.best / best, self.low / margin) > self.allowed
        return "kept" if self.seen <= self.allowed else "missed" if missed else "close"

    @property
    def certain(self) -> bool:
        """Whether the whole interval keeps the limit."""
        return 0 < self.allowed <= self.low if self.floor else 0 < self.high <= self.allowed

    @property
    def sentence(self) -> str:
        """What was seen and allowed.

        >>> LimitTest("samples/s", 1000, 912.4, 899, 925.2, 930).sentence
        '912 samples/s (95 % CI 899 to 925), limit: at least 1,000'
        """
        if self.words:
            return self.words
        bound = "at least" if self.floor else "at most"
        interval = f"(95 % CI {figure(self.low)} to {figure(self.high)})"
        return f"{figure(self.seen)} {self.unit} {interval}, limit: {bound} {figure(self.allowed)}"


def missed_by_factor(tests: Sequence[LimitTest], times: float) -> list[LimitTest]:
    """The tests whose limits a loader would miss even if it were so many times better."""
    return [test for test in tests if test.outcome(times, best=times) == "missed"]


def judge_limit_tests(
    tests: Sequence[LimitTest],
    *,
    margin: float,
    hopeless: float,
    disturbances: Sequence[str],
    quiet: str,
    close: str = "",
    advice: Sequence[Advice] = (),
) -> Verdict:
    """Passed where every limit is kept, failed where one is missed on a quiet machine, otherwise inconclusive.

    A limit that would be missed ``hopeless`` times better fails on any machine. ``disturbances`` says what the
    neighbours did, ``quiet`` why the machine counts as quiet, ``close`` what else may explain a limit that is neither
    kept nor clearly missed. ``advice`` is for loaders that miss.
    """
    outcomes = [test.outcome(margin) for test in tests]
    if all(outcome == "kept" for outcome in outcomes):
        busy = [f"the machine was busy: {', '.join(disturbances)}"] if disturbances else []
        return Verdict("passed", "\n".join([*(test.sentence for test in tests), *busy]))
    short = "\n".join(test.sentence for test, outcome in zip(tests, outcomes, strict=True) if outcome != "kept")
    lost = [test.sentence for test in missed_by_factor(tests, hopeless)]
    if disturbances and lost:
        even = f"the machine was busy ({', '.join(disturbances)}), but {figure(hopeless)} times better would still miss"
        return Verdict("failed", "\n".join([*lost, even]), tuple(advice))
    if disturbances:
        return Verdict(
            "inconclusive", f"{short}\nthe machine was too busy to say: {', '.join(disturbances)}", tuple(advice)
        )
    if "missed" in outcomes:
        return Verdict("failed", f"{short}\nthe machine was quiet: {quiet}", tuple(advice))
    why = close or f"too close to call: it fails once it certainly misses by {percent(margin - 1)}"
    return Verdict("inconclusive", f"{short}\n{why}", tuple(advice))
