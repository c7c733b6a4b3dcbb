"""Assignments to an attribute that a method called later in the same one makes again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project import attributes, reach
from dl_lint.project.flow import reached_by, visible_at_end
from dl_lint.project.syntax import dotted
from dl_lint.project.values import Class, Function

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.model import Project
    from dl_lint.project.scopes import Binding, Scope


def is_overwritten(project: Project, cls: Class, method: Scope, attribute: str, binding: Binding) -> bool:
    """Whether ``method`` goes on, on every way, to a method of self that assigns the attribute anew without a look at
    what it held."""
    owner = method.params[0].name
    for call in method.calls:
        site = project.site(call)
        if site.order <= binding.site.order or not (name := _own_method(call, owner)):
            continue
        target = attributes.of_class(project.evaluator, cls, name)
        if not isinstance(target, Function) or reached_by(site, None) != "always":
            continue
        if _assigns_anew(project, target.scope, attribute):
            return not _is_read_between(project, method, attribute, binding.site.order, site.order)
    return False


def _own_method(call: t.Call, owner: str) -> str | None:
    func = call.func
    return func.attr if isinstance(func, t.Attribute) and dotted(func.value) == owner else None


def _assigns_anew(project: Project, method: Scope, attribute: str) -> bool:
    """Whether a method always leaves the attribute assigned, and does not read it, itself or through others."""
    if not method.is_method or not method.params:
        return False
    found = visible_at_end(method, f"{method.params[0].name}.{attribute}")
    if not found.certain or any(one.kind != "assign" for one in found.bindings):
        return False
    functions = reach.reachable(project.evaluator, (method,))
    return not any(True for one in functions for _ in _reads(project, one, attribute))


def _reads(project: Project, function: Scope, attribute: str) -> Iterator[int]:
    """Where a method reads ``self.attribute``, by its place in the order of the function."""
    if not function.is_method or not function.params:
        return
    for scope in reach.with_inner(function):
        for load in scope.loads.get(function.params[0].name, ()):
            above = project.parent(load)
            if isinstance(above, t.Attribute) and above.attr == attribute:
                outer = project.parent(above)
                if not isinstance(outer, t.Assign) or above is outer.value:
                    yield project.site(above).order


def _is_read_between(project: Project, method: Scope, attribute: str, start: int, end: int) -> bool:
    return any(start < order < end for order in _reads(project, method, attribute))
