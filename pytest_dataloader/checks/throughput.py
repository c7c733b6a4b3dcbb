"""Does the loader deliver so many samples per second, once warm?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_dataloader.claim import conclude, figure, missed_even, percent
from pytest_dataloader.probe.loader.borrowing import borrow
from pytest_dataloader.probe.timing.pace import Throughput, claims_of, step_of, throughput
from pytest_dataloader.probe.timing.rate_meter import RateMeter
from pytest_dataloader.probe.timing.sequential import (
    CLEAR_WINDOWS,
    FAIL_SHARE,
    HOPELESS,
    MARGIN,
    MARGIN_WITH_WORKERS,
    look,
)
from pytest_dataloader.probe.timing.sequential import WAIT_SECONDS as _WAIT_SECONDS
from pytest_dataloader.verdict import Advice, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_dataloader.checks import Setting
    from pytest_dataloader.limits import Milliseconds, Rate

NEEDS_BENCH = True

_PRECISE = 0.02
_PRECISE_WINDOWS = 5
"""Without a limit, measuring ends once the interval is within this share of the figure, over so many windows."""
_WORTH_A_WORKER = 0.005
"""Seconds per batch. Passing a batch from a worker cost 0.8 ms for one tensor and 8 to 12 ms for 20."""
_FULL = 0.9


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
    limits = {
        "min_samples_per_second": min_samples_per_second,
        "min_batches_per_second": min_batches_per_second,
        "max_cpu_ms_per_sample": max_cpu_ms_per_sample,
    }
    with borrow(loader) as borrowed:
        meter = RateMeter(borrowed, setting.seconds)
        wait = max(_WAIT_SECONDS, 12 * setting.seconds)
        through = look(
            meter,
            setting,
            wait=wait,
            clear=lambda spent: _clear(throughput(meter), spent, limits),
            narrow=lambda: _fails_narrowly(throughput(meter), limits),
        )
        if not through:
            return throughput(meter, hung_seconds=wait)
        return step_of(throughput(meter), step_ms, min_samples_per_second, min_batches_per_second)


def _fails_narrowly(seen: Throughput, limits: Mapping[str, float | None]) -> bool:
    """Whether it fails, but by no more than what neighbours can do."""
    lost = missed_even(claims_of(seen, *limits.values()), HOPELESS)
    return judge(seen, **limits).outcome == "failed" and seen.batches > 0 and not lost


def _clear(seen: Throughput, spent: float, limits: Mapping[str, float | None]) -> bool:
    """Whether measuring longer would change nothing."""
    claims = claims_of(seen, *limits.values())
    if not claims:
        low, high = seen.interval
        precise = high - low < 2 * _PRECISE * seen.samples_per_second
        return seen.workers == 0 and seen.windows >= _PRECISE_WINDOWS and precise
    kept = seen.windows >= CLEAR_WINDOWS and all(claim.certain for claim in claims)
    return kept or (spent >= FAIL_SHARE and judge(seen, **limits).outcome == "failed")


def judge(
    evidence: Throughput,
    *,
    min_samples_per_second: Rate | None = None,
    min_batches_per_second: Rate | None = None,
    max_cpu_ms_per_sample: Milliseconds | None = None,
    step_ms: Milliseconds | None = None,
) -> Verdict:
    """Hold the figures to their limits: one-sided, and never failed on a machine that was busy."""
    claims = claims_of(evidence, min_samples_per_second, min_batches_per_second, max_cpu_ms_per_sample)
    if evidence.hung_seconds:
        after = f"after {evidence.batches:,} batches" if evidence.batches else "from the start"
        return Verdict("failed", f"the loader hangs {after}: no batch came for {evidence.hung_seconds:.0f} s")
    if not evidence.batches:
        return Verdict("failed" if claims else "not_measured", "the loader gave no batch: its epoch is empty")
    if not claims:
        low, high = (figure(each) for each in evidence.interval)
        reason = f"{figure(evidence.samples_per_second)} samples/s ({low} to {high} at 95 %), no limit set"
        known = step_ms is not None and evidence.step_ms and evidence.batches_per_second
        waits = f"; a step of {figure(step_ms or 0)} ms waits {percent(evidence.stall)} of the time" if known else ""
        return Verdict("passed", f"{reason}{waits}")
    length = evidence.batches // max(1, evidence.epochs)
    started = f"starting them took {percent(evidence.starting_share)} of the time"
    return conclude(
        claims,
        margin=MARGIN_WITH_WORKERS if evidence.workers else MARGIN,
        hopeless=HOPELESS,
        disturbances=evidence.quietness.disturbances,
        quiet=f"others held its CPU for {percent(evidence.quietness.lost_share)} of the time",
        close=""
        if evidence.steady or not evidence.workers
        else f"its epochs of {length} batches end before it is warm: {started}",
        advice=_advice(evidence),
    )


def _advice(seen: Throughput) -> tuple[Advice, ...]:
    found = []
    per_batch = 1 / seen.batches_per_second if seen.batches_per_second else 0.0
    if not seen.workers and per_batch > _WORTH_A_WORKER:
        found.append(Advice("DL207", f"num_workers=0 makes the step wait {per_batch * 1e3:.0f} ms for each batch"))
    if seen.workers and seen.epochs > 1 and not seen.persistent_workers and not seen.steady:
        start = f"each epoch starts its workers anew, {seen.seconds_to_restart:.2g} s to the first batch"
        found.append(Advice("DL204", f"{start}: set persistent_workers=True"))
    if seen.workers > seen.cpus and seen.quietness.own_share > _FULL:
        found.append(Advice("", f"{seen.workers} workers fill the {seen.cpus:g} CPUs allowed: make samples cheaper"))
    return tuple(found)
