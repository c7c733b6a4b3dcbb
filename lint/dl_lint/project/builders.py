"""Functions that build loaders for several callers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project import choosing
from dl_lint.project.values import Loader, alternatives

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dl_lint.project.model import Project
    from dl_lint.project.scopes import Binding, Scope


def only_from(project: Project, loaders: Iterable[Loader]) -> tuple[t.Call, ...]:
    """The calls that got ``loaders``, all made at one place, from the function around it, where others call it as well.

    Nothing where they are all its calls that come to the place, where it has one caller, and where it is not known who
    got them.
    """
    asked: dict[t.Call, None] = {}
    callers: frozenset[t.Call] = frozenset()
    for loader in loaders:
        function = project.function_of(loader.call)
        frames = (one for one in project.callers(function) if not choosing.is_never(project, loader.call, (one,)))
        callers = frozenset(frame.call for frame in frames)
        calls = [frame.call for frame in loader.frames if frame.scope is function and frame.call in callers]
        if not calls:
            return ()
        asked.update(dict.fromkeys(calls))
    return tuple(sorted(asked, key=lambda call: (project.path(call), call.at))) if callers - asked.keys() else ()


def serves_all(project: Project, loader: Loader, only: Iterable[t.Call]) -> bool:
    """Whether the callers besides ``only`` read what the function around ``loader`` builds once, as their last work.

    Workers that stay cost them nothing: they end with the function of the caller.
    """
    callers = {frame.call for frame in project.callers(project.function_of(loader.call))}
    others = callers.difference(only)
    return bool(others) and all(_is_read_last(project, loader, call) for call in others)


def _is_read_last(project: Project, loader: Loader, call: t.Call) -> bool:
    stmt, scope = project.statement_of(call), project.function_of(call)
    if scope.kind != "function" or scope.is_method or scope.yields or project.repeating(call):
        return False
    holding = [
        one
        for bindings in scope.bindings.values()
        for one in bindings
        if one.node is stmt and any(other.call is loader.call for other in _loaders(project, one))
    ]
    if len(holding) != 1 or holding[0].name in scope.outer or _is_read_inside(scope, holding[0].name):
        return False
    reads = [one for one in scope.loads.get(holding[0].name, ()) if _order(project, one) > holding[0].site.order]
    return len(reads) == 1 and _is_iterated_or_passed(project, reads[0]) and _is_last(project, scope, reads[0])


def _loaders(project: Project, binding: Binding) -> tuple[Loader, ...]:
    return tuple(one for one in alternatives(project.bound_value(binding)) if isinstance(one, Loader))


def _order(project: Project, node: t.Node) -> int:
    return project.site(node).order


def _is_read_inside(scope: Scope, name: str) -> bool:
    """Whether a function within, which may outlive this one, reads ``name``."""
    return any(name in inner.loads or _is_read_inside(inner, name) for inner in scope.children)


def _is_iterated_or_passed(project: Project, read: t.Name) -> bool:
    """Whether a loader is gone over here or by a function of the project, which cannot keep it."""
    above = project.parent(read)
    if isinstance(above, t.For):
        return True
    if not isinstance(above, t.Call) or not isinstance(project.statement_of(read), t.ExprStmt | t.Assign | t.For):
        return False
    if isinstance(project.parent(above), t.For):
        return True
    entered = project.entered(above)
    return bool(entered) and not any(one.is_method or one.yields for one in entered)


def _is_last(project: Project, scope: Scope, read: t.Name) -> bool:
    """Whether a function has no loop behind a read, and calls no other function of the project there."""
    stmt = project.statement_of(read)
    later = [*(one.node for one in scope.loops), *(one for one in scope.calls if project.entered(one))]
    around = {read, stmt, *project.ancestors(read)}
    return all(one is stmt for one in project.repeating(read)) and not any(
        _order(project, one) > _order(project, read)
        and one not in around
        and all(loop is not stmt for loop in project.loops_around(one))
        for one in later
    )
