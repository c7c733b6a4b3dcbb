"""Does the loader deliver so many samples per second, once warm?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_dataloader.advice import throughput as sentences
from pytest_dataloader.advice.hang import hung
from pytest_dataloader.limit_tests import LimitTest, judge_limit_tests, missed_by_factor
from pytest_dataloader.probe.loader.borrowing import borrow
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
from pytest_dataloader.probe.timing.throughput import step_of, throughput
from pytest_dataloader.quantities import figure, percent
from pytest_dataloader.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_dataloader.checks import Setting
    from pytest_dataloader.probe.loader.borrowing import Borrowed
    from pytest_dataloader.probe.loader.stream import DrawnStream
    from pytest_dataloader.probe.timing.evidence import Throughput
    from pytest_dataloader.settings.limits import Milliseconds, Rate

NEEDS_BENCH = True

_PRECISE = 0.02
_PRECISE_WINDOWS = 5
"""Without a limit, measuring ends once the interval's lower end is within this share of the figure, over so many
windows; what others can have cost, which is in the upper end, longer measuring would not tell."""


def measure(
    loader: Any,
    *,
    setting: Setting,
    min_samples_per_second: float | None = None,
    min_batches_per_second: float | None = None,
    max_cpu_ms_per_sample: float | None = None,
    step_ms: float | None = None,
) -> Throughput:
    """Pull from a copy of the loader until the limits are clearly kept or missed, or ``setting.seconds`` are spent.

    The user's errors come out as they are; raises BadTarget for what is no loader, NotMeasured for one to be used once.
    """
    with borrow(loader) as borrowed:
        return measure_drawn(
            borrowed,
            setting=setting,
            min_samples_per_second=min_samples_per_second,
            min_batches_per_second=min_batches_per_second,
            max_cpu_ms_per_sample=max_cpu_ms_per_sample,
            step_ms=step_ms,
        )


def measure_drawn(
    source: Borrowed | DrawnStream,
    *,
    setting: Setting,
    min_samples_per_second: float | None = None,
    min_batches_per_second: float | None = None,
    max_cpu_ms_per_sample: float | None = None,
    step_ms: float | None = None,
) -> Throughput:
    """Pull from what is borrowed already, as ``measure`` does."""
    limits = {
        "min_samples_per_second": min_samples_per_second,
        "min_batches_per_second": min_batches_per_second,
        "max_cpu_ms_per_sample": max_cpu_ms_per_sample,
    }
    meter = RateMeter(source, setting.seconds)
    wait = max(_WAIT_SECONDS, 12 * setting.seconds)
    way = measure_until_decided(
        meter,
        seconds=setting.seconds,
        wait=wait,
        progress=setting.progress,
        clear=lambda spent: _clear(throughput(meter), spent, limits),
        narrow=lambda: _fails_narrowly(throughput(meter), limits),
    )
    if way != "measured":
        return throughput(meter, hung_seconds=wait, at_work=way == "unclear")
    return step_of(throughput(meter), step_ms, min_samples_per_second, min_batches_per_second)


def _fails_narrowly(seen: Throughput, limits: Mapping[str, float | None]) -> bool:
    """Whether it fails, but by no more than what neighbours can do."""
    lost = missed_by_factor(_limit_tests(seen, *limits.values()), hopeless(seen.quietness))
    return judge(seen, **limits).outcome == "failed" and seen.batches > 0 and not lost


def _clear(seen: Throughput, spent: float, limits: Mapping[str, float | None]) -> bool:
    """Whether measuring longer would change nothing."""
    tests = _limit_tests(seen, *limits.values())
    if not tests:
        precise = seen.interval[0] > (1 - _PRECISE) * seen.samples_per_second
        return seen.workers == 0 and seen.windows >= _PRECISE_WINDOWS and precise
    kept = seen.windows >= CLEAR_WINDOWS and all(test.certain for test in tests)
    return kept or (spent >= FAIL_SHARE and judge(seen, **limits).outcome == "failed")


def _limit_tests(
    seen: Throughput, samples: float | None, batches: float | None, cpu_ms: float | None
) -> list[LimitTest]:
    """What was seen, held against the limits that were set."""
    of_batches = seen.batches_per_second / seen.samples_per_second if seen.samples_per_second else 0.0
    # Where whole epochs were measured, no loader is faster than what it gave once its first batch was there.
    warm = 1.0 if seen.steady or not seen.workers else 1 / max(1e-9, 1 - seen.starting_share)
    tests = []
    for unit, allowed, scale in (("samples/s", samples, 1.0), ("batches/s", batches, of_batches)):
        if allowed is not None:
            low, high, best = (scale * each for each in (*seen.interval, seen.best_samples_per_second))
            rate = scale * seen.samples_per_second
            test = LimitTest(unit, allowed, rate, low, high * warm, best * warm)
            # What others can have cost is in the upper end alone, and ``hopeless`` weighs it: here the spread counts.
            spread = min(high, rate**2 / low) if low else high
            tests.append(replace(test, high=spread * warm, words=test.sentence))
    if cpu_ms is not None:
        cost = (seen.cpu_ms_per_sample, *seen.cpu_ms_interval, seen.best_cpu_ms_per_sample)
        tests.append(LimitTest("ms of CPU per sample", cpu_ms, *cost, floor=False))
    return tests


def judge(
    evidence: Throughput,
    *,
    min_samples_per_second: Rate | None = None,
    min_batches_per_second: Rate | None = None,
    max_cpu_ms_per_sample: Milliseconds | None = None,
    step_ms: Milliseconds | None = None,
) -> Verdict:
    """Hold the figures to their limits: one-sided, and never failed on a machine that was busy."""
    tests = _limit_tests(evidence, min_samples_per_second, min_batches_per_second, max_cpu_ms_per_sample)
    if evidence.hung_seconds:
        return hung(evidence.batches, evidence.hung_seconds, at_work=evidence.at_work)
    if not evidence.batches:
        reason = "the loader gave no batch: its epoch is empty"
        return Verdict("failed", reason) if tests else Verdict("not_measured", reason, vacuous=True)
    if not tests and not evidence.measured_seconds:
        return Verdict("inconclusive", "the loader did not warm up in time: it needs more seconds")
    if not tests and not evidence.samples_per_second:
        why = evidence.quietness.sentence or "they came before"
        spent = f"{figure(evidence.measured_seconds)} s of measuring"
        return Verdict("inconclusive", f"no batch in {spent}\n{why}")
    if not tests:
        low, high = (figure(each) for each in evidence.interval)
        reason = f"{figure(evidence.samples_per_second)} samples/s (95 % CI {low} to {high})"
        known = step_ms is not None and evidence.step_ms and evidence.batches_per_second
        waits = f"\ndata wait: {percent(evidence.stall)} of a {figure(step_ms or 0)} ms step" if known else ""
        busy = evidence.quietness.sentence
        if evidence.vague:
            why = busy or "too few batches came"
            return Verdict("inconclusive", f"too noisy: {reason}\n{why}{waits}")
        return Verdict("passed", f"{reason}{waits}\n{busy}" if busy else f"{reason}{waits}")
    return judge_limit_tests(
        tests,
        margin=MARGIN_WITH_WORKERS if evidence.workers else MARGIN,
        hopeless=hopeless(evidence.quietness),
        disturbances=evidence.quietness.disturbances,
        quiet=f"{percent(evidence.quietness.lost_share)} of the time went into waiting for a CPU",
        close="" if evidence.steady or not evidence.workers else sentences.too_short(evidence),
        advice=sentences.advice(evidence),
    )
