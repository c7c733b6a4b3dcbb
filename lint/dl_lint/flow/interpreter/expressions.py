"""What each kind of expression stands for, parameters left open."""

from __future__ import annotations

import ast
import operator
from typing import TYPE_CHECKING, Any

from dl_lint.flow import placement
from dl_lint.flow.interpreter import names, objects, operations, operators, tensor_memory
from dl_lint.flow.outcomes import compare, truth
from dl_lint.flow.program import evaluates
from dl_lint.flow.values import (
    TOO_LARGE,
    UNKNOWN,
    Batch,
    Collection,
    Const,
    CpuCount,
    Derived,
    Function,
    Literal,
    Made,
    Option,
    Parameter,
    Picked,
    Table,
    Tensor,
    Unknown,
    Value,
    WhenAccelerated,
    alternatives,
    literal,
    union,
)
from dl_lint.source.syntax import Comprehension, Display, dotted, made_by

if TYPE_CHECKING:
    from collections.abc import Callable

    from dl_lint.flow.program import Program


FEW_ITEMS = 1_000
"""The head of a container that is short whatever its length: of paths, less than a page of memory a worker."""

MOST_IN_A_POWER = 1_024
"""Of either operand: ``10**6`` and ``1024**3`` are numbers that people write."""

MOST_ITEMS = 24
"""Items of a literal that are kept one by one."""


@evaluates(ast.Constant)
def _constant(_ev: Program, expr: ast.Constant) -> Value:
    return literal(expr)


@evaluates(ast.Attribute)
def _attribute(program: Program, expr: ast.Attribute) -> Value:
    stored = names.stored(program, expr)
    if stored is not None:
        return stored
    base = program.symbolic(expr.value)
    left = objects.before_stored(program, base, expr)
    return program.attribute(base, expr.attr) if left is None else left


@evaluates(ast.Subscript)
def _subscript(program: Program, expr: ast.Subscript) -> Value:
    base = program.symbolic(expr.value)
    if not isinstance(expr.slice, ast.Slice):
        return operations.item(program, base, tensor_memory.index_value(program, expr))
    found = operations.sliced(
        program, base, Picked(expr, apart=True) if tensor_memory.is_scattered(expr.slice) else UNKNOWN
    )
    if isinstance(found, Collection) and isinstance(found.element, Derived | Made | Unknown) and _takes_few(expr.slice):
        return Collection(found.kind, None, UNKNOWN, None)  # as short as the code says, whatever it was taken from
    return found


def _takes_few(index: ast.Slice) -> bool:
    upper = index.upper
    return isinstance(upper, ast.Constant) and isinstance(upper.value, int) and upper.value <= FEW_ITEMS


@evaluates(ast.Tuple, ast.List, ast.Set)
def _sequence(program: Program, expr: Display) -> Value:
    if any(isinstance(item, ast.Starred) for item in expr.elts) or len(expr.elts) > MOST_ITEMS:
        sample = [_member(program, item) for item in expr.elts[:MOST_ITEMS]]
        return Collection(made_by(expr), None, union(sample), expr)
    items = tuple(program.symbolic(item) for item in expr.elts)
    return Collection(made_by(expr), items, UNKNOWN, expr)


def _member(program: Program, item: ast.expr) -> Value:
    return (
        operations.iterate(program, program.symbolic(item.value))
        if isinstance(item, ast.Starred)
        else program.symbolic(item)
    )


@evaluates(ast.Dict)
def _mapping(program: Program, expr: ast.Dict) -> Value:
    items: dict[Literal, Value] = {}
    closed = len(expr.keys) <= 4 * MOST_ITEMS
    below: Value | None = None
    for key, value in zip(expr.keys[: 4 * MOST_ITEMS], expr.values, strict=False):
        if key is None:
            other = program.symbolic(value)
            if below is None and not items and isinstance(other, Parameter | Derived):
                below = other
            else:
                closed &= _merge(items, other)
            continue
        name = program.symbolic(key)
        if isinstance(name, Const):
            items[name.value] = program.symbolic(value)
        else:
            closed = False
    table = Table(tuple(items.items()), closed, expr)
    return table if below is None else operations.laid(below, table)


def _merge(items: dict[Literal, Value], other: Value) -> bool:
    """Lay ``**other`` over ``items``; False if it may hold more than is known."""
    tables = [one for one in alternatives(other) if isinstance(one, Table)]
    if len(tables) < len(alternatives(other)):
        items.update((key, union((value, UNKNOWN))) for key, value in items.items())
    for key in dict.fromkeys(key for table in tables for key, _ in table.items):
        items[key] = union(operations.found(table.get(key), items.get(key)) for table in tables)
    return bool(tables) and len(tables) == len(alternatives(other)) and all(table.closed for table in tables)


@evaluates(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
def _comprehension(program: Program, expr: Comprehension) -> Value:
    if isinstance(expr, ast.DictComp):
        element, keys = program.symbolic(expr.value), _spelled_out_keys(program, expr)
        if keys:
            return Table(tuple((key, element) for key in keys), True, expr)
        return Collection("dict", None, element, expr)
    return Collection(made_by(expr), None, program.symbolic(expr.elt), expr)


def _spelled_out_keys(program: Program, expr: ast.DictComp) -> dict[Literal, None]:
    """The keys of ``{phase: … for phase in ["train", "val"]}``, if all are known."""
    match expr:
        case ast.DictComp(
            generators=[ast.comprehension(target=ast.Name(id=name), iter=over, ifs=[])], key=ast.Name(id=key)
        ):
            found = program.symbolic(over) if name == key else None
            items = (found.items or ()) if isinstance(found, Collection) else ()
            return {one.value: None for one in items if isinstance(one, Const)} if _are_constant(items) else {}
        case _:
            return {}


def _are_constant(items: tuple[Value, ...]) -> bool:
    return len(items) <= 4 * MOST_ITEMS and all(isinstance(one, Const) for one in items)


@evaluates(ast.IfExp)
def _conditional(program: Program, expr: ast.IfExp) -> Value:
    decided = truth(program, expr.test)
    if decided is not None:
        return program.symbolic(expr.body if decided else expr.orelse)
    return union((program.symbolic(expr.body), program.symbolic(expr.orelse)))


@evaluates(ast.BoolOp)
def _bool_op(program: Program, expr: ast.BoolOp) -> Value:
    """``a or b`` is the first true operand; what cannot be decided is a union."""
    if isinstance(expr.op, ast.And) and _asks_for_accelerator(program, expr):
        return WhenAccelerated()
    found: list[Value] = []
    stop = isinstance(expr.op, ast.Or)
    for at, operand in enumerate(expr.values):
        decided = truth(program, operand)
        last = at == len(expr.values) - 1
        if decided is not None and decided is not stop and not last:
            continue
        found.append(program.symbolic(operand))
        if decided is stop:
            break
    return union(found)


def _asks_for_accelerator(program: Program, expr: ast.BoolOp) -> bool:
    """Whether an accelerator is used unless an option says otherwise: ``available and not args.no_cuda``."""
    available = [isinstance(program.symbolic(operand), WhenAccelerated) for operand in expr.values]
    return any(available) and all(
        known or _names_device(one) for known, one in zip(available, expr.values, strict=True)
    )


def _names_device(operand: ast.expr) -> bool:
    while isinstance(operand, ast.UnaryOp):
        operand = operand.operand
    name = (dotted(operand) or "").rpartition(".")[2].lower()
    return any(part in name for part in ("cuda", "gpu", "cpu", "accel", "device"))


@evaluates(ast.UnaryOp)
def _unary(program: Program, expr: ast.UnaryOp) -> Value:
    if isinstance(expr.op, ast.Not):
        decided = truth(program, expr.operand)
        return UNKNOWN if decided is None else Const(not decided, "bool")
    value = program.symbolic(expr.operand)
    if isinstance(expr.op, ast.USub) and isinstance(value, Const) and isinstance(value.value, int | float):
        return Const(-value.value, value.kind)
    return UNKNOWN


_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
}


@evaluates(ast.BinOp)
def _binary(program: Program, expr: ast.BinOp) -> Value:
    left, right = program.symbolic(expr.left), program.symbolic(expr.right)
    own = operators.overloaded(program, expr, left, right)
    if own is not None:
        return own
    shared = operators.divided_up(program, expr)
    if shared is not None:
        return shared
    counts = [one for side in (left, right) for one in alternatives(side) if isinstance(one, CpuCount)]
    if counts:
        return union(counts)
    if isinstance(left, Const) and isinstance(right, Const) and type(expr.op) in _ARITHMETIC:
        return _computed(expr.op, left, right)
    if isinstance(left, Collection) and isinstance(expr.op, ast.Add):
        return _joined(program, left, right, expr)
    if isinstance(left, Collection) and isinstance(expr.op, ast.Mult):
        return Collection(left.kind, None, operations.iterate(program, left), expr)
    if isinstance(left, Option) and isinstance(left.default, Const) and isinstance(right, Const):
        default = _computed(expr.op, left.default, right) if type(expr.op) in _ARITHMETIC else UNKNOWN
        return Option(default, left.source, left.node)
    return operations.arithmetic(left, right, expr)


def _computed(op: ast.operator, left: Const, right: Const) -> Value:
    if {left.kind, right.kind} <= {"int", "float"}:
        if isinstance(op, ast.Pow | ast.LShift) and not _is_small(left, right):
            return UNKNOWN
        try:
            value = _ARITHMETIC[type(op)](left.value, right.value)
        except (ArithmeticError, TypeError, ValueError):
            return UNKNOWN
        if isinstance(value, complex) or abs(value) >= TOO_LARGE:
            return UNKNOWN
        return Const(value, "float" if isinstance(value, float) else "int")
    if isinstance(op, ast.Add) and left.kind == right.kind == "str":
        return Const(f"{left.value}{right.value}"[:200], "str")
    return UNKNOWN


def _is_small(*operands: Const) -> bool:
    """Whether a power of numbers can be worked out in no time."""
    return all(isinstance(one.value, int | float) and abs(one.value) <= MOST_IN_A_POWER for one in operands)


def _joined(program: Program, left: Collection, right: Value, expr: ast.BinOp) -> Value:
    if isinstance(right, Collection) and left.items is not None and right.items is not None:
        items = (*left.items, *right.items)
        if len(items) <= MOST_ITEMS:
            return Collection(left.kind, items, UNKNOWN, left.node)
    return Collection(left.kind, None, union(operations.iterate(program, one) for one in (left, right)), expr)


@evaluates(ast.Compare)
def _compare(program: Program, expr: ast.Compare) -> Value:
    for operand in (program.symbolic(expr.left), program.symbolic(expr.comparators[0])):
        if isinstance(operand, Batch | Tensor):
            return placement.computed(operand, expr)
    decided = compare(program, expr)
    if isinstance(decided, bool):
        return Const(decided, "bool")
    return WhenAccelerated() if decided == "accelerated" else UNKNOWN


@evaluates(ast.Lambda)
def _lambda(program: Program, expr: ast.Lambda) -> Value:
    return Function(program.scope_of(expr))


@evaluates(ast.NamedExpr, ast.Await)
def _walrus(program: Program, expr: ast.NamedExpr) -> Value:
    return program.symbolic(expr.value)


@evaluates(ast.Name)
def _name(program: Program, expr: ast.Name) -> Value:
    return names.name(program, expr)


@evaluates(ast.Starred)
def _starred(program: Program, expr: ast.Starred) -> Value:
    return program.symbolic(expr.value)
