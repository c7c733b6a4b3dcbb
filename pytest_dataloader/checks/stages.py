"""Where does the time of a loader go, which stage sets the pace, and would a training step wait for it?"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_dataloader.advice import stages as sentences
from pytest_dataloader.advice.hang import hung
from pytest_dataloader.limit_tests import LimitTest, judge_limit_tests, missed_by_factor
from pytest_dataloader.probe.loader.borrowing import borrow_as
from pytest_dataloader.probe.timing.aggregation import aggregate
from pytest_dataloader.probe.timing.follow_up import follow_up, suspects
from pytest_dataloader.probe.timing.instrumented_run import InstrumentedLoader
from pytest_dataloader.probe.timing.rate_meter import RateMeter
from pytest_dataloader.probe.timing.sequential import (
    CLEAR_WINDOWS,
    FAIL_SHARE,
    MARGIN,
    MARGIN_WITH_WORKERS,
    hopeless,
    measure_until_decided,
)
from pytest_dataloader.probe.timing.sequential import WAIT_SECONDS as _WAIT_SECONDS
from pytest_dataloader.probe.timing.timeline import timeline
from pytest_dataloader.probe.timing.training_step import step_at
from pytest_dataloader.probe.tuning.changes import try_changes
from pytest_dataloader.quantities import percent
from pytest_dataloader.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pytest_dataloader.checks import Setting
    from pytest_dataloader.probe.timing.evidence import Stages
    from pytest_dataloader.settings.limits import Milliseconds, Share, Step

NEEDS_BENCH = True

_FOLLOW_UP_SHARE = 0.2
"""Share of the budget that goes into single samples, and as much into a run without workers where these cost much."""


def contradiction(limits: Mapping[str, Any]) -> str:
    """A limit on waiting says nothing without a step that waits."""
    if "step" in limits and "step_ms" in limits:
        return "step and step_ms are two ways to say the same: leave one out"
    alone = "max_stall" in limits and "step_ms" not in limits and "step" not in limits
    return "max_stall needs step_ms, the time of one training step in milliseconds, or step" if alone else ""


def measure(
    loader: Any,
    *,
    setting: Setting,
    step_ms: float | None = None,
    step: str | Callable[[Any], object] | None = None,
    max_stall: float | None = None,
) -> Stages:
    """Pull from a copy of the loader with clocks on its batches for ``setting.seconds``, or until ``max_stall`` is
    clearly kept or missed; with ``step_ms`` each batch is followed by a step of so long, with ``step`` by a real one.

    The user's errors come out as they are; raises BadTarget for what is no loader, NotMeasured for one to be used once.
    """
    make = functools.partial(InstrumentedLoader, step_ms=step_ms, step=step_at(step), traced=setting.traced)
    seen, doubtful = _run(loader, setting, make, step_ms, max_stall)
    if seen.hung_seconds or not seen.bottleneck:
        return seen
    setting.progress("reading single samples", 1.0)
    seen = follow_up(loader, seen, doubtful, seconds=min(1.0, _FOLLOW_UP_SHARE * setting.seconds))
    if setting.quick:
        return seen
    tried = try_changes(
        loader, seen, seconds=setting.seconds, came=lambda what: setting.progress(f"trying {what}", 1.0)
    )
    return replace(seen, tried=tried)


def _run(
    loader: Any,
    setting: Setting,
    make: Callable[[Any], InstrumentedLoader],
    step_ms: float | None,
    max_stall: float | None,
) -> tuple[Stages, list[Any]]:
    """The evidence of a run, and the indices of batches that were waited for longer than for others, longest first."""
    wait = max(_WAIT_SECONDS, 12 * setting.seconds, 12 * (step_ms or 0) / 1e3)
    limits: dict[str, Any] = {"step_ms": step_ms, "max_stall": max_stall}
    with borrow_as(make, loader) as instrumented:
        meter = RateMeter(instrumented, setting.seconds)

        def seen() -> Stages:
            return aggregate(instrumented, meter, tolerated=max_stall)

        def whole(found: Stages) -> tuple[Stages, list[Any]]:
            return replace(found, timeline=timeline(instrumented)), suspects(instrumented)

        way = measure_until_decided(
            meter,
            seconds=setting.seconds,
            wait=wait,
            progress=setting.progress,
            clear=lambda spent: max_stall is not None and _clear(seen(), spent, limits),
            narrow=lambda: _fails_narrowly(seen(), limits),
        )
        if way == "measured":
            return whole(seen())
        return whole(aggregate(instrumented, meter, tolerated=max_stall, hung_seconds=wait, at_work=way == "unclear"))


def _clear(seen: Stages, spent: float, limits: dict[str, Any]) -> bool:
    """Whether measuring longer would change nothing."""
    tests = _limit_tests(seen, limits["max_stall"])
    kept = len(tests) > 0 and all(test.certain for test in tests)
    windows = seen.simulated.windows if seen.simulated is not None else 0
    return (kept and windows >= CLEAR_WINDOWS) or (spent >= FAIL_SHARE and judge(seen, **limits).outcome == "failed")


def _fails_narrowly(seen: Stages, limits: dict[str, Any]) -> bool:
    """Whether it fails, but by no more than what neighbours can do."""
    tests = _limit_tests(seen, limits["max_stall"])
    return (
        bool(tests)
        and not missed_by_factor(tests, hopeless(seen.quietness))
        and judge(seen, **limits).outcome == "failed"
    )


def _limit_tests(seen: Stages, max_stall: float | None) -> list[LimitTest]:
    """The limit as a test of the time from batch to batch: it is what neighbours stretch, and by what factor."""
    if max_stall is None or seen.simulated is None:
        return []
    stall = seen.simulated
    low, high = (stall.period_ms(share) for share in stall.interval)
    allowed, best = stall.period_ms(max_stall), stall.period_ms(stall.best)
    words = f"{sentences.waiting(stall)}, limit {percent(max_stall)}\n{sentences.keeping_up(stall)}"
    return [LimitTest("ms per step", allowed, stall.period_ms(stall.share), low, high, best, floor=False, words=words)]


def judge(
    evidence: Stages,
    *,
    step_ms: Milliseconds | None = None,
    step: Step | None = None,
    max_stall: Share | None = None,
) -> Verdict:
    """Name the bottleneck, and hold the waiting of a step to its limit: one-sided, never failed on a busy machine."""
    if evidence.hung_seconds:
        return hung(evidence.batches, evidence.hung_seconds, at_work=evidence.at_work)
    if not evidence.batches:
        reason = "the loader gave no batch: its epoch is empty"
        return Verdict("failed", reason) if max_stall is not None else Verdict("not_measured", reason, vacuous=True)
    if not evidence.bottleneck:
        return Verdict(
            "not_measured",
            f"no clock saw a batch of it: {evidence.batches:,} came past torch's iterators",
            vacuous=True,
        )
    advice = sentences.advice(evidence)
    tests = _limit_tests(evidence, max_stall)
    if not tests:
        stall = evidence.simulated
        waits = ""
        if (step_ms is not None or step is not None) and stall is not None:
            waits = f"\n{sentences.waiting(stall)}\n{sentences.keeping_up(stall)}"
        return Verdict("passed", f"{evidence.why}{waits}", advice)
    verdict = judge_limit_tests(
        tests,
        margin=MARGIN_WITH_WORKERS if evidence.workers else MARGIN,
        hopeless=hopeless(evidence.quietness),
        disturbances=evidence.quietness.disturbances,
        quiet=f"{percent(evidence.quietness.lost_share)} of the time went into waiting for a CPU",
        advice=advice,
    )
    return Verdict(verdict.outcome, f"{verdict.reason}\n{evidence.why}", verdict.advice)
