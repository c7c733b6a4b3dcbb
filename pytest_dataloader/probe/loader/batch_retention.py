"""Whether a loader that iterates in its own way keeps its batches: tried in a forked child, without workers."""

from __future__ import annotations

import gc
import itertools
import time
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.host import child_process
from pytest_dataloader.probe.host.allocator import BLOCK, Allocated, allocated
from pytest_dataloader.probe.internals import torch_private

if TYPE_CHECKING:
    from collections.abc import Iterator

_WINDOWS = 3
_BATCHES = 12
_SECONDS = 0.25
_TIMEOUT_SECONDS = 4.0
KEPT_BYTES = 256.0
"""Per batch, from which batches count as kept: one kept tensor is 600 bytes and three blocks at least."""


def kept_bytes_per_batch(loader: Any) -> float | None:
    """Bytes that stay allocated for each batch dropped, beyond the first ones; None where it could not be tried."""
    if not torch_private.iterates_its_own_way(loader):
        return 0.0
    levels = child_process.ask(lambda: _levels(loader), _TIMEOUT_SECONDS)
    if not levels or len(levels) < _WINDOWS + 1:
        return None
    rates: list[float] = []
    for (before, _), (after, batches) in itertools.pairwise(levels[1:]):
        rates.append(_cost(before, after) / batches)
    return max(0.0, min(rates))


def _cost(before: Allocated, after: Allocated) -> float:
    malloc = after.malloc_bytes - before.malloc_bytes if after.malloc_bytes >= 0 else 0
    return malloc + (after.blocks - before.blocks) * BLOCK


def _levels(loader: Any) -> list[tuple[Allocated, int]]:
    """What is allocated at first and after each window of batches, with the batches in it."""
    gc.freeze()
    object.__setattr__(loader, "num_workers", 0)
    torch_private.forget_iterations(loader)
    keeps = torch_private.goes_on_with_kept_iterator(loader)
    for name in torch_private.kept_iterators(loader):  # the parent's, whose workers' batches are not ours to take
        vars(loader)[name] = torch_private.new_iterator(loader) if keeps else None
    batches = _endless(loader)
    levels = []
    for _ in range(_WINDOWS + 1):
        seen = 0
        deadline = time.monotonic() + _SECONDS
        while seen < _BATCHES and (seen < 2 or time.monotonic() < deadline):
            next(batches)
            seen += 1
        gc.collect()
        levels.append((allocated(), seen))
    return levels


def _endless(loader: Any) -> Iterator[None]:
    while True:
        for _batch in loader:
            del _batch
            yield
