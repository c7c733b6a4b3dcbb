"""What a call passes: by position, by keyword, through ``*`` and ``**``, a partial or a subclass's constructor."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dl_lint.project import apply, attributes, names
from dl_lint.project.frameworks import LOADERS, SAMPLERS
from dl_lint.project.values import (
    ABSENT,
    UNKNOWN,
    Absent,
    Class,
    Collection,
    Const,
    Frame,
    Frames,
    Function,
    Literal,
    Made,
    Partial,
    Table,
    Value,
    alternatives,
    union,
)

if TYPE_CHECKING:
    from dl_lint.project.evaluate import Evaluator
    from dl_lint.project.scopes import Scope
    from dl_lint.source.syntax import Param


@dataclass(frozen=True, slots=True)
class Given:
    """An argument as a call gives it: what it is, parameters left open, and the node that says so."""

    symbolic: Value
    node: ast.AST


def given(ev: Evaluator, call: ast.Call, positions: tuple[str, ...], name: str) -> Given:
    """The argument ``name`` of a call whose callee takes ``positions`` in order; ``ABSENT`` if it is not given."""
    found = _given_here(ev, call, positions, name)
    if isinstance(found.symbolic, Absent):
        func = ev.symbolic(call.func)
        if isinstance(func, Partial):
            return _given_here(ev, func.call, ("", *positions), name)
    return found


def _given_here(ev: Evaluator, call: ast.Call, positions: tuple[str, ...], name: str) -> Given:
    for keyword in call.keywords:
        if keyword.arg == name:
            return Given(ev.symbolic(keyword.value), keyword)
    positional = _by_position(ev, call, positions, name)
    if positional is not None and not isinstance(positional.node, ast.Starred):
        return positional
    found: Value = ABSENT
    node: ast.AST = call if positional is None else positional.node
    for keyword in call.keywords:
        if keyword.arg is None:
            inside = apply.keyword(ev.symbolic(keyword.value), name)
            if not isinstance(inside, Absent):
                found, node = apply.found(inside, found), keyword
    return Given(found if positional is None else apply.otherwise(positional.symbolic, found), node)


def _by_position(ev: Evaluator, call: ast.Call, positions: tuple[str, ...], name: str) -> Given | None:
    if name not in positions:
        return None
    at = positions.index(name)
    for index, argument in enumerate(call.args[: at + 1]):
        if isinstance(argument, ast.Starred):
            return Given(apply.position(ev.symbolic(argument.value), Const(at - index, "int")), argument)
    return Given(ev.symbolic(call.args[at]), call.args[at]) if at < len(call.args) else None


# --- parameters of the project's functions --------------------------------------------------


def bound(ev: Evaluator, frame: Frame, param: Param) -> Value:
    """What ``frame.call`` passes for a parameter of ``frame.scope``, as the caller sees it."""
    return ev.solver.solve(("argument", frame, param), lambda: _bound(ev, frame, param))


def _bound(ev: Evaluator, frame: Frame, param: Param) -> Value:
    positions = _positions(ev, frame)
    if param.kind == "args":
        rest = frame.call.args[len(positions) :]
        return Collection("tuple", tuple(ev.symbolic(arg) for arg in rest), UNKNOWN, None) if _plain(rest) else UNKNOWN
    if param.kind == "kwargs":
        return _rest(ev, frame.call, frame.scope)
    found = given(ev, frame.call, positions, param.name).symbolic
    return apply.found(found, ev.symbolic(param.default) if param.default is not None else UNKNOWN)


def _plain(args: list[ast.expr]) -> bool:
    return not any(isinstance(arg, ast.Starred) for arg in args)


def _positions(ev: Evaluator, frame: Frame) -> tuple[str, ...]:
    scope = frame.scope
    positions = tuple(p.name for p in scope.params if p.kind in ("plain", "positional"))
    return positions[1:] if scope.is_method and not _passes_self(ev, frame) else positions


def _passes_self(ev: Evaluator, frame: Frame) -> bool:
    """Whether a call of a method names the object itself: static methods, ``Base.__init__(self, …)``."""
    kinds = attributes.decorators(frame.scope)
    if "staticmethod" in kinds:
        return True
    func = frame.call.func
    if "classmethod" in kinds or not isinstance(func, ast.Attribute) or frame.scope.name != func.attr:
        return False
    return isinstance(ev.symbolic(func.value), Class)


def _rest(ev: Evaluator, call: ast.Call, scope: Scope) -> Value:
    """What arrives in ``**kwargs``."""
    taken = {p.name for p in scope.params if p.kind in ("plain", "keyword")}
    items: dict[Literal, Value] = {}
    closed = True
    for keyword in call.keywords:
        if keyword.arg is not None:
            if keyword.arg not in taken:
                items[keyword.arg] = ev.symbolic(keyword.value)
            continue
        tables = [one for one in alternatives(ev.symbolic(keyword.value)) if isinstance(one, Table)]
        closed = closed and len(tables) == len(alternatives(ev.symbolic(keyword.value)))
        closed = closed and all(table.closed for table in tables)
        for key in {key for table in tables for key, _ in table.items if key not in taken}:
            items[key] = apply.found(union(table.get(key) for table in tables), items.get(key))
    return Table(tuple(items.items()), closed, call)


# --- objects made outside ------------------------------------------------------------------


def argument(ev: Evaluator, made: Made, name: str) -> Given | None:
    """An argument of the outside constructor behind ``made``; None if the way to it is not known."""
    inner = innermost(ev, made)
    if inner is None:
        return None
    call, frames = inner
    positions = LOADERS.get(made.name) or SAMPLERS.get(made.name) or ()
    found = given(ev, call, positions, name)
    return Given(ev.through(found.symbolic, frames), found.node)


def innermost(ev: Evaluator, made: Made) -> tuple[ast.Call, Frames] | None:
    """The call that reaches the outside constructor: ``made.call``, or the last ``super().__init__`` on the way."""
    call, frames = made.call, made.frames
    if made.cls is None:
        return call, frames
    for cls in attributes.lineage(ev, made.cls):
        if not isinstance(cls, Class):
            break
        init = cls.scope.bindings.get("__init__")
        if not init:
            continue
        function = names.of_binding(ev, init[-1])
        if not isinstance(function, Function):
            return None
        inner = _super_call(function.scope)
        if inner is None:
            return None
        call, frames = inner, (Frame(function.scope, call), *frames)
    return call, frames


def _super_call(init: Scope) -> ast.Call | None:
    for call in init.calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr == "__init__":
            return call
    return None
