"""Memory: do workers grow, by which attribute, and what will N of them cost?"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from pytest_dataloader.advice import memory as sentences
from pytest_dataloader.errors import NothingSeen
from pytest_dataloader.probe.host.capacity import available_bytes
from pytest_dataloader.probe.loader.settings import worker_processes_of
from pytest_dataloader.probe.loader.smoke_run import smoke_run
from pytest_dataloader.probe.memory.copy_on_access import Sources
from pytest_dataloader.probe.memory.diagnosis import Diagnosis, diagnose_memory
from pytest_dataloader.probe.memory.epoch import NOT_WATCHED, Watched, watch
from pytest_dataloader.probe.memory.evidence import Memory
from pytest_dataloader.probe.memory.filling import filling_site
from pytest_dataloader.probe.memory.growth import MATTERS, GrowthKind, with_kind
from pytest_dataloader.probe.memory.reference_cycles import LARGE_CYCLES
from pytest_dataloader.probe.memory.replacement import Replacement, container_type, try_replacement
from pytest_dataloader.probe.memory.sampler_memory import NO_SAMPLER, SamplerMemory, sampler_memory
from pytest_dataloader.quantities import size
from pytest_dataloader.verdict import Verdict

if TYPE_CHECKING:
    from pytest_dataloader.checks import Setting
    from pytest_dataloader.settings.limits import Bytes

NEEDS_BENCH = False

FAULTS = frozenset({"copy_on_access", "cache", "leak", "retained", "reference_cycles", "sampler_memory"})
"""Kinds that fail where no limit is set. The copy per worker that spawn makes is told, and held to limits only."""
BOUNDLESS = frozenset({"leak", "retained", "sampler_memory"})
"""Kinds that fail under any limit and without workers too: they have no bound to hold to one, or are not of workers."""


def measure(loader: Any, *, setting: Setting, sources: Sources | None = None) -> Memory:
    """Run the direct test, and with ``setting.bench`` watch the workers through an epoch for what time is left.

    Raises EmptyEpoch for a loader that gives no batch, and NothingSeen where the process that reads samples ended
    early or gave no answer: whatever else could be watched, copies on access would not be seen.
    """
    started, sources = time.monotonic(), sources or Sources()
    setting.progress("reading samples beside an idle worker", 0.1)
    found = diagnose_memory(loader, sources=sources)
    if found.reader_failure:
        raise NothingSeen(f"{found.reader_failure}: what workers copy could not be seen")
    if found.nothing_to_read:
        smoke_run(loader)  # which tells a loader that gives nothing from one whose worker 0 has no share
    tried = try_replacement(loader, found, sources)
    sampler = sampler_memory(loader)
    watched = NOT_WATCHED
    if setting.bench:
        setting.progress("watching workers through an epoch", 0.4)
        left = setting.seconds - (time.monotonic() - started)
        watched = watch(loader, seconds=left, rollup=sources.rollup)
    return _evidence(loader, found, tried, watched, sampler, time.monotonic() - started)


def _evidence(
    loader: Any,
    found: Diagnosis,
    tried: Replacement | None,
    watched: Watched,
    sampler: SamplerMemory | None,
    seconds: float,
) -> Memory:
    kinds, growth = watched.confirm(found)
    unseen = () if sampler is not None else ("what the sampler holds is not known: it raised, or gave nothing in time",)
    sampler = sampler or NO_SAMPLER
    kinds = with_kind(kinds, "sampler_memory") if sampler.is_large else kinds
    workers = worker_processes_of(loader)
    culprit = found.culprit if {"copy_on_access", "duplicated"} & set(kinds) else None
    return Memory(
        kind=kinds[0],
        kinds=kinds,
        attribute=culprit.finest if culprit else found.accumulation.attribute,
        container=container_type(loader.dataset, culprit.path) if culprit else "",
        type=culprit.type if culprit else "",
        count=culprit.count if culprit else 0,
        exposed_bytes=culprit.exposed_bytes if culprit else 0,
        share_copied=culprit.share_copied if culprit else 0.0,
        written_in_place=culprit is not None and culprit.written,
        growth_bytes_per_worker=growth,
        growth_low_bytes=min(growth, found.growth_low_bytes),
        growth_high_bytes=max(growth, found.growth_high_bytes),
        predicted_total_bytes=workers * growth,
        available_bytes=available_bytes(),
        accumulating_attribute=found.accumulation.attribute,
        accumulated_bytes_per_sample=round(found.accumulation.bytes_per_sample, 1),
        kept_bytes_per_batch=round(found.kept_bytes_per_batch, 1),
        warm_up_bytes=found.warm_up_bytes,
        attributes=found.attributes,
        replacement=tried,
        workers=workers,
        start_method=found.start_method,
        source="smaps_rollup" if watched.workers and found.unread else found.source,
        unclear=found.unclear,
        withheld=found.withheld,
        partly=found.partly + watched.partly + unseen,
        samples_read=found.samples_read,
        reading_error=found.reading_error,
        worker_growth=watched.workers,
        parent_growth_bytes=watched.parent_growth_bytes,
        epoch_seen=watched.share,
        batches_watched=watched.batches,
        curve=watched.curve,
        seconds=round(seconds, 3),
        attribute_filled_at=filling_site(loader, culprit.finest) if culprit else "",
        accumulating_filled_at=filling_site(loader, found.accumulation.attribute, growing=True),
        accumulated_elements=(found.accumulation.most or 0) if found.accumulation.by_element else 0,
        batches_ahead=workers * (getattr(loader, "prefetch_factor", None) or 0),
        batch_bytes=found.crossing_bytes_per_batch,
        reference_cycles=found.cycles,
        sampler=sampler,
    )


def judge(
    evidence: Memory, *, max_worker_growth: Bytes | None = None, max_total_memory: Bytes | None = None
) -> Verdict:
    """Hold growth to the limits; without one, fail for faults alone. A leak fails under any limit, and so does a loader
    that raises, of which no growth was seen.
    """
    advice = sentences.advice(evidence)
    if exceeded := _exceeded(evidence, max_worker_growth, max_total_memory):
        return Verdict("failed", sentences.screen(evidence, f", limit {exceeded}"), advice)
    limited = (max_worker_growth, max_total_memory) != (None, None)
    if any(_is_fault(kind, evidence, limited=limited) for kind in evidence.kinds):
        return Verdict("failed", sentences.screen(evidence), advice)
    seen = sentences.describe_memory(evidence)
    readable = evidence.samples_read > 0 and not evidence.reading_error
    if evidence.reading_error and not evidence.batches_watched and limited:
        return Verdict("failed", sentences.screen(evidence), advice)
    if not readable:
        return Verdict("not_measured", seen, advice, vacuous=True)
    if evidence.source == "none" and evidence.start_method == "fork":
        return Verdict("not_measured", seen, advice)
    if evidence.unclear or evidence.kept_batches.is_unclear:
        return Verdict("inconclusive", seen, advice)
    return Verdict("passed", seen, advice)


def _is_fault(kind: GrowthKind, evidence: Memory, *, limited: bool) -> bool:
    """Whether a kind fails, where its size is not held to a limit."""
    if kind == "cache" and evidence.kinds == (kind,) and evidence.growth_bytes_per_worker < MATTERS:
        return False
    if kind == "reference_cycles" and not (limited and evidence.workers):  # without workers this process pays
        return evidence.reference_cycles.peak_bytes >= LARGE_CYCLES
    return kind in (BOUNDLESS if limited or evidence.workers == 0 else FAULTS)


def _exceeded(evidence: Memory, max_worker_growth: int | None, max_total_memory: int | None) -> str:
    """The limit that is exceeded, in words; nothing without workers, who alone could exceed one."""
    if evidence.workers and max_worker_growth is not None and evidence.growth_bytes_per_worker > max_worker_growth:
        return f"{size(max_worker_growth)} per worker"
    if evidence.workers and max_total_memory is not None and evidence.predicted_total_bytes > max_total_memory:
        return f"{size(max_total_memory)} in all workers"
    return ""
