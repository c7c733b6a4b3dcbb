"""Lists inside samples that are as long for every sample: filled by a loop that is the same for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project import containers
from dl_lint.project.syntax import children, dotted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dl_lint.project.context import LoopNode
    from dl_lint.project.model import Project
    from dl_lint.project.values import Collection

_PURE = frozenset({"range", "len", "list", "tuple", "sorted", "reversed", "enumerate", "zip", "int", "min", "max"})
_METHODS = frozenset({"items", "keys", "values"})
"""Functions and methods whose result is as long as what they are given."""


def length(project: Project, value: Collection) -> int | None:
    """How many things a list inside a sample holds, 0 if that is not known but the same for all samples; else None."""
    node = value.node
    around = list(project.loops_around(node)) if node is not None else []
    match node:
        case t.Comprehension(generators=clauses) if around:
            return _times(project, [one.iter for one in clauses], around)
        case t.Call(func=t.Name(id="list" | "tuple"), args=(t.Call() as listed,)) if around:
            return _times(project, [listed], around)
        case t.Sequence(items=items) if around:
            added = [_times(project, loops, around) for loops in _filling(project, node, value.grown, around)]
            known = [one for one in added if one is not None]
            if not added or len(known) < len(added):
                return None
            return len(items) + sum(known) if all(known) else 0
        case _:
            return None


def _filling(
    project: Project, node: t.Node, grown: Iterable[t.Node], around: list[LoopNode]
) -> Iterator[list[t.Expr | None]]:
    """What the loops go over that are around each place which adds to a list, but not around the list itself."""
    for place in (*grown, *_below_key(project, node)):
        inner = [loop for loop in project.loops_around(place) if loop not in around]
        yield [None if isinstance(loop, t.While) else loop.iter for loop in inner]


def _below_key(project: Project, node: t.Node) -> Iterator[t.Node]:
    """The calls ``sample["frames"].append(…)`` for a list in ``sample = {"frames": []}``."""
    above = project.parent(node)
    stmt = project.parent(above) if isinstance(above, t.Mapping) else None
    if not isinstance(above, t.Mapping) or not isinstance(stmt, t.Assign) or len(stmt.targets) != 1:
        return
    key = next((key for key, value in above.items if value is node), None)
    name = stmt.targets[0]
    if isinstance(name, t.Name) and isinstance(key, t.Constant):
        for change in project.site(stmt).scope.changes.get(name.id, ()):
            match change.node:
                case t.Call(func=t.Attribute(value=t.Subscript(index=t.Constant(value=its)))) if its == key.value:
                    yield change.node
                case _:
                    continue


def _times(project: Project, iterated: Iterable[t.Expr | None], around: list[LoopNode]) -> int | None:
    """How often loops run in one pass of those ``around`` them, 0 if that is not known but does not change."""
    times = 1
    for one in iterated:
        if one is None or not _is_plain(one) or any(project.changes_in(one, loop) for loop in around):
            return None
        times *= containers.length(project, one)
    return times


def _is_plain(expr: t.Node) -> bool:
    """Whether an expression gives as many things each time, if nothing in it changes."""
    for child in (expr, *children(expr)):
        if isinstance(child, t.Call):
            last = (dotted(child.func) or "").rpartition(".")
            if last[2] not in (_METHODS if last[1] else _PURE):
                return False
        if child is not expr and not _is_plain(child):
            return False
    return True
