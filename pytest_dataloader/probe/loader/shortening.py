"""Whether a loader's epochs can be shortened at its sampler: where it iterates in its own way, that is tried."""

from __future__ import annotations

import itertools
from typing import Any

from pytest_dataloader.probe.host import child_process
from pytest_dataloader.probe.internals import torch_private
from pytest_dataloader.probe.loader.replay import Replay
from pytest_dataloader.probe.loader.sampling import loaders_inside

_MOST = 8
"""Batches that a loader may make of one; some hand each out several times."""
_TIMEOUT_SECONDS = 4.0


def can_be_shortened(loader: Any) -> bool:
    """Whether an epoch ends when the sampler does, and the next one begins anew.

    Not where one iterator is kept for all epochs, and not where a loader counts its batches by itself.
    """
    if not torch_private.iterates_its_own_way(loader):
        return True
    if (
        torch_private.goes_on_with_kept_iterator(loader)
        or torch_private.reads_by_iteration(loader)
        or loaders_inside(loader)
    ):
        return False
    return child_process.ask(lambda: _ends(loader), _TIMEOUT_SECONDS) is True


def _ends(loader: Any) -> bool:
    """In a child of its own, without workers: give it one batch, twice."""
    name = "batch_sampler" if torch_private.reads_batches(loader) else "sampler"
    alone = {"num_workers": 0, "prefetch_factor": None, "persistent_workers": False, "timeout": 0}
    vars(loader).update(alone, **{name: Replay(vars(loader)[name], 1)})
    torch_private.forget_iterations(loader)
    came = [sum(1 for _ in itertools.islice(loader, _MOST)) for _ in range(2)]
    return 0 < came[0] == came[1] < _MOST and not torch_private.goes_on_with_kept_iterator(loader)
