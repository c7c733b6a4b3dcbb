"""A plan of a few samples that every worker reads, and then reads again."""

from __future__ import annotations

from typing import Any

from pytest_dataloader.probe.internals import torch_private
from pytest_dataloader.probe.loader.sampling import fetches_batches, first_indices

_SAMPLES = 8
"""Different samples read, twice, by each worker in each epoch: 64 calls in all."""
_BATCHES = 2


def undisturbed_calls(loader: Any) -> dict[str, int]:
    """How many calls of each kind a worker makes before generators are displaced."""
    if not torch_private.reads_batches(loader):
        return {"sample": _SAMPLES, "collate": _SAMPLES}
    whole = fetches_batches(loader)
    return {"sample": _BATCHES if whole else _SAMPLES, "collate": _BATCHES}


def plan(loader: Any, workers: int) -> list[Any]:
    """Index lists, dealt out in turn: each worker reads the same samples, and then the same again."""
    batched, size = torch_private.reads_batches(loader), _SAMPLES // _BATCHES
    if torch_private.reads_by_iteration(loader):
        once: list[Any] = [[None] * size] * _BATCHES if batched else [None] * _SAMPLES
    else:
        indices = read_indices(loader)
        indices = (indices * _SAMPLES)[:_SAMPLES]
        once = [indices[at : at + size] for at in range(0, len(indices), size)] if batched else indices
    return [each for _ in range(2) for each in once for _ in range(workers)]


def read_indices(loader: Any) -> list[Any]:
    """The indices that are read. Draws from the loader's sampler."""
    return first_indices(loader, _SAMPLES)


def functions(loader: Any) -> dict[str, str]:
    """The user's functions that make samples, by the kind of call."""
    name = type(loader.dataset).__name__
    read = "__iter__" if torch_private.reads_by_iteration(loader) else "__getitem__"
    return {
        "sample": f"{name}.{read}",
        "collate": getattr(loader.collate_fn, "__qualname__", type(loader.collate_fn).__name__),
        "start": getattr(loader.worker_init_fn, "__qualname__", type(loader.worker_init_fn).__name__),
    }
