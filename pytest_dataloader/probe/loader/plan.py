"""Makes the plan of what to read from a loader, without drawing from its samplers in this process."""

from __future__ import annotations

import itertools
import time
from typing import Any

from pytest_dataloader.probe.host import child_process
from pytest_dataloader.probe.internals import torch_private
from pytest_dataloader.probe.loader.positions import Plan, count_indices_in, draw, flat_indices, length_of
from pytest_dataloader.probe.loader.sampling import drops_all

INDICES = 2064
"""The reader's windows together: 16 to warm up, 1,000 and 1,000 new ones, and a batch to spare."""
_SCOUT_SECONDS = 0.5
_TORCH = frozenset({"torch", "torchdata"})


def plan_reading(loader: Any) -> Plan:
    """Choose samples all over the dataset, in random order; a sampler of the user's own is asked, in a child."""
    if torch_private.reads_by_iteration(loader):
        return Plan(tuple(range(INDICES)), 0, iterable=True, shuffled=False)
    if drops_all(loader):
        return Plan(empty=True)
    size = length_of(loader.dataset)
    sampler = _plain_sampler(loader)
    allowed = _allowed_indices(sampler, size) if sampler is not None else None
    if allowed is not None and len(allowed):
        chosen = tuple(int(allowed[at]) for at in draw(len(allowed), INDICES))
        return Plan(chosen, size or max(chosen) + 1, shuffled=_shuffles(sampler))
    batches = child_process.ask(lambda: _first_batches(torch_private.index_sampler(loader)), 4 * _SCOUT_SECONDS)
    if batches:
        indices = flat_indices(batches)
        return Plan(indices, size or max(indices, default=-1) + 1, tuple(batches), shuffled=_is_shuffled(indices))
    if batches is not None:
        return Plan(empty=True)
    note = "the loader's sampler yielded nothing in time"
    return Plan(draw(size, INDICES), size, note=f"{note}; samples were chosen at random") if size else Plan(note=note)


def _plain_sampler(loader: Any) -> Any:
    """The sampler of single indices, if all that stands between it and the workers is torch's own batching."""
    batches = getattr(loader, "batch_sampler", None)
    if batches is None:
        return loader.sampler
    plain = type(batches).__module__.split(".", 1)[0] in _TORCH and hasattr(batches, "sampler")
    return batches.sampler if plain else None


def _allowed_indices(sampler: Any, size: int) -> Any:
    """Every index that a sampler may yield, as a sequence; None for a sampler that is not known."""
    from torch.utils.data import DistributedSampler, RandomSampler, SequentialSampler, SubsetRandomSampler

    if isinstance(sampler, range) or (isinstance(sampler, list | tuple) and all(type(at) is int for at in sampler)):
        return sampler
    if type(sampler).__module__.split(".", 1)[0] not in _TORCH:
        return None
    if isinstance(sampler, SubsetRandomSampler):
        return sampler.indices
    if isinstance(sampler, RandomSampler | SequentialSampler):
        return range(length_of(sampler.data_source) or size)
    return range(size) if isinstance(sampler, DistributedSampler) else None


def _shuffles(sampler: Any) -> bool:
    from torch.utils.data import RandomSampler, SubsetRandomSampler

    return bool(getattr(sampler, "shuffle", isinstance(sampler, RandomSampler | SubsetRandomSampler)))


def _is_shuffled(indices: tuple[int, ...]) -> bool:
    return any(later < sooner for sooner, later in itertools.pairwise(indices))


def _first_batches(sampler: Any) -> list[Any]:
    import torch

    torch.set_num_threads(1)  # those of the parent's pool are not in a forked child, and randperm would wait for them
    deadline = time.monotonic() + _SCOUT_SECONDS
    found: list[Any] = []
    count = 0
    for batch in sampler:
        found.append(batch)
        count += count_indices_in(batch, many=True) or 0
        if count >= INDICES or time.monotonic() > deadline:
            break
    return found
