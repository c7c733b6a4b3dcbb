"""Caches that are full before there are workers: the constructor calls what fills them, for one key after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project import attributes, context
from dl_lint.project.syntax import dotted
from dl_lint.project.values import Const, Function, alternatives

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.context import LoopNode
    from dl_lint.project.model import Project
    from dl_lint.project.scopes import Scope
    from dl_lint.project.values import Class


def is_full(project: Project, cls: Class, function: Scope) -> bool:
    """Whether ``__init__``, or a method that it calls in any case, calls ``function`` for each of many keys."""
    first = attributes.of_class(project.evaluator, cls, "__init__")
    waiting = [first.scope] if isinstance(first, Function) else []
    seen: set[Scope] = set()
    while waiting:
        scope = waiting.pop()
        if scope in seen:
            continue
        seen.add(scope)
        for call, method in _entered(project, cls, scope):
            if method is function and any(_goes_over(project, call, loop) for loop in project.loops_around(call)):
                return True
            waiting.append(method)
    return False


def _entered(project: Project, cls: Class, scope: Scope) -> Iterator[tuple[t.Call, Scope]]:
    """The methods of self that a method calls under no condition."""
    owner = scope.params[0].name if scope.params else None
    for call in scope.calls:
        if isinstance(call.func, t.Attribute) and dotted(call.func.value) == owner is not None:
            method = attributes.of_class(project.evaluator, cls, call.func.attr)
            if isinstance(method, Function) and not any(True for _ in project.tests_around(call)):
                yield call, method.scope


def _goes_over(project: Project, call: t.Call, loop: LoopNode) -> bool:
    """Whether a loop goes over a whole collection and gives each key to a call: not ``range(8)``, ``keys[:8]``."""
    over = getattr(loop, "iter", None)
    if over is None or isinstance(over, t.Subscript):
        return False
    if context.is_left_by_break(loop) or context.goes_on_early(loop):
        return False
    if isinstance(over, t.Call) and over.args:
        given = [one for argument in over.args for one in alternatives(project.value(argument))]
        if all(isinstance(one, Const) for one in given):
            return False
    return any(project.changes_in(argument, loop) for argument in call.args)
