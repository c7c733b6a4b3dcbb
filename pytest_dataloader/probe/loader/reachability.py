"""Whether some objects lead to others, by any references."""

from __future__ import annotations

import gc
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

_OBJECTS = 200_000
"""Looked at, at most: 20 to 50 ms."""
_ELSEWHERE = (types.ModuleType, type, types.FrameType, types.CodeType)
"""Everything leads to modules and classes, and from there to everything."""


def reached(start: Iterable[Any], wanted: Iterable[Any]) -> set[int]:
    """The ids of those ``wanted`` that can be reached from one of the ``start``, through at most 200,000 objects."""
    looked_for = {id(thing) for thing in wanted}
    layer = list(start)
    seen = {id(thing) for thing in layer}
    found = seen & looked_for
    while layer and len(seen) < _OBJECTS and found != looked_for:
        following = []
        for thing in gc.get_referents(*layer):
            if id(thing) not in seen and not isinstance(thing, _ELSEWHERE):
                seen.add(id(thing))
                following.append(_inside(thing))
        found = seen & looked_for
        layer = following
    return found


def _inside(thing: Any) -> Any:
    """A function leads to its closure, and by its globals to all of its module, which is not meant."""
    return thing.__closure__ if isinstance(thing, types.FunctionType) else thing
