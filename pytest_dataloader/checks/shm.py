"""Shared memory: is any left behind, by whom, and do the batches made ahead fit /dev/shm?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_dataloader.advice import shm as sentences
from pytest_dataloader.advice.resources import without_fault
from pytest_dataloader.errors import NotMeasured
from pytest_dataloader.probe.host import segments
from pytest_dataloader.probe.host.descriptors import SEGMENT, TORCH
from pytest_dataloader.probe.resources import leaks
from pytest_dataloader.probe.resources.demand import Demand, demand_of
from pytest_dataloader.probe.resources.evidence import Shm
from pytest_dataloader.probe.resources.observations import Usage
from pytest_dataloader.probe.resources.usage import SHORT_EPOCHS, TEST_SECONDS, run_short_epochs
from pytest_dataloader.quantities import counted, size
from pytest_dataloader.verdict import Verdict

if TYPE_CHECKING:
    from pytest_dataloader.checks import Setting
    from pytest_dataloader.settings.limits import Bytes

NEEDS_BENCH = False


def why_not() -> str:
    """Why nothing can be seen on this system; empty where it can."""
    return segments.why_no_segments()


def measure(loader: Any, *, setting: Setting) -> Shm:
    """Predict, and unless that cannot fit run a copy of the loader through short epochs, leave some early, and look."""
    reason = why_not()
    if reason:
        raise NotMeasured(reason)
    if SHORT_EPOCHS in setting.shared:
        return _evidence(loader, *setting.shared.pop(SHORT_EPOCHS))
    setting.progress("weighing batches", 0.1)
    asked = demand_of(loader)
    seen = Usage()
    if not (asked.shortage_of_memory or asked.shortage_of_descriptors):
        setting.progress("looking at shared memory through short epochs", 0.3)
        seconds = setting.seconds if setting.bench else min(TEST_SECONDS, setting.seconds)
        seen = run_short_epochs(loader, seconds=seconds, leave_early=True)
    return _evidence(loader, asked, seen)


def _evidence(loader: Any, asked: Demand, seen: Usage) -> Shm:
    persistent = bool(getattr(loader, "persistent_workers", False))
    main = leaks.in_main(seen).only(TORCH, SEGMENT)
    workers = leaks.in_workers(seen, persistent=persistent).only(TORCH, SEGMENT)
    left_early = () if main.leaks else leaks.after_leaving(seen).leaks
    stays = main.leaks + workers.leaks + left_early or leaks.by_name(seen, persistent=persistent).leaks
    # What lies in the queue of workers that persist goes with them, and their next epoch would have taken it out.
    left = seen.left[-1] - seen.left[0] if persistent and not seen.drained and seen.left else len(seen.remaining)
    remaining = seen.remaining if left > 0 else ()
    return Shm(
        peak_bytes=seen.peak_bytes,
        capacity_bytes=asked.capacity,
        leaked=max(len(remaining), sum(leak.count for leak in stays)),
        leaked_bytes=segments.total_bytes(remaining),
        names=tuple(segment.name for segment in remaining),
        left_early=bool(left_early)
        or (bool(seen.left) and seen.left[-1] > len(seen.main[-1].names if seen.main else ()) and not stays),
        peak_segments=seen.peak_segments,
        predicted_peak_bytes=asked.need.segment_bytes,
        predicted_segments=asked.need.segments,
        storages_per_batch=asked.shape.storages,
        batch_bytes=asked.shape.batch_bytes,
        unshown_bytes=asked.payload.unshown_bytes,
        uint8_saves_bytes=asked.payload.uint8_saves_bytes,
        handed_over=seen.handed_over,
        open_after_epochs=tuple(map(leaks.segments_of, seen.main)),
        open_after_leaving=tuple(map(leaks.segments_of, seen.main_left_early)),
        leaks=stays,
        kept_by=seen.kept_by,
        unclear=main.unclear,
        shortage=asked.shortage_of_memory or asked.shortage_of_descriptors,
        exhausted=seen.exhausted,
        hung=seen.hung,
        unpredicted=asked.unpredicted,
        shape=asked.shape,
        batches_in_round=seen.batches_in_round,
        batches_in_epoch=seen.batches_in_epoch,
        epochs=seen.rounds,
        batches=seen.batches,
    )


def judge(evidence: Shm, *, max_shm: Bytes | None = None) -> Verdict:
    """Fail for segments left behind, for batches that cannot fit /dev/shm, and for a peak above ``max_shm``.

    A thread that pins takes batches out of shared memory at once: where none was seen there, what may be is told.
    """
    advice = sentences.advice(evidence)
    unseen = not evidence.peak_bytes and evidence.predicted_peak_bytes > 0
    most = evidence.predicted_peak_bytes if unseen else evidence.peak_bytes
    peak = f"{'at most' if unseen else 'peak'} {size(most)} of {size(evidence.capacity_bytes)}"
    if evidence.shortage:
        return Verdict("failed", f"{evidence.shortage}\nthe loader was not run", advice)
    if "No space left" in evidence.exhausted or "shared memory" in evidence.exhausted:
        return Verdict("failed", f"/dev/shm is full ({size(evidence.capacity_bytes)}): {evidence.exhausted}", advice)
    if evidence.leaks or evidence.names:
        return Verdict("failed", f"{sentences.describe_segments_left(evidence)}\n{peak}", advice)
    if max_shm is not None and most > max_shm:
        return Verdict("inconclusive" if unseen else "failed", f"{peak}, limit {size(max_shm)}", advice)
    nothing = f"nothing left behind{sentences.describe_views(evidence)}"
    handed_over = f"batches name {counted(evidence.handed_over, 'segment')}: the loop must unlink them"
    doubts = (handed_over,) if evidence.handed_over else evidence.unclear
    return without_fault(evidence, peak=peak, nothing=nothing, doubts=doubts, advice=advice)
