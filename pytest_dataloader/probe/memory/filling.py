"""The line of the user's that fills an attribute which workers pay for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pytest_dataloader.probe.internals.source_places import additions, assignments, places_of
from pytest_dataloader.probe.loader.referents import is_foreign

_STEP = re.compile(r"\.(?P<name>[^\W\d]\w*)|\[(?P<number>\d+)\]")


def filling_site(loader: Any, path: str, *, growing: bool = False) -> str:
    """The line, ``data.py:31``, that fills the attribute which a path such as ``dataset.inner.samples[*]`` begins with.

    Empty where no single line does: it may be filled by another class, by a library, or in several places. Of what is
    ``growing`` while samples are read, only a line that adds to it is meant.
    """
    holder, variable = _held(loader, path)
    if not variable or is_foreign(type(holder).__module__):
        return ""
    places = places_of(base for base in type(holder).__mro__ if not is_foreign(base.__module__))
    for look in (additions,) if growing else (assignments, additions):
        found = {f"{Path(place.file).name}:{line}" for place in places for line in look(place, variable)}
        if found:
            return found.pop() if len(found) == 1 else ""
    return ""


def _held(loader: Any, path: str) -> tuple[Any, str]:
    """The object whose attribute is the last one that the path names before it goes into what that holds."""
    thing, holder, variable, at = loader, None, "", 0
    path = f".{path}"
    while step := _STEP.match(path, at):
        if step["number"] is not None:
            if not isinstance(thing, list | tuple) or int(step["number"]) >= len(thing):
                break
            thing = thing[int(step["number"])]
        elif step["name"] in getattr(thing, "__dict__", {}) or step["name"] in vars(type(thing)):
            holder, variable = thing, step["name"]
            thing = getattr(thing, "__dict__", {}).get(variable, vars(type(thing)).get(variable))
        else:
            break
        at = step.end()
    return (holder, variable) if holder is not loader and not path.startswith(".closure", at) else (None, "")
