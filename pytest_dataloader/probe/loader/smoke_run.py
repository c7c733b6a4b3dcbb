"""Two batches of a loader, unmeasured: what a check does when it was not asked to measure."""

from __future__ import annotations

from typing import Any

from pytest_dataloader.probe.loader.borrowing import borrow

BATCHES = 2


def smoke_run(loader: Any) -> None:
    """Pull two batches and stop the workers; the loader and the random states stay as they were.

    Exceptions of the loader come out as they are.
    """
    with borrow(loader) as borrowed:
        borrowed.begin_epoch()
        borrowed.pull(BATCHES)
