"""Loaders of which one name gets one or the other: each branch of an ``if`` builds its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project.syntax import dotted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dl_lint.project.model import Project
    from dl_lint.project.values import Loader

Repeated = tuple["Loader", t.Node, str]
"""A loader, what iterates it again, and why that is in doubt."""


def alike(project: Project, repeated: Iterable[Repeated]) -> list[Repeated]:
    """The same, where one doubt holds for all loaders that a loop may find by one name.

    By which branch a caller goes is often an option; how often the loop goes round is not known any better for that.
    """
    found = list(repeated)
    doubts: dict[tuple[object, ...], str] = {}
    for loader, again, doubt in found:
        if doubt:
            doubts.setdefault(_name(project, loader, again), doubt)
    return [(loader, again, doubt or doubts.get(_name(project, loader, again), "")) for loader, again, doubt in found]


def _name(project: Project, loader: Loader, again: t.Node) -> tuple[object, ...]:
    """What ties a loader to its fellows: the loop, the function and the name that it is built for."""
    stmt = project.statement_of(loader.call)
    names = tuple(map(dotted, stmt.targets)) if isinstance(stmt, t.Assign) and stmt.value is loader.call else ()
    return (again, project.function_of(loader.call), *(names or (loader.call,)))
