"""Tests that cannot hold: two at once, so that what one of them guards never meets what the other does, or one whose
attribute was set to something else right before."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.project import flow
from dl_lint.source.syntax import dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.model import Project


def exclude(project: Project, one: ast.AST, other: ast.AST) -> bool:
    """Whether two places depend on one and the same option, which is a text, and on different texts of it."""
    asked = {name: texts for name, texts in _texts(project, one) if name}
    return any(name in asked and asked[name].isdisjoint(texts) for name, texts in _texts(project, other))


def _texts(project: Project, node: ast.AST) -> Iterator[tuple[str, frozenset[object]]]:
    """What ``self.kind == "clips"`` and ``kind in ("clips", "frames")`` around a node ask for, by the option's name."""
    for test, outcome in project.tests_around(node):
        match test:
            case ast.Compare(ops=(ast.Eq(),), left=left, comparators=(ast.Constant(value=str() as text),)) if outcome:
                yield _name(left), frozenset({text})
            case ast.Compare(
                ops=(ast.In(),),
                left=left,
                comparators=(ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items),),
            ) if outcome:
                if items and all(isinstance(item, ast.Constant) for item in items):
                    yield _name(left), frozenset(item.value for item in items if isinstance(item, ast.Constant))
            case _:
                continue


def _name(expr: ast.expr) -> str:
    """The last part of a dotted name: a parameter is kept under its own name, as a rule."""
    return (dotted(expr) or "").rpartition(".")[2]


def is_settled_otherwise(project: Project, node: ast.AST) -> bool:
    """Whether a place in a method depends on an attribute of self that all callers of the method, constructors as a
    rule, have just set to a constant which leaves the place out: ``self.cut = True`` before ``self.load()``."""
    method = project.function_of(node)
    if not method.is_method or not method.params:
        return False
    for test, outcome in project.tests_around(node):
        while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test, outcome = test.operand, not outcome
        owner, _, attribute = (dotted(test) or "").partition(".")
        if attribute and owner == method.params[0].name:
            set_to = {_set_before(project, frame.call, attribute) for frame in project.callers(method)}
            if set_to == {not outcome}:
                return True
    return False


def _set_before(project: Project, call: ast.Call, attribute: str) -> bool | None:
    """The truth of the constant that ``self.attribute`` of the object whose method is called is set to before; None
    where it is not."""
    owner = dotted(call.func.value) if isinstance(call.func, ast.Attribute) else None
    site = project.site(call)
    found = flow.reaching(site.scope, f"{owner}.{attribute}", site).bindings if owner else ()
    values = {
        one.value.value if isinstance(one.value, ast.Constant) and one.kind == "assign" else None for one in found
    }
    return bool(next(iter(values))) if len(values) == 1 and values.isdisjoint({None}) else None
