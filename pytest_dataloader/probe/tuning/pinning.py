"""A loader that pins its batches and one that does not: what reaches the accelerator, and what copying takes."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.loader.batch_storages import tensors
from pytest_dataloader.probe.loader.counting import count_samples
from pytest_dataloader.probe.tuning.trial import LEAST_SECONDS, borrow_with, next_batch

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_dataloader.probe.loader.borrowing import Borrowed
    from pytest_dataloader.probe.loader.settings import LoaderSettings

_SHARE = 0.08
"""Of the budget, for each look."""
_TURNS = (False, True, True, False)
"""Two looks at each, of which the faster counts: neighbours and slow spells of the host only make a loader slower."""
_WARM_UP = 3
"""Batches before the clock starts, and as many as the loader keeps ahead: they wait for workers, and pin memory that
later ones use again, which the driver does while copies wait."""
_PATIENCE = 2
"""Times a look's own seconds that a slow loader may warm up."""


@dataclass(frozen=True, slots=True)
class Pinning:
    """A loader under the recommended settings, its batches copied to the accelerator with ``non_blocking=True``."""

    pin_memory: bool
    samples_per_second: float
    """That reached the accelerator."""
    copy_ms: float
    """What the copies of a batch keep the training loop, the median."""
    now: bool
    """Whether the loader is like this."""


def compare_pinning(
    loader: Any, settings: LoaderSettings, *, seconds: float, came: Callable[[str], None]
) -> tuple[Pinning, ...]:
    """Measure a loader without ``pin_memory`` and with it under ``settings``, for a third of ``seconds``.

    Nothing where there is no CUDA device, or no tensor to copy. This initialises CUDA in the process. Raises what the
    loader raises.
    """
    import torch

    if not torch.cuda.is_available():
        return ()
    best: dict[bool, Pinning] = {}
    for pinned in _TURNS:
        came(f"pin_memory={pinned}")
        row = _look(loader, settings, max(LEAST_SECONDS, _SHARE * seconds), pinned=pinned)
        if row is None:
            return ()
        if pinned not in best or row.samples_per_second > best[pinned].samples_per_second:
            best[pinned] = row
    return tuple(best[pinned] for pinned in sorted(best))


def _look(loader: Any, settings: LoaderSettings, seconds: float, *, pinned: bool) -> Pinning | None:
    """One look; None for an epoch without a batch, or batches without a tensor."""
    import torch

    with borrow_with(loader, settings, pin_memory=pinned) as borrowed:
        borrowed.begin_epoch()
        deadline = time.perf_counter() + _PATIENCE * seconds
        for _ in range(_WARM_UP + borrowed.depth):
            if not _copy(borrowed)[1]:
                return None
            if time.perf_counter() > deadline:
                break
        torch.cuda.synchronize()
        copying: list[float] = []
        samples, began = 0, time.perf_counter()
        while not copying or time.perf_counter() - began < seconds:
            more, _, spent = _copy(borrowed)
            samples += more
            copying.append(spent)
        torch.cuda.synchronize()
        lasted = time.perf_counter() - began
    return Pinning(pinned, samples / lasted, 1e3 * statistics.median(copying), now=pinned == bool(loader.pin_memory))


def _copy(borrowed: Borrowed) -> tuple[int, int, float]:
    """Copy the next batch, be it of the next epoch: its samples, its tensors, and the seconds that copying kept us."""
    batch = next_batch(borrowed)
    held = list(tensors(batch))
    began = time.perf_counter()
    for tensor in held:
        tensor.to("cuda", non_blocking=True)
    return count_samples(batch, borrowed.batch_size), len(held), time.perf_counter() - began
