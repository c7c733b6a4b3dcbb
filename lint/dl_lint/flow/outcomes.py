"""The outcomes of tests: whether one always holds, never, or depends on something."""

from __future__ import annotations

import ast
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


def by_default(program: Program, test: ast.expr) -> bool | None:
    """How a test of options comes out unless a user asks for something else; None where it is of other things too."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            found = by_default(program, inner)
            return None if found is None else not found
        case ast.BoolOp(op=op, values=parts):
            decisive = isinstance(op, ast.Or)
            outcomes = [by_default(program, one) for one in parts]
            return decisive if decisive in outcomes else None if None in outcomes else not decisive
        case ast.Compare(left=left, ops=[op], comparators=[other]):
            one, against = _default(program.value(left)), program.value(other)
            if one is None:
                return None
            if isinstance(op, ast.In | ast.NotIn):
                items = against.items if isinstance(against, Collection) and not against.grown else None
                known = items is not None and all(isinstance(item, Const) for item in items)
                return (one in (items or ())) is isinstance(op, ast.In) if known else None
            return decide(op, one, against) if isinstance(against, Const) else None
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
