"""A loader with other batch sizes: what they give in samples a second, and what they take in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_dataloader.errors import EmptyEpoch
from pytest_dataloader.probe.host import capacity
from pytest_dataloader.probe.internals import torch_private
from pytest_dataloader.probe.loader.sampling import cuts_batches, loaders_inside
from pytest_dataloader.probe.tuning.trial import LEAST_SECONDS, ROOM, Trial, measure_start

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_dataloader.probe.loader.settings import LoaderSettings
    from pytest_dataloader.probe.tuning.trial import TrialStart

_FACTORS = (0.5, 1, 2, 4)
_SHARE = 0.08
"""Of the budget, for each."""
_LEAST_BATCHES = 4
"""An epoch of fewer batches says nothing of a batch size."""


@dataclass(frozen=True, slots=True)
class BatchSize:
    """A loader under the recommended settings, with so many samples in a batch."""

    batch_size: int
    samples_per_second: float | None
    """Once warm; None where too few batches came to say."""
    seconds_to_first_batch: float
    """The start of workers included."""
    batch_bytes: int
    """Of the tensors of one batch."""
    total_bytes: int
    """What the workers have to themselves, and the batches that are under way at once."""
    now: bool
    """Whether the loader has this batch size."""


def hindrance(loader: Any) -> str:
    """Why a loader cannot be given another batch size; empty where it can."""
    made_by = getattr(loader, "batch_sampler", None)
    if made_by is None:
        return "the loader does not make its batches from samples"
    if torch_private.iterates_its_own_way(loader) or loaders_inside(loader):
        return f"{type(loader).__name__} iterates in a way of its own"
    if not cuts_batches(made_by):
        return f"{type(made_by).__name__} chooses what is in a batch"
    return ""


def compare_batch_sizes(
    loader: Any, settings: LoaderSettings, *, seconds: float, samples: float | None, came: Callable[[str], None]
) -> Iterator[BatchSize]:
    """Measure half, twice and four times the batch size beside the loader's own, each under ``settings``.

    ``samples`` are those of an epoch, None where that is not known. Sizes that leave too few batches or do not fit into
    memory are left out. Raises what the loader raises.
    """
    each, own = max(LEAST_SECONDS, _SHARE * seconds), loader.batch_sampler.batch_size
    known: BatchSize | None = None
    for size in dict.fromkeys(max(1, int(factor * own)) for factor in _FACTORS):
        too_few = samples is not None and samples < _LEAST_BATCHES * size
        if size != own and (too_few or (known is not None and not _fits(known, size, settings))):
            continue
        came(f"batch_size={size}")
        try:
            start = measure_start(resized(loader, size), settings, each, lambda _spent: None)
        except EmptyEpoch:  # with drop_last
            continue
        known = _row(start, size, now=size == own)
        yield known


def resized(loader: Any, size: int) -> Any:
    """A shallow copy of a loader with so many samples in a batch."""
    made_by = loader.batch_sampler
    batches = type(made_by)(made_by.sampler, size, made_by.drop_last)
    return torch_private.shallow_copy(loader, batch_size=size, batch_sampler=batches)


def _row(start: TrialStart, size: int, *, now: bool) -> BatchSize:
    settings = start.settings
    under_way = max(1, settings.num_workers * settings.prefetch_factor)
    return BatchSize(
        batch_size=size,
        samples_per_second=start.samples_per_second if isinstance(start, Trial) and not start.vague else None,
        seconds_to_first_batch=start.first_seconds,
        batch_bytes=start.batch_bytes,
        total_bytes=settings.num_workers * start.worker_bytes + under_way * start.batch_bytes,
        now=now,
    )


def _fits(known: BatchSize, size: int, settings: LoaderSettings) -> bool:
    """Whether batches of ``size`` fit into half of what is free, by those of another size."""
    times = size / known.batch_size
    shared = capacity.shared_memory_bytes()
    queue = settings.num_workers * settings.prefetch_factor * known.batch_bytes * times
    return known.total_bytes * times <= ROOM * capacity.available_bytes() and (shared is None or queue <= ROOM * shared)
