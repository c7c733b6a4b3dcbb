"""Operators that classes define, and divisions that say something of the sign of what comes out."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.flow.interpreter import classes, objects
from dl_lint.flow.interpreter.operations import share
from dl_lint.flow.values import Bound, Class, Instance, Made, Value, alternatives, union

if TYPE_CHECKING:
    from dl_lint.flow.program import Program

_METHODS: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.MatMult: "matmul", ast.BitOr: "or", ast.BitAnd: "and", ast.RShift: "rshift", ast.LShift: "lshift",
}  # fmt: skip


def overloaded(program: Program, expr: ast.BinOp, left: Value, right: Value) -> Value | None:
    """What a method of the project makes of an operator; of torch's datasets ``+`` gives one that holds both, which is
    either of them. None for other operands."""
    name = _METHODS.get(type(expr.op), "")
    found = [_of_one(program, one, f"__{name}__") for one in alternatives(left)]
    found += [_of_one(program, one, f"__r{name}__") for one in alternatives(right)]
    known = [one for one in found if one is not None]
    return union(known) if known else None


def _of_one(program: Program, operand: Value, method: str) -> Value | None:
    match operand:
        case Instance() as made:
            found = objects.of_instance(program, made, method)
            if isinstance(found, Bound):
                return objects.of_function(program, found.function, None, made)
            bases: tuple[str, ...] = classes.external_bases(program, made.cls)
        case Made(name=name, cls=cls):
            bases = classes.external_bases(program, cls) if isinstance(cls, Class) else (name,)
        case _:
            return None
    is_sum = method in ("__add__", "__radd__") and any(program.models.has(base, "MapDataset") for base in bases)
    return operand if is_sum else None


def divided_up(program: Program, expr: ast.BinOp) -> Value | None:
    """``(workers + ranks - 1) / ranks``, which is rounded up: at least one where there are workers to divide, as the
    user asks or by default. None for other divisions."""
    if not isinstance(expr.op, ast.Div | ast.FloorDiv):
        return None
    match expr.left:
        case ast.BinOp(ast.BinOp(whole, ast.Add(), by), ast.Sub(), ast.Constant(value=1)):
            pass
        case ast.BinOp(whole, ast.Add(), ast.BinOp(by, ast.Sub(), ast.Constant(value=1))):
            pass
        case _:
            return None
    return share(program.symbolic(whole)) if ast.unparse(by) == ast.unparse(expr.right) else None
