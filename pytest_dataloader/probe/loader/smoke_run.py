"""Two batches of a loader, unmeasured: what a check does when it was not asked to measure."""

from __future__ import annotations

from typing import Any

from pytest_dataloader.errors import EmptyEpoch, NothingSeen
from pytest_dataloader.probe.loader.borrowing import borrow
from pytest_dataloader.probe.loader.stream import Stream, drawn
from pytest_dataloader.probe.loader.timeout import Hang, time_limit

_BATCHES = 2
_WAIT_SECONDS = 60.0
"""For both; forkserver workers took 12 to 25 s to import torch on a busy machine."""


def smoke_run(loader: Any) -> None:
    """Pull two batches and stop the workers; the loader and the random states stay as they were.

    Exceptions of the loader come out as they are; raises NothingSeen where no batch comes, EmptyEpoch where none will.
    """
    with drawn(loader) if isinstance(loader, Stream) else borrow(loader) as borrowed:
        try:
            with time_limit(_WAIT_SECONDS):
                borrowed.begin_epoch()
                came, _ = borrowed.pull(_BATCHES)
        except Hang:
            borrowed.close(kill=True)
            raise NothingSeen(f"the loader hangs: no batch came for {_WAIT_SECONDS:.0f} s") from None
    if not came:
        raise EmptyEpoch
