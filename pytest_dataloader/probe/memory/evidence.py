"""The evidence of the memory check: what a loader's workers cost, and which attribute is to blame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_dataloader.probe.memory.kept_batches import NO_KEPT_BATCHES, KeptBatches
from pytest_dataloader.probe.memory.reference_cycles import NO_CYCLES, ReferenceCycles
from pytest_dataloader.probe.memory.sampler_memory import NO_SAMPLER, SamplerMemory

if TYPE_CHECKING:
    from pytest_dataloader.probe.memory.diagnosis import PageSource
    from pytest_dataloader.probe.memory.epoch import Point, WorkerGrowth
    from pytest_dataloader.probe.memory.growth import Attribute, GrowthKind
    from pytest_dataloader.probe.memory.replacement import Replacement


@dataclass(frozen=True, slots=True)
class Memory:
    """What a loader's workers cost in memory. ``kinds`` are all faults found, ``kind`` the gravest.

    ``attribute`` is the path that is copied, with the type, count and bytes of the objects that reading copies there,
    or whose elements samples change (``written_in_place``);
    ``growth_bytes_per_worker`` is what a worker takes for itself in an epoch (low and high: how sure that is), without
    the warm-up, which is paid once, and ``predicted_total_bytes`` what all workers take.
    """

    kind: GrowthKind
    kinds: tuple[GrowthKind, ...]
    attribute: str
    type: str
    count: int
    exposed_bytes: int
    share_copied: float
    written_in_place: bool
    growth_bytes_per_worker: int
    growth_low_bytes: int
    growth_high_bytes: int
    predicted_total_bytes: int
    available_bytes: int
    accumulating_attribute: str
    accumulated_bytes_per_sample: float
    kept_bytes_per_batch: float
    warm_up_bytes: int
    attributes: tuple[Attribute, ...]
    replacement: Replacement | None
    workers: int
    start_method: str
    source: PageSource
    unclear: str
    withheld: tuple[str, ...]
    partly: tuple[str, ...]
    samples_read: int
    reading_error: str
    worker_growth: tuple[WorkerGrowth, ...]
    parent_growth_bytes: int
    epoch_seen: float
    curve: tuple[Point, ...]
    seconds: float
    batches_watched: int = 0
    """Between the first look at the workers and the last."""
    attribute_filled_at: str = ""
    """The line that gives ``attribute`` what it holds, ``data.py:31``; empty where no single line does."""
    accumulating_filled_at: str = ""
    """The same of ``accumulating_attribute``."""
    accumulated_elements: int = 0
    """Of a full cache of what many samples have in common: its elements, each of ``accumulated_bytes_per_sample``."""
    reference_cycles: ReferenceCycles = NO_CYCLES
    """What a worker holds, and nothing but cycles keeps; part of ``growth_bytes_per_worker`` from 1 MiB on."""
    sampler: SamplerMemory = NO_SAMPLER
    """What the main process holds for it, which is no part of what workers take."""
    batches_ahead: int = 0
    """Batches that workers make ahead of the loop, num_workers x prefetch_factor; 0 without workers."""
    batch_bytes: int = 0
    """What each takes in shared memory, or on its way through a pipe."""
    kept_batches: KeptBatches = NO_KEPT_BATCHES
    """What an iterable around the loader keeps of its batches, in the main process."""
    container: str = ""
    """The type of what ``attribute`` lies in, as ``list``."""

    @property
    def bytes_ahead(self) -> int:
        """What the batches made ahead of the loop take at most."""
        return self.batches_ahead * self.batch_bytes
