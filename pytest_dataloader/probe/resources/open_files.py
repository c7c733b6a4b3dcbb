"""Who keeps files and sockets open that samples have opened: looked for in a forked child that has made some."""

from __future__ import annotations

import gc
import io
import socket
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.host import child_process, descriptors
from pytest_dataloader.probe.loader.borrowing import borrow
from pytest_dataloader.probe.resources.garbage_collection import all_objects
from pytest_dataloader.probe.resources.referrers import Referrer, referrers

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_BATCHES = 8
_TIMEOUT_SECONDS = 15.0


def keepers(loader: Any, sorts: Collection[str]) -> tuple[Referrer, ...]:
    """Names that lead to what of these sorts a few batches leave open; none where only its number is kept."""
    return child_process.ask(lambda: _keepers(loader, sorts), _TIMEOUT_SECONDS) or ()


def _keepers(loader: Any, sorts: Collection[str]) -> tuple[Referrer, ...]:
    import torch

    torch.set_num_threads(1)  # the threads of the parent were not forked
    before = set(descriptors.links())
    with borrow(loader, in_process=True) as borrowed:
        borrowed.begin_epoch()
        borrowed.pull(_BATCHES)
        opened = {
            number: target
            for number, target in descriptors.links().items()
            if number not in before and descriptors.kind(target) in sorts
        }
        known = {"dataset": borrowed.loader.dataset, "collate_fn": borrowed.loader.collate_fn}
        with all_objects():
            return referrers(known, things=python_files(opened))


def python_files(numbers: Collection[int]) -> Iterator[tuple[int, Any]]:
    """The objects of Python's that hold descriptors open, each with its number."""
    for thing in gc.get_objects():
        if issubclass(type(thing), io.IOBase | socket.socket):  # isinstance asks the object, which may answer anything
            try:
                number = thing.fileno()
            except (OSError, ValueError):  # closed, or none of its own
                continue
            if number in numbers:
                yield number, thing
