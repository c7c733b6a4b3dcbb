"""What a data set does once, when the first sample is asked for: ``if not self.is_ready: self.load()``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project import attributes
from dl_lint.project.repetition import names_in
from dl_lint.project.syntax import dotted
from dl_lint.project.values import Function

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.model import Project
    from dl_lint.project.scopes import Scope
    from dl_lint.project.values import Class


def is_done_once(project: Project, cls: Class, function: Scope) -> bool:
    """Whether fetching samples comes to ``function``, a method, only by way of one that keeps itself from running
    again: it sets what is asked before it is called, or at its own beginning."""
    methods = [one for one in project.fetching(cls) if one.is_method and one.params]
    called = {one: tuple(_called(project, cls, one)) for one in methods}
    entered = {method for calls in called.values() for _, method in calls}
    reached: set[Scope] = set()
    waiting = [one for one in methods if one not in entered or one.name.startswith("__")]
    while waiting:
        scope = waiting.pop()
        if scope not in reached:
            reached.add(scope)
            waiting += [method for call, method in called.get(scope, ()) if not _is_guarded(project, call, method)]
    return function in entered and function not in reached


def _called(project: Project, cls: Class, scope: Scope) -> Iterator[tuple[t.Call, Scope]]:
    """The methods of its own object that a method calls."""
    for call in scope.calls:
        if isinstance(call.func, t.Attribute) and dotted(call.func.value) == scope.params[0].name:
            method = attributes.of_class(project.evaluator, cls, call.func.attr)
            if isinstance(method, Function) and method.scope.params:
                yield call, method.scope


def _is_guarded(project: Project, call: t.Call, method: Scope) -> bool:
    """Whether a call, or the body of what it calls, depends on attributes of which the method sets one."""
    own = method.params[0].name
    kept = {
        one.target.attr
        for one in method.stores
        if isinstance(one.target, t.Attribute) and dotted(one.target.value) == own and not one.op
    }
    caller = project.function_of(call).params[0].name
    if any(_asks_for(test, caller, kept) for test, _ in project.tests_around(call)):
        return True
    body = method.node.body if isinstance(method.node, t.FunctionDef) else ()
    return any(
        isinstance(one, t.If) and isinstance(one.body[-1], t.Return) and _asks_for(one.test, own, kept) for one in body
    )


def _asks_for(test: t.Expr, own: str, kept: set[str]) -> bool:
    """Whether a test asks for one of some attributes, and for nothing that a sample brings with it."""
    asked = list(names_in(test))
    return all(name.startswith(own + ".") for name in asked) and any(name.partition(".")[2] in kept for name in asked)
