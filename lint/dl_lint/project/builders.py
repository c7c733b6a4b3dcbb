"""Functions that build loaders for several callers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dl_lint.facts import tree as t
    from dl_lint.project.model import Project
    from dl_lint.project.values import Loader


def only_from(project: Project, loaders: Iterable[Loader]) -> tuple[t.Call, ...]:
    """The calls that got ``loaders``, all made at one place, from the function around it, where others call it as well.

    Nothing where they are all its calls, where it has one caller, and where it is not known who got them.
    """
    asked: dict[t.Call, None] = {}
    callers: frozenset[t.Call] = frozenset()
    for loader in loaders:
        function = project.function_of(loader.call)
        callers = frozenset(frame.call for frame in project.callers(function))
        calls = [frame.call for frame in loader.frames if frame.scope is function and frame.call in callers]
        if not calls:
            return ()
        asked.update(dict.fromkeys(calls))
    return tuple(sorted(asked, key=lambda call: (project.path(call), call.at))) if callers - asked.keys() else ()
