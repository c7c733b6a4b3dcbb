"""What a call passes: by position, by keyword, through ``*`` and ``**``, a partial or a subclass's constructor."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dl_lint.flow import scopes
from dl_lint.flow.interpreter import classes, names, operations
from dl_lint.flow.values import (
    ABSENT,
    UNKNOWN,
    Absent,
    Bound,
    Class,
    Collection,
    Const,
    Frame,
    Frames,
    Function,
    Instance,
    Literal,
    Made,
    Partial,
    Table,
    Value,
    alternatives,
    union,
)

if TYPE_CHECKING:
    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import Scope
    from dl_lint.source.syntax import Param


@dataclass(frozen=True, slots=True)
class Given:
    """An argument as a call gives it: what it is, parameters left open, and the node that says so."""

    symbolic: Value
    node: ast.AST


def given(program: Program, call: ast.Call, positions: tuple[str, ...], name: str) -> Given:
    """The argument ``name`` of a call whose callee takes ``positions`` in order; ``ABSENT`` if it is not given."""
    found = _given_here(program, call, positions, name)
    if isinstance(found.symbolic, Absent):
        func = program.symbolic(call.func)
        if isinstance(func, Partial):
            return _given_here(program, func.call, ("", *positions), name)
    return found


def _given_here(program: Program, call: ast.Call, positions: tuple[str, ...], name: str) -> Given:
    for keyword in call.keywords:
        if keyword.arg == name:
            return Given(program.symbolic(keyword.value), keyword)
    positional = _by_position(program, call, positions, name)
    if positional is not None and not isinstance(positional.node, ast.Starred):
        return positional
    found: Value = ABSENT
    node: ast.AST = call if positional is None else positional.node
    for keyword in call.keywords:
        if keyword.arg is None:
            inside = operations.keyword(program, program.symbolic(keyword.value), name)
            if not isinstance(inside, Absent):
                found, node = operations.found(inside, found), keyword
    return Given(found if positional is None else operations.otherwise(positional.symbolic, found), node)


def _by_position(program: Program, call: ast.Call, positions: tuple[str, ...], name: str) -> Given | None:
    if name not in positions:
        return None
    at = positions.index(name)
    for index, argument in enumerate(call.args[: at + 1]):
        if isinstance(argument, ast.Starred):
            return Given(operations.position(program.symbolic(argument.value), Const(at - index, "int")), argument)
    return Given(program.symbolic(call.args[at]), call.args[at]) if at < len(call.args) else None


# --- parameters of the project's functions --------------------------------------------------


def bound(program: Program, frame: Frame, param: Param) -> Value:
    """What ``frame.call`` passes for a parameter of ``frame.scope``, as the caller sees it."""
    return program.solver.solve(("argument", frame, param), lambda: _bound(program, frame, param))


def passed(program: Program, frame: Frame, name: str) -> Given:
    """What ``frame.call`` gives for the parameter ``name`` of ``frame.scope``, without its default."""
    return given(program, frame.call, _positions(program, frame), name)


def _bound(program: Program, frame: Frame, param: Param) -> Value:
    positions = _positions(program, frame)
    if param.kind == "args":
        rest = frame.call.args[len(positions) :]
        return (
            Collection("tuple", tuple(program.symbolic(arg) for arg in rest), UNKNOWN, None)
            if _plain(rest)
            else UNKNOWN
        )
    if param.kind == "kwargs":
        return _rest(program, frame.call, frame.scope)
    return passed_on(program, frame.call, param, positions)


def passed_on(program: Program, call: ast.Call, param: Param, positions: tuple[str, ...]) -> Value:
    """What a call gives for a parameter, or its default; UNKNOWN where it has none."""
    found = given(program, call, positions, param.name).symbolic
    return operations.found(found, program.symbolic(param.default) if param.default is not None else UNKNOWN)


def _plain(args: list[ast.expr]) -> bool:
    return not any(isinstance(arg, ast.Starred) for arg in args)


def _positions(program: Program, frame: Frame) -> tuple[str, ...]:
    scope = frame.scope
    positions = tuple(p.name for p in scope.params if p.kind in ("plain", "positional"))
    return positions[1:] if scope.is_method and not _passes_self(program, frame) else positions


def _passes_self(program: Program, frame: Frame) -> bool:
    """Whether a call of a method names the object itself: static methods, ``Base.__init__(self, …)``."""
    kinds = scopes.decorators(frame.scope)
    if "staticmethod" in kinds:
        return True
    func = frame.call.func
    if "classmethod" in kinds or not isinstance(func, ast.Attribute) or frame.scope.name != func.attr:
        return False
    return isinstance(program.symbolic(func.value), Class)


def _rest(program: Program, call: ast.Call, scope: Scope) -> Value:
    """What arrives in ``**kwargs``."""
    taken = {p.name for p in scope.params if p.kind in ("plain", "keyword")}
    items: dict[Literal, Value] = {}
    closed = True
    for keyword in call.keywords:
        if keyword.arg is not None:
            if keyword.arg not in taken:
                items[keyword.arg] = program.symbolic(keyword.value)
            continue
        tables = [one for one in alternatives(program.symbolic(keyword.value)) if isinstance(one, Table)]
        closed = closed and len(tables) == len(alternatives(program.symbolic(keyword.value)))
        closed = closed and all(table.closed for table in tables)
        for key in dict.fromkeys(key for table in tables for key, _ in table.items if key not in taken):
            items[key] = operations.found(union(table.get(key) for table in tables), items.get(key))
    return Table(tuple(items.items()), closed, call)


# --- whether a call binds ---------------------------------------------------------------------


def rejection(program: Program, callee: Value, given: int, named: frozenset[str] = frozenset()) -> str | None:
    """Why a call of ``callee`` with ``given`` arguments by position, and those ``named``, is a TypeError: completes
    "it …". None where it is none, and where nobody knows."""
    match callee:
        case Partial(func=func, call=call):
            bound, keywords = call.args[1:], {keyword.arg for keyword in call.keywords}
            if not _plain(bound) or None in keywords:
                return None
            named |= {name for name in keywords if name is not None}
            inner = alternatives(program.resolve(func))
            found = {rejection(program, one, given + len(bound), named) for one in inner}
            return found.pop() if len(found) == 1 else None
        case Bound(function=function):
            return _unbound(function.scope, given + 1, named)
        case Function(scope=scope):
            return _unbound(scope, given, named)
        case Instance(cls=cls):
            return _of_method(program, cls, "__call__", given, named)
        case Class():
            return _of_method(program, callee, "__init__", given, named)
        case _:
            return None


def _of_method(program: Program, cls: Class, name: str, given: int, named: frozenset[str]) -> str | None:
    found = classes.of_class(program, cls, name)
    return _unbound(found.scope, given + 1, named) if isinstance(found, Function) else None


def _unbound(scope: Scope, given: int, named: frozenset[str]) -> str | None:
    """Why a call does not bind to the parameters of a function. Decorators may change them."""
    if not scopes.decorators(scope) <= {"staticmethod", "classmethod"}:
        return None
    kinds = {param.kind for param in scope.params}
    positional = [param for param in scope.params if param.kind in ("positional", "plain")]
    own = 1 if scope.receiver is not None else 0
    if given > len(positional) and "args" not in kinds:
        takes = len(positional) - own
        return f"takes {takes or 'no'} argument{'s' if takes > 1 else ''} and gets {given - own}"
    twice = [param.name for param in positional[:given] if param.name in named]
    if twice:
        return f"gets `{twice[0]}` by position and by name"
    by_name = {param.name for param in scope.params if param.kind in ("plain", "keyword")}
    if "kwargs" not in kinds and not named <= by_name:
        return f"has no parameter `{min(named - by_name)}`"
    open_ones = [*positional[given:], *(param for param in scope.params if param.kind == "keyword")]
    missing = [f"`{param.name}`" for param in open_ones if param.default is None and param.name not in named]
    return f"also needs {' and '.join(missing)}" if missing else None


# --- objects made outside ------------------------------------------------------------------


def argument(program: Program, made: Made, name: str) -> Given | None:
    """An argument of the outside constructor behind ``made``; None if the way to it is not known."""
    inner = innermost(program, made)
    if inner is None:
        return None
    call, frames = inner
    positions = program.models.get(made.name).positions
    found = given(program, call, positions, name)
    return Given(program.through(found.symbolic, frames), found.node)


def innermost(program: Program, made: Made) -> tuple[ast.Call, Frames] | None:
    """The call that reaches the outside constructor: ``made.call``, or the last ``super().__init__`` on the way."""
    call, frames = made.call, made.frames
    if made.cls is None:
        return call, frames
    for cls in classes.lineage(program, made.cls):
        if not isinstance(cls, Class):
            break
        init = cls.scope.bindings.get("__init__")
        if not init:
            continue
        function = names.of_binding(program, init[-1])
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
