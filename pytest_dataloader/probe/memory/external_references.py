"""References from outside the loader: a list that a test keeps beside the dataset must not halve what objects count."""

from __future__ import annotations

import gc
from collections.abc import Sized
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.loader.referents import FEW

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from pytest_dataloader.probe.memory.exposure import Exposure

_WORTH_BYTES = 1 << 20
_FEW_REFERENCES = 4
_MOST_LOOKED_FOR = 6
_MOST_TRACKED = 4_000_000
"""Finding what refers to an object means asking every container of the process: 10 to 20 ns each."""
_TRACKED = frozenset({"str", "int", "float", "bytes", "bool", "complex"})


def count_in_full(exposures: Iterable[Exposure], walked: Collection[int]) -> None:
    """Correct objects that were counted in part because large containers outside the walk refer to them too.

    ``walked`` are the ids of the containers that the walk has seen one by one.
    """
    slots = sorted(exposures, key=lambda slot: len(slot.path))
    suspicious = [
        slot
        for slot in slots
        if slot.example is not None
        and 2 <= slot.others <= _FEW_REFERENCES
        and slot.exposed * slot.others >= _WORTH_BYTES
    ]
    tracked = sum(slot.count for slot in slots if slot.type not in _TRACKED)
    if tracked <= _MOST_TRACKED:
        for slot in suspicious[:_MOST_LOOKED_FOR]:
            outside = sum(_is_outside(referrer, walked) for referrer in gc.get_referrers(slot.example))
            if 0 < outside < slot.others:
                _multiply(slots, slot, slot.others / (slot.others - outside))
    for slot in slots:
        slot.example = None


def _is_outside(referrer: Any, walked: Collection[int]) -> bool:
    large = isinstance(referrer, list | tuple | dict | set) and isinstance(referrer, Sized) and len(referrer) > FEW
    return large and id(referrer) not in walked and not _is_ours(referrer)


def _is_ours(referrer: Any) -> bool:
    """A list of the walk's own, of (object, weight, rank)."""
    return isinstance(referrer, list) and type(referrer[0]) is tuple and len(referrer[0]) == 3


def _multiply(slots: Iterable[Exposure], parent: Exposure, factor: float) -> None:
    for slot in slots:
        elements = slot.content and (slot.path, slot.type) == (parent.path, parent.type)
        if slot is parent or elements or slot.path.startswith((f"{parent.path}[", f"{parent.path}.")):
            slot.count *= factor
            slot.exposed *= factor
            slot.held *= factor
