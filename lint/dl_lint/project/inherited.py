"""Which methods of a class and of its bases an object has: those that no subclass puts another in the place of."""

from __future__ import annotations

import ast
from functools import partial
from typing import TYPE_CHECKING

from dl_lint.project import attributes, reach
from dl_lint.project.values import Class
from dl_lint.source.syntax import dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.evaluate import Evaluator
    from dl_lint.project.model import Project
    from dl_lint.project.scopes import Scope


def methods(project: Project, cls: Class, attribute: str) -> Iterator[tuple[Scope, str]]:
    """The methods that an object of a class has, each with the name by which it binds ``self.attribute``."""
    for method in in_effect(project.evaluator, cls):
        if method.params:
            yield method, f"{method.params[0].name}.{attribute}"


def in_effect(ev: Evaluator, cls: Class) -> tuple[Scope, ...]:
    """The methods of a class, and those of its bases that it does not define anew or that it calls all the same."""
    return ev.once(("in effect", cls), partial(_in_effect, ev, cls))


def _in_effect(ev: Evaluator, cls: Class) -> tuple[Scope, ...]:
    found: list[Scope] = []
    for one in attributes.lineage(ev, cls):
        if isinstance(one, Class):
            defined = {method.name for method in found if not _is_private(method.name)}
            called = {name for method in found for name in _called_above(method)}
            new = attributes.methods(one)
            found += [method for method in new if method.name not in defined or method.name in called]
    return tuple(found)


def _is_private(name: str) -> bool:
    """Whether a method goes by another name in each class, and so is never defined anew."""
    return name.startswith("__") and not name.endswith("__")


def _called_above(method: Scope) -> Iterator[str]:
    """The methods that one calls as a base has them: ``super().load()``, ``Base.load(self)``."""
    owner = method.params[0].name if method.params else None
    for scope in reach.with_inner(method):
        for call in scope.calls:
            if isinstance(call.func, ast.Attribute) and (
                _is_super(call.func.value) or (call.args and dotted(call.args[0]) == owner is not None)
            ):
                yield call.func.attr


def _is_super(expr: ast.expr) -> bool:
    return isinstance(expr, ast.Call) and dotted(expr.func) == "super"
