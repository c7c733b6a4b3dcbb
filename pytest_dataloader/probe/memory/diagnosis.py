"""A diagnosis of a loader's worker memory: the direct test's figures put into one class, one attribute, one sum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pytest_dataloader.probe.internals import torch_private
from pytest_dataloader.probe.loader.batch_retention import KEPT_BYTES, kept_bytes_per_batch
from pytest_dataloader.probe.loader.positions import flat_indices, length_of
from pytest_dataloader.probe.loader.settings import start_method_of
from pytest_dataloader.probe.memory.copy_on_access import DirectTest, Sources, compare_with_control
from pytest_dataloader.probe.memory.growth import (
    MATTERS,
    UNATTRIBUTED,
    WARM_UP,
    Accumulation,
    Attribute,
    EpochShape,
    GrowthKind,
    accumulation_of,
    attributes_of,
    is_cyclic,
    keeps_unnamed,
    leaks,
    reference_cycles,
    warm_up_bytes,
)
from pytest_dataloader.probe.memory.reference_cycles import NO_CYCLES, ReferenceCycles
from pytest_dataloader.probe.memory.totals import judged_by_totals, unattributed

PageSource = Literal["pagemap", "smaps_rollup", "none"]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What the direct test concludes; ``kinds`` are all that apply, the gravest first, or clean or warm_up alone."""

    kinds: tuple[GrowthKind, ...]
    source: PageSource
    attributes: tuple[Attribute, ...]
    culprit: Attribute | None
    accumulation: Accumulation
    growth_bytes: int
    growth_low_bytes: int
    growth_high_bytes: int
    warm_up_bytes: int
    kept_bytes_per_batch: float
    samples_read: int
    reading_error: str
    start_method: str
    unclear: str
    withheld: tuple[str, ...]
    partly: tuple[str, ...]
    reader_failure: str = ""
    """How the reader ended before its time, or that it gave no answer: then nothing of the rest is known."""
    nothing_to_read: bool = False
    """Whether what was to be read has ended before its first sample, without an error."""
    cycles: ReferenceCycles = NO_CYCLES
    crossing_bytes_per_batch: int = 0
    """What a batch takes on its way to the main process."""

    @property
    def unread(self) -> bool:
        """Whether the direct test has read no sample, or raised for most."""
        return not self.samples_read or bool(self.reading_error)


def epoch_of(loader: Any, universe: int, shuffled: bool) -> EpochShape:
    """What an epoch of the loader is."""
    samples = universe
    sampler = getattr(loader, "sampler", None)
    if torch_private.reads_by_iteration(loader):
        samples = length_of(loader.dataset)
    elif getattr(loader, "batch_size", None) is not None and length_of(sampler):
        samples = length_of(sampler)
    persistent = bool(getattr(loader, "persistent_workers", False))
    return EpochShape(
        samples, max(1, loader.num_workers), getattr(loader, "batch_size", None) or 1, shuffled, persistent
    )


def diagnose_memory(loader: Any, *, sources: Sources) -> Diagnosis:
    """Run the direct test on a loader, and conclude."""
    found = compare_with_control(loader, sources=sources, leaks=leaks, unnamed=keeps_unnamed, cyclic=is_cyclic)
    kept = kept_bytes_per_batch(loader)
    return classify_growth(
        found, epoch_of(loader, found.plan.universe, found.plan.shuffled), start_method=start_method_of(loader),
        kept=kept or 0.0,
    )  # fmt: skip


def classify_growth(found: DirectTest, epoch: EpochShape, *, start_method: str, kept: float) -> Diagnosis:
    """Put the figures of a direct test into a diagnosis; pure."""
    attributes, source, unclear = _judged(found, epoch)
    heap = accumulation_of(found)
    forked = start_method == "fork"
    cost = _copied(found, attributes, source, settled=heap.kind != "none") if forked else _duplicated(attributes)
    more = _accumulated(heap, epoch)
    kept = max(0.0, kept - heap.bytes_per_sample * epoch.batch)
    warm = warm_up_bytes(found)
    cycles = reference_cycles(found, epoch.samples / epoch.workers)
    more += cycles.peak_bytes if cycles.peak_bytes >= MATTERS else 0
    kinds: list[GrowthKind] = ["copy_on_access"] if forked and cost.whole >= MATTERS else []
    kinds += [heap.kind] if heap.kind != "none" else []
    kinds += ["retained"] if kept >= KEPT_BYTES else []
    kinds += ["reference_cycles"] if cycles.peak_bytes >= MATTERS else []
    kinds += ["duplicated"] if not forked and cost.whole >= MATTERS else []
    kinds += ["warm_up" if warm >= WARM_UP else "clean"] if not kinds else []
    return Diagnosis(
        kinds=tuple(kinds),
        source=source,
        attributes=attributes,
        culprit=cost.culprit,
        accumulation=heap,
        growth_bytes=cost.growth + more,
        growth_low_bytes=cost.low + more,
        growth_high_bytes=cost.high + more,
        warm_up_bytes=warm,
        kept_bytes_per_batch=kept,
        samples_read=sum(window.samples for window in found.windows.values()),
        reading_error=_reading_error(found),
        start_method=start_method,
        unclear=(_cut_short(found) or unclear) if forked and not cost.whole else "",
        withheld=found.withheld,
        partly=found.partly,
        reader_failure=found.failure,
        nothing_to_read=_ended_at_once(found),
        cycles=cycles,
        crossing_bytes_per_batch=round(_samples_in_batch(found, epoch) * _crossing_bytes(found)),
    )


def _crossing_bytes(found: DirectTest) -> float:
    """Of a sample, what crosses to the main process."""
    return max((window.crossing_bytes_per_sample for window in found.windows.values()), default=0.0)


def _samples_in_batch(found: DirectTest, epoch: EpochShape) -> float:
    """Of a batch sampler of the user's, the mean."""
    batches = found.plan.batches
    return len(flat_indices(batches)) / len(batches) if batches else epoch.batch


@dataclass(frozen=True, slots=True)
class _Cost:
    """Bytes per worker: of a whole pass, of an epoch (with its bounds), and the attribute that pays most of them."""

    culprit: Attribute | None
    whole: int
    growth: int
    low: int
    high: int


def _copied(found: DirectTest, attributes: tuple[Attribute, ...], source: PageSource, *, settled: bool) -> _Cost:
    """What copies cost. ``settled``: what is kept fills holes in inherited pages, which explains lost shared memory."""
    guilty = [line for line in attributes if line.copied]
    likely = [line for line in attributes if line.exposed_bytes >= MATTERS]
    if not guilty and not settled and source != "pagemap" and len(likely) == 1 and unattributed(found, UNATTRIBUTED):
        # Totals name nothing; where one attribute alone is large enough, there is nothing else to name.
        only = likely[0]
        return _Cost(only, only.exposed_bytes, only.growth_if_copied_bytes, 0, only.exposed_bytes * 6 // 5)
    return _Cost(
        guilty[0] if guilty else None,
        sum(line.copied_bytes for line in guilty),
        sum(line.growth_bytes for line in guilty),
        sum(int(line.growth_bytes * line.share_at_least) for line in guilty),
        # The walk counts what it samples; item tables of small lists on the same pages added 17 % at most.
        sum(line.exposed_bytes for line in guilty) * 6 // 5,
    )


def _duplicated(attributes: tuple[Attribute, ...]) -> _Cost:
    """What an unpickled copy costs."""
    held = sum(line.object_bytes for line in attributes)
    return _Cost(max(attributes, key=lambda line: line.object_bytes, default=None), held, held, held, held)


def _judged(found: DirectTest, epoch: EpochShape) -> tuple[tuple[Attribute, ...], PageSource, str]:
    """Every attribute with what reading does to it, the source that says so, and what that source left open."""
    attributes = attributes_of(found, epoch)
    if found.pages and found.windows:
        return attributes, "pagemap", ""
    attributes, told, unclear = judged_by_totals(found, attributes)
    return attributes, "smaps_rollup" if told else "none", unclear


def _cut_short(found: DirectTest) -> str:
    """Why an attribute may have been missed."""
    if found.walk.complete:
        return ""
    return f"the dataset's objects were walked for {found.walk.seconds:.1f} s and not to their end"


def _ended_at_once(found: DirectTest) -> bool:
    """Whether there was nothing to read, or the reader answered and had no sample, nor an error instead of one."""
    windows = found.windows.values()
    return found.plan.empty or (bool(windows) and not any(window.samples or window.errors for window in windows))


def _accumulated(heap: Accumulation, epoch: EpochShape) -> int:
    """What a worker gathers in an epoch; a cache in workers that persist goes on to hold every sample."""
    each = epoch.samples if heap.kind == "cache" and epoch.persistent else epoch.samples / epoch.workers
    return round(heap.bytes_per_sample * (each if heap.most is None else min(each, heap.most)))


def _reading_error(found: DirectTest) -> str:
    """What reading raised, if it raised for most of what was read."""
    last = max(found.windows.values(), key=lambda window: window.errors, default=None)
    return last.error if last is not None and last.errors * 2 > last.batches else ""
