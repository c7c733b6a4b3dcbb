"""The garbage collector kept cheap while a loader is watched."""

from __future__ import annotations

import contextlib
import gc
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def all_objects() -> Iterator[None]:
    """Show the collector what ``small_collections`` hides from it: those who keep batches may be among it."""
    gc.unfreeze()
    try:
        yield
    finally:
        gc.freeze()


@contextlib.contextmanager
def small_collections() -> Iterator[None]:
    """Leave what exists now out of collections: going through all of torch takes 0.2 to 1 s each time."""
    if gc.get_freeze_count():
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
