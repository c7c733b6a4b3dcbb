"""Datasets whose workers wait for each other through memory that they share, as streams with barriers do."""

from __future__ import annotations

import sys
from typing import Any

from pytest_dataloader.probe.internals import torch_private
from pytest_dataloader.probe.loader.state_restoration import reachable_state

_DEPTH = 5
"""Levels of attributes from the loader: dataset, barrier, its array, the library's shared memory, Python's."""
_PRIMITIVES = {
    "multiprocessing.shared_memory": ("SharedMemory",),
    "multiprocessing.synchronize": ("Barrier", "Condition", "Semaphore"),
}
"""By which processes wait for each other; a lock, a value or an event alone is no meeting of all."""


def workers_meet(loader: Any) -> bool:
    """Whether the workers of an iterated dataset share memory by which they may wait until all of them are there.

    One process in the place of a worker would wait for ever, and leave the others one too many at the next meeting.
    """
    if not torch_private.reads_by_iteration(loader):
        return False
    kinds = tuple(
        getattr(sys.modules[module], name)
        for module, names in _PRIMITIVES.items()
        if module in sys.modules
        for name in names
    )
    return any(isinstance(thing, kinds) for thing in reachable_state(loader, depth=_DEPTH))


def workers_told(loader: Any) -> int:
    """Of how many workers one that stands for all is told: of itself alone where it would wait for the others."""
    return 1 if workers_meet(loader) else max(1, int(loader.num_workers))
