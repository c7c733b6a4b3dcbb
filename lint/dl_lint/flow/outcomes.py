"""The outcomes of tests: whether one always holds, never, or depends on something."""

from __future__ import annotations

import ast
from functools import partial
from typing import TYPE_CHECKING, Literal

from dl_lint.flow.placement import ACCELERATORS
from dl_lint.flow.values import (
    NONE,
    Bound,
    Class,
    Collection,
    Const,
    External,
    Function,
    Instance,
    Made,
    Module,
    Number,
    OneOf,
    Option,
    Table,
    Value,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from dl_lint.flow.program import Program


_OBJECTS = (Function, Bound, Class, Made, Instance, Module, External)


def truth(program: Program, test: ast.expr) -> bool | None:
    """Whether a test always holds (True), never (False), or depends on something (None)."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = truth(program, test.operand)
        return None if inner is None else not inner
    return truth_of(program.symbolic(test))


def truth_of(value: Value) -> bool | None:
    match value:
        case Const():
            return bool(value.value)
        case OneOf():
            found = {truth_of(one) for one in value.members}
            return found.pop() if len(found) == 1 else None
        case Collection(items=tuple() as items):
            return bool(items)
        case Table(closed=True):
            return bool(value.items) if not value.items or value.get(value.items[0][0]) else None
        case Number(positive=True):
            return True
        case Function() | Bound() | Class() | Module() | External():
            return True
        case _:
            return None


def decided(test: ast.expr, of_part: Callable[[ast.expr], bool | None]) -> bool | None:
    """How a test comes out by what is known of the parts that ``and``, ``or`` and ``not`` join; None where that does
    not say."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            found = decided(inner, of_part)
            return None if found is None else not found
        case ast.BoolOp(op=op, values=parts):
            decisive = isinstance(op, ast.Or)
            outcomes = [decided(one, of_part) for one in parts]
            return decisive if decisive in outcomes else None if None in outcomes else not decisive
        case _:
            return of_part(test)


def against(left: Value | None, op: ast.cmpop, right: Value) -> bool | None:
    """The outcome of a comparison of a literal with another, or with a list of such; None where that is not known."""
    if not isinstance(left, Const):
        return None
    if isinstance(op, ast.In | ast.NotIn):
        others = right.items if isinstance(right, Collection) and not right.grown else None
        if others is None or not all(isinstance(one, Const) for one in others):
            return None
        return any(isinstance(one, Const) and one.value == left.value for one in others) is isinstance(op, ast.In)
    return decide(op, left, right) if isinstance(right, Const) else None


def by_default(program: Program, test: ast.expr) -> bool | None:
    """How a test of options comes out unless a user asks for something else; None where it is of other things too."""
    return decided(test, partial(_of_options, program))


def _of_options(program: Program, test: ast.expr) -> bool | None:
    match test:
        case ast.Compare(left=left, ops=[op], comparators=[other]):
            return against(_default(program.value(left)), op, program.value(other))
        case ast.Name() | ast.Attribute():
            default = _default(program.value(test))
            return None if default is None else truth_of(default)
        case _:
            return None


def _default(value: Value) -> Const | None:
    """What an option is unless a user asks for something else; None for anything else."""
    return value.default if isinstance(value, Option) and isinstance(value.default, Const) else None


def compare(program: Program, expr: ast.Compare) -> bool | Literal["accelerated"] | None:
    """The outcome of a comparison; ``accelerated`` for a test of the device's type."""
    if len(expr.ops) != 1:
        return None
    left, right, op = program.symbolic(expr.left), program.symbolic(expr.comparators[0]), expr.ops[0]
    found = compared(op, left, right)
    return "accelerated" if found is None and _tests_device(op, left, right) else found


def compared(op: ast.cmpop, left: Value, right: Value) -> bool | None:
    """The outcome of a comparison of two values, None where that is not known."""
    if isinstance(op, ast.Is | ast.IsNot):
        same = _same(left, right)
        return None if same is None else same is isinstance(op, ast.Is)
    return decide(op, left, right) if isinstance(left, Const) and isinstance(right, Const) else None


def _same(left: Value, right: Value) -> bool | None:
    """Whether ``left is right``, of which one is None, True or False."""
    if isinstance(left, Const) and isinstance(right, Const):
        return left == right
    for one, other in ((left, right), (right, left)):
        if one == NONE and isinstance(other, (*_OBJECTS, Collection, Table, Number)):
            return False
    return None


def decide(op: ast.cmpop, left: Const, right: Const) -> bool | None:
    """The outcome of a comparison of two literals."""
    a, b = left.value, right.value
    if isinstance(op, ast.Is | ast.IsNot):
        return (left == right) is isinstance(op, ast.Is)
    if isinstance(op, ast.Eq | ast.NotEq):
        return (a == b) is isinstance(op, ast.Eq)
    if isinstance(a, int | float) and isinstance(b, int | float):
        return {ast.Lt: a < b, ast.LtE: a <= b, ast.Gt: a > b, ast.GtE: a >= b}.get(type(op))
    return None


def _tests_device(op: ast.cmpop, left: Value, right: Value) -> bool:
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Const) and isinstance(one.value, str) and not isinstance(other, Const):
            if one.value in ACCELERATORS and isinstance(op, ast.Eq | ast.In):
                return True
            if one.value == "cpu" and isinstance(op, ast.NotEq):
                return True
    return False
