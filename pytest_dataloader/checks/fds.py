"""Descriptors: do they leak, who keeps them, and how close does the peak come to the limit?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_dataloader.advice import fds as sentences
from pytest_dataloader.advice.resources import without_fault
from pytest_dataloader.errors import NotMeasured
from pytest_dataloader.probe.host import descriptors
from pytest_dataloader.probe.resources import leaks
from pytest_dataloader.probe.resources.demand import Demand, demand_of
from pytest_dataloader.probe.resources.evidence import Fds
from pytest_dataloader.probe.resources.observations import Usage, most_by_round
from pytest_dataloader.probe.resources.open_files import keepers
from pytest_dataloader.probe.resources.usage import SHORT_EPOCHS, TEST_SECONDS, run_short_epochs
from pytest_dataloader.verdict import Verdict

if TYPE_CHECKING:
    from pytest_dataloader.checks import Setting
    from pytest_dataloader.probe.resources.referrers import Referrer
    from pytest_dataloader.settings.limits import Share

NEEDS_BENCH = False

_DESCRIPTORS = ("Too many open files", "ancdata")


def why_not() -> str:
    """Why nothing can be seen on this system; empty where it can."""
    return descriptors.why_no_descriptors()


def measure(loader: Any, *, setting: Setting) -> Fds:
    """Predict, and unless that cannot work run a copy of the loader through short epochs and look.

    A quick run looks at shared memory in the same epochs.
    """
    reason = why_not()
    if reason:
        raise NotMeasured(reason)
    setting.progress("weighing batches", 0.1)
    asked = demand_of(loader)
    seen = Usage(before=asked.shape.before)
    if not asked.shortage_of_descriptors:
        setting.progress("counting descriptors through short epochs", 0.3)
        seconds = setting.seconds if setting.bench else min(TEST_SECONDS, setting.seconds)
        both = setting.quick and not asked.shortage_of_memory
        seen = run_short_epochs(loader, seconds=seconds, leave_early=both)
        if both:
            setting.shared[SHORT_EPOCHS] = asked, seen
    return _evidence(loader, asked, seen)


def _evidence(loader: Any, asked: Demand, seen: Usage) -> Fds:
    persistent = bool(getattr(loader, "persistent_workers", False))
    found = leaks.in_main(seen), leaks.in_workers(seen, persistent=persistent)
    shape = asked.shape
    return Fds(
        peak=max(seen.peak_main, seen.peak_worker),
        limit=asked.limit,
        leaked=sum(each.count for each in found),
        before=seen.before,
        main_peak=seen.peak_main,
        worker_peak=seen.peak_worker,
        predicted_main_peak=asked.need.main,
        predicted_worker_peak=asked.need.worker,
        storages_per_batch=shape.storages,
        handed_to_worker=asked.handed,
        open_after_epochs=most_by_round(seen.main),
        open_in_workers_after_epochs=most_by_round(seen.workers),
        leaks=found[0].leaks + found[1].leaks,
        kept_by=(seen.kept_by if found[0].leaks or seen.exhausted else ()) or _keepers(loader, found),
        unclear=found[0].unclear + found[1].unclear,
        shortage=asked.shortage_of_descriptors,
        exhausted=seen.exhausted,
        hung=seen.hung,
        unpredicted=asked.unpredicted,
        shape=shape,
        batches_in_round=seen.batches_in_round,
        batches_in_epoch=seen.batches_in_epoch,
        epochs=seen.rounds,
        batches=seen.batches,
    )


def _keepers(loader: Any, found: tuple[leaks.Found, leaks.Found]) -> tuple[Referrer, ...]:
    """Who keeps what is no tensor: in a worker no name can be looked up, so some batches are made again."""
    sorts = {leak.sort for each in found for leak in each.leaks} - {descriptors.TORCH, descriptors.SEGMENT}
    return keepers(loader, sorts) if sorts else ()


def judge(evidence: Fds, *, max_fd_use: Share | None = None) -> Verdict:
    """Fail for a leak, for a loader that cannot get by with the limit, and for a peak above ``max_fd_use`` of it."""
    advice = sentences.advice(evidence)
    kept = f"\nkept by {', '.join(map(str, evidence.kept_by))}" if evidence.kept_by else ""
    peak = f"peak {evidence.peak:,} of {evidence.limit:,} descriptors"
    if evidence.shortage:
        return Verdict("failed", f"{evidence.shortage}\nlimit {evidence.limit:,}: the loader was not run", advice)
    if any(words in evidence.exhausted for words in _DESCRIPTORS):
        ran_out = f"out of descriptors, limit {evidence.limit:,}"
        return Verdict("failed", f"{ran_out}: {evidence.exhausted}{kept}", advice)
    if evidence.leaks:
        leaks = "\n".join(f"leaks {leak}" for leak in evidence.leaks)
        return Verdict("failed", f"{leaks}{kept}\n{peak}", advice)
    if max_fd_use is not None and evidence.use > max_fd_use:
        return Verdict("failed", f"{peak} ({100 * evidence.use:.1f} %), limit {100 * max_fd_use:.1f} %", advice)
    return without_fault(evidence, peak=peak, nothing="nothing left open", doubts=evidence.unclear, advice=advice)
