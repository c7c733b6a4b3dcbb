"""What the methods of a dataset do with samples besides reading them: change them in place, or join their parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project import attributes, reach, workers
from dl_lint.project.changes import GROWING
from dl_lint.project.syntax import dotted
from dl_lint.project.values import Class

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.model import Project
    from dl_lint.project.scopes import Scope

DEEPEST = 4
"""Names that a part of a sample is followed through."""


def is_updated(project: Project, cls: Class, attribute: str) -> bool:
    """Whether a method stores into a sample of ``self.attribute`` after the object was made."""
    building = workers.building(project, cls)
    for function in _methods(project, cls):
        if function in building:
            continue
        for scope in reach.with_inner(function):
            stored = [one.target.value for one in scope.stores if isinstance(one.target, t.Subscript)]
            for changes in scope.changes.values():
                stored += [
                    one.node.func.value
                    for one in changes
                    if one.kind in GROWING and isinstance(one.node, t.Call) and isinstance(one.node.func, t.Attribute)
                ]
            if any(_is_part(function, one, attribute) for one in stored):
                return True
    return False


def is_joined(project: Project, cls: Class, attribute: str) -> bool:
    """Whether parts of a sample of ``self.attribute`` are added to one another, as lists can be and ranges cannot."""
    methods = set(_methods(project, cls))
    sums = (node for node in project.evaluator.parents if isinstance(node, t.BinOp) and node.op == "+")
    return any(
        function in methods and all(_is_part(function, one, attribute) for one in (node.left, node.right))
        for node, function in ((node, project.function_of(node)) for node in sums)
    )


def _methods(project: Project, cls: Class) -> Iterator[Scope]:
    for one in attributes.lineage(project.evaluator, cls):
        if isinstance(one, Class):
            yield from (method for method in attributes.methods(one) if method.params)


def _is_part(function: Scope, expr: t.Node, attribute: str) -> bool:
    """Whether an expression is a sample of ``self.attribute``, or a part of one, by whatever names."""
    looked_up = False
    for _ in range(DEEPEST * 2):
        match expr:
            case t.Subscript(value=value):
                looked_up, expr = True, value
            case t.Name(id=name):
                bindings = function.bindings.get(name, ())
                if len(bindings) != 1 or bindings[0].kind != "assign" or bindings[0].path or bindings[0].value is None:
                    return False
                expr = bindings[0].value
            case t.Attribute():
                return looked_up and dotted(expr) == f"{function.params[0].name}.{attribute}"
            case _:
                return False
    return False
