"""A diagnosis of a loader's worker memory: the direct test's figures put into one class, one attribute, one sum."""

from __future__ import annotations

import multiprocessing
from dataclasses import dataclass
from typing import Any, Literal

from pytest_dataloader.probe import torch_private
from pytest_dataloader.probe.copying import Comparison, Sources, compare
from pytest_dataloader.probe.growth import (
    MATTERS,
    UNATTRIBUTED,
    WARM_UP,
    Accumulation,
    Attribute,
    Epoch,
    Kind,
    accumulation_of,
    attributes_of,
    warm_up_bytes,
)
from pytest_dataloader.probe.positions import length_of
from pytest_dataloader.probe.retaining import KEPT_BYTES, kept_bytes_per_batch
from pytest_dataloader.probe.totals import suspect, unattributed

Source = Literal["pagemap", "smaps_rollup", "uss", "none"]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What the direct test concludes. ``kinds`` are all that apply, the gravest first; clean and warm_up stand alone."""

    kinds: tuple[Kind, ...]
    source: Source
    attributes: tuple[Attribute, ...]
    culprit: Attribute | None
    accumulation: Accumulation
    copied_bytes: int
    growth_bytes: int
    growth_low_bytes: int
    growth_high_bytes: int
    warm_up_bytes: int
    kept_bytes_per_batch: float
    samples_read: int
    reading_error: str
    epoch: Epoch
    start_method: str
    withheld: tuple[str, ...]
    partly: tuple[str, ...]
    seconds: float


def start_method_of(loader: Any) -> str:
    """How the loader's workers start, without settling multiprocessing's default by asking."""
    context = getattr(loader, "multiprocessing_context", None)
    if context is not None:
        return str(context.get_start_method())
    return multiprocessing.get_start_method(allow_none=True) or multiprocessing.get_all_start_methods()[0]


def epoch_of(loader: Any, universe: int, shuffled: bool) -> Epoch:
    """What an epoch of the loader is."""
    samples = universe
    sampler = getattr(loader, "sampler", None)
    if torch_private.reads_by_iteration(loader):
        samples = length_of(loader.dataset)
    elif getattr(loader, "batch_size", None) is not None and length_of(sampler):
        samples = length_of(sampler)
    return Epoch(samples, max(1, loader.num_workers), getattr(loader, "batch_size", None) or 1, shuffled)


def diagnose(loader: Any, *, sources: Sources) -> Diagnosis:
    """Run the direct test on a loader, and conclude."""
    found = compare(loader, sources=sources)
    kept = kept_bytes_per_batch(loader)
    return conclude(
        found, epoch_of(loader, found.plan.universe, found.plan.shuffled), start_method=start_method_of(loader),
        persistent=bool(getattr(loader, "persistent_workers", False)), kept=kept or 0.0,
    )  # fmt: skip


def conclude(found: Comparison, epoch: Epoch, *, start_method: str, persistent: bool, kept: float) -> Diagnosis:
    """Put the figures of a direct test into a diagnosis; pure."""
    attributes = attributes_of(found, epoch)
    forked = start_method == "fork"
    culprit, copied, growth, source = _copies(found, attributes, epoch)
    low = sum(int(line.growth_bytes * line.share_at_least) for line in attributes if line.copied)
    high = sum(line.exposed_bytes for line in attributes if line.copied) * 6 // 5
    if not forked:
        copied = 0
        growth = low = high = sum(line.held_bytes for line in attributes)
        culprit = max(attributes, key=lambda line: line.held_bytes, default=None)
    heap = accumulation_of(found)
    more = _accumulated(heap, epoch, persistent)
    kept = max(0.0, kept - heap.bytes_per_sample * epoch.batch)
    warm = warm_up_bytes(found)
    kinds: list[Kind] = ["copy_on_access"] if copied >= MATTERS else []
    kinds += [heap.kind] if heap.kind != "none" else []
    kinds += ["retained"] if kept >= KEPT_BYTES else []
    kinds += ["duplicated"] if not forked and growth >= MATTERS else []
    kinds += ["warm_up" if warm >= WARM_UP else "clean"] if not kinds else []
    return Diagnosis(
        tuple(kinds), source, attributes, culprit, heap, copied, growth + more, low + more, high + more, warm, kept,
        sum(window.samples for window in found.windows.values()), _reading_error(found), epoch, start_method,
        found.withheld, found.partly, found.seconds,
    )  # fmt: skip


def _copies(found: Comparison, attributes: tuple[Attribute, ...], epoch: Epoch) -> tuple[Attribute | None, int, int, Source]:
    """The attribute that pays most, bytes copied by a whole pass and by an epoch, and the source that says so."""
    if found.pages and found.windows:
        guilty = [line for line in attributes if line.copied]
        if not guilty:
            lost = unattributed(found, UNATTRIBUTED)
            return None, lost, lost, "pagemap"
        copied = sum(line.copied_bytes for line in guilty)
        return guilty[0], copied, sum(line.growth_bytes for line in guilty), "pagemap"
    blamed, source = suspect(found, attributes)
    known: Source = "smaps_rollup" if source == "smaps_rollup" else "uss" if source == "uss" else "none"
    if blamed is None:
        return None, 0, 0, known
    return blamed, blamed.exposed_bytes, blamed.exposed_bytes, known


def _accumulated(heap: Accumulation, epoch: Epoch, persistent: bool) -> int:
    """What a worker gathers in an epoch; a cache in workers that persist goes on to hold every sample."""
    each = epoch.samples if heap.kind == "cache" and persistent else epoch.samples / epoch.workers
    return round(heap.bytes_per_sample * (each if heap.most is None else min(each, heap.most)))


def _reading_error(found: Comparison) -> str:
    """What reading raised, if it raised for most of what was read."""
    last = max(found.windows.values(), key=lambda window: window.errors, default=None)
    return last.error if last is not None and last.errors * 2 > last.batches else ""
