"""The evidence of the checks of descriptors and of shared memory: of a loader that was run through short epochs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_dataloader.probe.resources.forecast import Need, Shape
    from pytest_dataloader.probe.resources.leaks import Leak
    from pytest_dataloader.probe.resources.referrers import Referrer


@dataclass(frozen=True, slots=True)
class ResourceUse:
    """How far a loader came, and what stayed open from batch to batch.

    ``shortage`` says why the loader was not run at all, ``exhausted`` what ran out, in torch's own words. ``batches``
    came in all ``epochs`` together. ``unpredicted`` says why what workers will need could not be predicted.
    """

    leaks: tuple[Leak, ...]
    kept_by: tuple[Referrer, ...]
    unclear: tuple[str, ...]
    shortage: str
    exhausted: str
    hung: bool
    unpredicted: str
    shape: Shape
    batches_in_round: int
    batches_in_epoch: int
    epochs: int
    batches: int

    @property
    def empty(self) -> bool:
        """Whether it was run and gave no batch."""
        return not (self.batches or self.shortage or self.exhausted or self.hung)


@dataclass(frozen=True, slots=True)
class Fds(ResourceUse):
    """Descriptors of the process that has most open, at its peak, and what is left open by batches and epochs.

    ``predicted_main_peak`` is the worst case, where one worker lags and the batches of the others wait for its own;
    ``storages_per_batch`` are the tensors of a batch, those that share memory counted once.
    """

    peak: int
    limit: int
    leaked: int
    before: int
    main_peak: int
    worker_peak: int
    predicted_main_peak: int
    predicted_worker_peak: int
    storages_per_batch: int
    handed_to_worker: int
    open_after_epochs: tuple[int, ...] = ()
    """In the main process, whenever an epoch had ended."""
    open_in_workers_after_epochs: tuple[int, ...] = ()
    """In the worker that then had most of its own: what it did not inherit."""

    @property
    def use(self) -> float:
        """The peak as a share of the limit."""
        return self.peak / self.limit

    def need(self, *, num_workers: int, prefetch_factor: int = 2) -> Need:
        """What the same batches would need with other settings; see ``probe.resources.forecast`` for the formulas."""
        return replace(self.shape, workers=num_workers, prefetch_factor=prefetch_factor).need()


@dataclass(frozen=True, slots=True)
class Shm(ResourceUse):
    """Segments of shared memory of this process and its workers: at the peak, with the queue full, and left behind.

    ``names`` are those that were still in /dev/shm when all workers had ended, ``leaks`` what stays open from batch to
    batch while they run. ``left_early`` is True where epochs that are left early leave them behind.
    """

    peak_bytes: int
    capacity_bytes: int
    leaked: int
    leaked_bytes: int
    names: tuple[str, ...]
    left_early: bool
    peak_segments: int
    predicted_peak_bytes: int
    predicted_segments: int
    storages_per_batch: int
    batch_bytes: int
    handed_over: int
    open_after_epochs: tuple[int, ...] = ()
    """Segments that the main process held whenever an epoch had ended, or that had a name in /dev/shm."""
    open_after_leaving: tuple[int, ...] = ()
    """The same after each epoch that was left early."""
    unshown_bytes: int = 0
    """Of ``batch_bytes``, those that no tensor of the batch shows: views carry their whole storage."""
    uint8_saves_bytes: int = 0
    """Of ``batch_bytes``, those that uint8 would not take for the tensors whose values it would hold."""
