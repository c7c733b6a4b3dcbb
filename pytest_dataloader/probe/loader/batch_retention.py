"""Whether a loader that iterates in its own way keeps its batches: tried in a forked child, without workers."""

from __future__ import annotations

import gc
import itertools
import statistics
import time
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.host import child_process
from pytest_dataloader.probe.host.allocator import BLOCK, Allocated, allocated
from pytest_dataloader.probe.internals import torch_private
from pytest_dataloader.probe.loader.sampling import loaders_inside

if TYPE_CHECKING:
    from collections.abc import Iterator

_WINDOWS = 3
_BATCHES = 12
_SECONDS = 0.25
_TIMEOUT_SECONDS = 12.0
KEPT_BYTES = 256.0
"""Per batch, from which batches count as kept: one kept tensor is 600 bytes and three blocks at least."""
_LATER_WINDOWS = 18
"""Further windows, in most of whose later half batches must be kept: MONAI's ThreadDataLoader keeps 260 to
1,800 bytes of batches of 0.4 MB in its first windows, and 90 later. ``benchmarks/memory_keeping.py``: loaders that keep
nothing stay at 247 bytes of a batch, those that keep one number of each are at 587 and above."""
_LATER_SECONDS = 3.0
_LATER_BYTES = 256 << 20
"""Enough of what is kept; a loader that keeps the last few batches has stopped growing by then."""


def kept_bytes_per_batch(loader: Any) -> float | None:
    """Bytes that stay allocated for each batch dropped, beyond the first ones; None where it could not be tried.

    Where batches seem to be kept, it is what stays in most of many windows more.
    """
    if not torch_private.iterates_its_own_way(loader):
        return 0.0
    kept = child_process.ask(lambda: _kept(loader), _TIMEOUT_SECONDS)
    return kept if isinstance(kept, float) else None


def _kept(loader: Any) -> float:
    gc.freeze()
    for each in (loader, *loaders_inside(loader)):  # accelerate's hands its epochs on to one
        object.__setattr__(each, "num_workers", 0)
        torch_private.forget_iterations(each)
    keeps = torch_private.goes_on_with_kept_iterator(loader)
    for name in torch_private.kept_iterators(loader):  # the parent's, whose workers' batches are not ours to take
        vars(loader)[name] = torch_private.new_iterator(loader) if keeps else None
    windows = _windows(_endless(loader))
    next(windows)  # what the first batches leave is bought once
    kept = statistics.median(itertools.islice(windows, _WINDOWS))
    if kept < KEPT_BYTES:
        return max(0.0, kept)
    deadline, most = time.monotonic() + _LATER_SECONDS, allocated().malloc_bytes + _LATER_BYTES
    later: list[float] = []
    while len(later) < _LATER_WINDOWS and time.monotonic() < deadline and allocated().malloc_bytes < most:
        later.append(next(windows))
    return max(0.0, statistics.median(later[len(later) // 2 :] or [kept]))


def _windows(batches: Iterator[None]) -> Iterator[float]:
    """Bytes that each window leaves allocated for each of its batches."""
    before = allocated()
    while True:
        seen = 0
        deadline = time.monotonic() + _SECONDS
        while seen < _BATCHES and (seen < 2 or time.monotonic() < deadline):
            next(batches)
            seen += 1
        gc.collect()
        after = allocated()
        yield _cost(before, after) / seen
        before = after


def _cost(before: Allocated, after: Allocated) -> float:
    malloc = after.malloc_bytes - before.malloc_bytes if after.malloc_bytes >= 0 else 0
    return float(malloc + (after.blocks - before.blocks) * BLOCK)


def _endless(loader: Any) -> Iterator[None]:
    while True:
        for _batch in loader:
            del _batch
            yield
