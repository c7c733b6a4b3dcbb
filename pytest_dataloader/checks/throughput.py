"""Does the loader deliver so many samples per second, once warm?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_dataloader.claim import Claim, conclude, figure, percent
from pytest_dataloader.probe.gauge import Gauge
from pytest_dataloader.probe.loader import borrow
from pytest_dataloader.probe.pace import Throughput, throughput
from pytest_dataloader.probe.patience import Hang, patience
from pytest_dataloader.verdict import Advice, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_dataloader.checks import Setting
    from pytest_dataloader.limits import Milliseconds, Rate

NEEDS_BENCH = True

_MARGIN = 1.10
_MARGIN_WITH_WORKERS = 1.15
"""By how much a loader must miss its limit before it fails. On 2 CPUs, figures beside two busy loops over those of the
idle machine: without workers 0.91 (JPEG) to 1.07 (Python), by the wall clock 0.33 to 0.97; with 2 workers 1.01 (sleep),
0.92 (JPEG), 0.87 (Python), 0.85 (memory), 0.80 (dicts), 0.45 (tiny). Idle runs differed by up to 1.1 and 1.3 times."""
_HOPELESS = 10.0
"""A loader that would miss this many times better fails on a busy machine too. Two busy loops brought the worst kind
(tiny samples, 2 workers) down to 0.45 of its idle figure; this leaves room for worse neighbours."""
_WAIT_SECONDS = 60.0
"""A loader that gives nothing for so long hangs; or for 12 times the budget, where that is more."""
_CLEAR_WINDOWS = 3
"""Before so many, however clear the answer, the interval would say little to those who read it."""
_PRECISE = 0.02
_PRECISE_WINDOWS = 5
"""Without a limit, measuring ends once the interval is within this share of the figure, over so many windows."""
_FAIL_SHARE = 0.5
"""A failure is not certain before this share of the budget is spent; with workers, two sets of them were seen then."""
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
) -> Throughput:
    """Pull from a copy of the loader until the limits are clearly kept or missed, or ``setting.seconds`` are spent.

    The user's errors come out as they are; raises BadTarget for what is no loader, NotMeasured for one to be used once.
    """
    limits = {
        "min_samples_per_second": min_samples_per_second,
        "min_batches_per_second": min_batches_per_second,
        "max_cpu_ms_per_sample": max_cpu_ms_per_sample,
    }
    wait = max(_WAIT_SECONDS, 12 * setting.seconds)
    with borrow(loader) as borrowed:
        gauge = Gauge(borrowed, setting.seconds)
        try:
            with patience(wait) as alive:

                def came(what: str, spent: float) -> None:
                    alive()
                    setting.progress(what, spent)

                gauge.came = came
                gauge.run(lambda seen: _clear(throughput(seen), seen.spent, limits))
        except Hang:
            borrowed.close(kill=True)
            return throughput(gauge, hung_seconds=wait)
        return throughput(gauge)


def _clear(seen: Throughput, spent: float, limits: Mapping[str, float | None]) -> bool:
    """Whether measuring longer would change nothing."""
    claims = _claims(seen, *limits.values())
    if not claims:
        low, high = seen.interval
        precise = high - low < 2 * _PRECISE * seen.samples_per_second
        return seen.workers == 0 and seen.windows >= _PRECISE_WINDOWS and precise
    kept = seen.windows >= _CLEAR_WINDOWS and all(claim.certain for claim in claims)
    return kept or (spent >= _FAIL_SHARE and judge(seen, **limits).outcome == "failed")


def _claims(seen: Throughput, samples: float | None, batches: float | None, cpu_ms: float | None) -> list[Claim]:
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


def judge(
    evidence: Throughput,
    *,
    min_samples_per_second: Rate | None = None,
    min_batches_per_second: Rate | None = None,
    max_cpu_ms_per_sample: Milliseconds | None = None,
) -> Verdict:
    """Hold the figures to their limits: one-sided, and never failed on a machine that was busy."""
    claims = _claims(evidence, min_samples_per_second, min_batches_per_second, max_cpu_ms_per_sample)
    if evidence.hung_seconds:
        after = f"after {evidence.batches:,} batches" if evidence.batches else "from the start"
        return Verdict("failed", f"the loader hangs {after}: no batch came for {evidence.hung_seconds:.0f} s")
    if not evidence.batches:
        return Verdict("failed" if claims else "not_measured", "the loader gave no batch: its epoch is empty")
    if not claims:
        low, high = (figure(each) for each in evidence.interval)
        reason = f"{figure(evidence.samples_per_second)} samples/s ({low} to {high} at 95 %), no limit set"
        return Verdict("passed", reason)
    length = evidence.batches // max(1, evidence.epochs)
    started = f"starting them took {percent(evidence.starting_share)} of the time"
    return conclude(
        claims,
        margin=_MARGIN_WITH_WORKERS if evidence.workers else _MARGIN,
        hopeless=_HOPELESS,
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
        waits = f"num_workers=0 makes the training step wait {per_batch * 1e3:.0f} ms for each batch"
        found.append(Advice("DL207", waits))
    if seen.workers and seen.epochs > 1 and not seen.persistent_workers and not seen.steady:
        start = f"each epoch starts its workers anew, {seen.seconds_to_restart:.2g} s to the first batch"
        found.append(Advice("DL204", f"{start}: set persistent_workers=True"))
    if seen.workers > seen.cpus and seen.quietness.own_share > _FULL:
        found.append(Advice("", f"{seen.workers} workers fill the {seen.cpus:g} CPUs allowed: make samples cheaper"))
    return tuple(found)
