"""Changes made from outside to what an object keeps, where a loop repeats them."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dl_lint.project import attributes, reach, workers
from dl_lint.project.values import Collection, Function, Instance, Table, alternatives

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.context import LoopNode
    from dl_lint.project.model import Project
    from dl_lint.project.scopes import Scope
    from dl_lint.project.values import Class


@dataclass(frozen=True, slots=True)
class Mutation:
    """``node`` changes ``attribute`` of an object, which ``read`` reads while a sample is fetched."""

    node: ast.AST
    attribute: str
    read: ast.AST


def within(project: Project, loop: LoopNode, instance: Instance) -> Iterator[Mutation]:
    """The changes to ``instance`` that a loop makes: in its body, and in what that calls in the main process."""
    read = {one.attribute: one.node for one in project.reads(instance.cls)}
    inside = {scope for scope in _scopes_of(project, loop) if _is_inside(project, scope, loop)}
    called = [call for scope in inside for call in scope.calls if loop in project.loops_around(call)]
    targets = (one for call in called for one in workers.functions(project, project.value(call.func)))
    fetching = project.fetching(instance.cls)
    elsewhere = [one for one in project.reachable(*targets) if one not in fetching and one not in inside]
    for scope in (*inside, *elsewhere):
        for node, attribute in _mutating(project, scope, instance):
            if attribute in read and (scope not in inside or loop in project.loops_around(node)):
                yield Mutation(node, attribute, read[attribute])


def _mutating(project: Project, scope: Scope, instance: Instance) -> Iterator[tuple[ast.AST, str]]:
    """What a function does to ``instance``: a statement or a call, and the attribute that it changes."""
    for store in scope.stores:
        if isinstance(store.target, ast.Attribute) and _is_same(project, store.target.value, instance):
            yield store.node, store.target.attr
    for call in scope.calls:
        for attribute in sorted(_changed_by(project, call, instance)):
            yield call, attribute


def _scopes_of(project: Project, loop: LoopNode) -> Iterator[Scope]:
    """The scope of a loop and the comprehensions in it."""
    waiting = [project.site(loop).scope]
    while waiting:
        scope = waiting.pop()
        yield scope
        waiting.extend(inner for inner in scope.children if inner.kind == "comprehension")


def _is_inside(project: Project, scope: Scope, loop: LoopNode) -> bool:
    return scope.node is None or scope.kind != "comprehension" or loop in project.loops_around(scope.node)


def _is_same(project: Project, expr: ast.expr, instance: Instance) -> bool:
    """Whether an expression is that object, and no other."""
    found = alternatives(project.value(expr))
    return all(isinstance(one, Instance) and one.cls == instance.cls and one.call is instance.call for one in found)


def _changed_by(project: Project, call: ast.Call, instance: Instance) -> set[str]:
    """The attributes that a method of ``instance`` stores, or changes in a container of Python."""
    if not isinstance(call.func, ast.Attribute):
        return set()
    method = attributes.of_class(project.evaluator, instance.cls, call.func.attr)
    if not isinstance(method, Function) or not _is_same(project, call.func.value, instance):
        return set()
    found = set()
    for function in reach.reachable(project.evaluator, (method.scope,), instance.cls):
        if function.is_method and function.params and function.name != "__init__":
            prefix = function.params[0].name + "."
            names = set(function.bindings)
            names |= {name for name in function.changes if _is_python(project, instance.cls, name.partition(".")[2])}
            found |= {name[len(prefix) :] for name in names if name.startswith(prefix) and name.count(".") == 1}
    return found


def _is_python(project: Project, cls: Class, attribute: str) -> bool:
    """Whether an attribute is a list, dict or set: a tensor that is changed in place may be shared."""
    for kept in project.kept(cls):
        if kept.attribute == attribute and kept.binding is not None:
            found = alternatives(project.bound_value(kept.binding))
            if any(isinstance(one, Table | Collection) for one in found):
                return True
    return False
