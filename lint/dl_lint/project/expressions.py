"""What each kind of expression stands for, parameters left open."""

from __future__ import annotations

import ast
import operator
from typing import TYPE_CHECKING, Any

from dl_lint.project import apply, attributes, calls, names, subscripts, tensors
from dl_lint.project.truth import compare, truth
from dl_lint.project.values import (
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

    from dl_lint.project.evaluate import Evaluator

FEW_ITEMS = 1_000
"""The head of a container that is short whatever its length: of paths, less than a page of memory a worker."""

MOST_ITEMS = 24
"""Items of a literal that are kept one by one."""


def evaluate(ev: Evaluator, expr: ast.expr) -> Value:
    rule = _EXPRESSIONS.get(type(expr))
    return rule(ev, expr) if rule is not None else UNKNOWN


def _constant(_ev: Evaluator, expr: ast.Constant) -> Value:
    return literal(expr)


def _attribute(ev: Evaluator, expr: ast.Attribute) -> Value:
    stored = names.stored(ev, expr)
    if stored is not None:
        return stored
    return attributes.attribute(ev, ev.symbolic(expr.value), expr.attr)


def _subscript(ev: Evaluator, expr: ast.Subscript) -> Value:
    base = ev.symbolic(expr.value)
    if not isinstance(expr.slice, ast.Slice):
        return apply.item(ev, base, subscripts.key(ev, expr))
    found = apply.sliced(ev, base, Picked(expr, apart=True) if subscripts.is_scattered(expr.slice) else UNKNOWN)
    if isinstance(found, Collection) and isinstance(found.element, Derived | Made | Unknown) and _takes_few(expr.slice):
        return Collection(found.kind, None, UNKNOWN, None)  # as short as the code says, whatever it was taken from
    return found


def _takes_few(index: ast.Slice) -> bool:
    upper = index.upper
    return isinstance(upper, ast.Constant) and isinstance(upper.value, int) and upper.value <= FEW_ITEMS


def _sequence(ev: Evaluator, expr: Display) -> Value:
    if any(isinstance(item, ast.Starred) for item in expr.elts) or len(expr.elts) > MOST_ITEMS:
        sample = [_member(ev, item) for item in expr.elts[:MOST_ITEMS]]
        return Collection(made_by(expr), None, union(sample), expr)
    items = tuple(ev.symbolic(item) for item in expr.elts)
    return Collection(made_by(expr), items, UNKNOWN, expr)


def _member(ev: Evaluator, item: ast.expr) -> Value:
    return apply.iterate(ev, ev.symbolic(item.value)) if isinstance(item, ast.Starred) else ev.symbolic(item)


def _mapping(ev: Evaluator, expr: ast.Dict) -> Value:
    items: dict[Literal, Value] = {}
    closed = len(expr.keys) <= 4 * MOST_ITEMS
    for key, value in zip(expr.keys[: 4 * MOST_ITEMS], expr.values, strict=False):
        if key is None:
            closed &= _merge(items, ev.symbolic(value))
            continue
        name = ev.symbolic(key)
        if isinstance(name, Const):
            items[name.value] = ev.symbolic(value)
        else:
            closed = False
    return Table(tuple(items.items()), closed, expr)


def _merge(items: dict[Literal, Value], other: Value) -> bool:
    """Lay ``**other`` over ``items``; False if it may hold more than is known."""
    tables = [one for one in alternatives(other) if isinstance(one, Table)]
    for key in {key for table in tables for key, _ in table.items}:
        items[key] = union(apply.found(table.get(key), items.get(key)) for table in tables)
    return bool(tables) and len(tables) == len(alternatives(other)) and all(table.closed for table in tables)


def _comprehension(ev: Evaluator, expr: Comprehension) -> Value:
    if isinstance(expr, ast.DictComp):
        element, keys = ev.symbolic(expr.value), _spelled_out_keys(ev, expr)
        if keys:
            return Table(tuple((key, element) for key in keys), True, expr)
        return Collection("dict", None, element, expr)
    return Collection(made_by(expr), None, ev.symbolic(expr.elt), expr)


def _spelled_out_keys(ev: Evaluator, expr: ast.DictComp) -> dict[Literal, None]:
    """The keys of ``{phase: … for phase in ["train", "val"]}``, if all are known."""
    match expr:
        case ast.DictComp(
            generators=[ast.comprehension(target=ast.Name(id=name), iter=over, ifs=[])], key=ast.Name(id=key)
        ):
            found = ev.symbolic(over) if name == key else None
            items = (found.items or ()) if isinstance(found, Collection) else ()
            return {one.value: None for one in items if isinstance(one, Const)} if _are_constant(items) else {}
        case _:
            return {}


def _are_constant(items: tuple[Value, ...]) -> bool:
    return len(items) <= 4 * MOST_ITEMS and all(isinstance(one, Const) for one in items)


def _conditional(ev: Evaluator, expr: ast.IfExp) -> Value:
    decided = truth(ev, expr.test)
    if decided is not None:
        return ev.symbolic(expr.body if decided else expr.orelse)
    return union((ev.symbolic(expr.body), ev.symbolic(expr.orelse)))


def _bool_op(ev: Evaluator, expr: ast.BoolOp) -> Value:
    """``a or b`` is the first true operand; what cannot be decided is a union."""
    if isinstance(expr.op, ast.And) and _asks_for_accelerator(ev, expr):
        return WhenAccelerated()
    found: list[Value] = []
    stop = isinstance(expr.op, ast.Or)
    for at, operand in enumerate(expr.values):
        decided = truth(ev, operand)
        last = at == len(expr.values) - 1
        if decided is not None and decided is not stop and not last:
            continue
        found.append(ev.symbolic(operand))
        if decided is stop:
            break
    return union(found)


def _asks_for_accelerator(ev: Evaluator, expr: ast.BoolOp) -> bool:
    """Whether an accelerator is used unless an option says otherwise: ``available and not args.no_cuda``."""
    available = [isinstance(ev.symbolic(operand), WhenAccelerated) for operand in expr.values]
    return any(available) and all(
        known or _names_device(one) for known, one in zip(available, expr.values, strict=True)
    )


def _names_device(operand: ast.expr) -> bool:
    while isinstance(operand, ast.UnaryOp):
        operand = operand.operand
    name = (dotted(operand) or "").rpartition(".")[2].lower()
    return any(part in name for part in ("cuda", "gpu", "cpu", "accel", "device"))


def _unary(ev: Evaluator, expr: ast.UnaryOp) -> Value:
    if isinstance(expr.op, ast.Not):
        decided = truth(ev, expr.operand)
        return UNKNOWN if decided is None else Const(not decided, "bool")
    value = ev.symbolic(expr.operand)
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
}


def _binary(ev: Evaluator, expr: ast.BinOp) -> Value:
    left, right = ev.symbolic(expr.left), ev.symbolic(expr.right)
    for one in (left, right):
        if isinstance(one, CpuCount):
            return CpuCount(one.call, capped=one.capped)
    if isinstance(left, Const) and isinstance(right, Const) and type(expr.op) in _ARITHMETIC:
        return _computed(expr.op, left, right)
    if isinstance(left, Collection) and isinstance(expr.op, ast.Add):
        return _joined(left, right)
    if isinstance(left, Option) and isinstance(left.default, Const) and isinstance(right, Const):
        default = _computed(expr.op, left.default, right) if type(expr.op) in _ARITHMETIC else UNKNOWN
        return Option(default, left.source, left.node)
    return apply.arithmetic(left, right, expr)


def _computed(op: ast.operator, left: Const, right: Const) -> Value:
    if {left.kind, right.kind} <= {"int", "float"}:
        try:
            value = _ARITHMETIC[type(op)](left.value, right.value)
        except (ArithmeticError, ValueError):
            return UNKNOWN
        return Const(value, "float" if isinstance(value, float) else "int")
    if isinstance(op, ast.Add) and left.kind == right.kind == "str":
        return Const(f"{left.value}{right.value}"[:200], "str")
    return UNKNOWN


def _joined(left: Collection, right: Value) -> Value:
    if isinstance(right, Collection) and left.items is not None and right.items is not None:
        items = (*left.items, *right.items)
        if len(items) <= MOST_ITEMS:
            return Collection(left.kind, items, UNKNOWN, left.node)
    return Collection(left.kind, None, UNKNOWN, left.node)


def _compare(ev: Evaluator, expr: ast.Compare) -> Value:
    for operand in (ev.symbolic(expr.left), ev.symbolic(expr.comparators[0])):
        if isinstance(operand, Batch | Tensor):
            return tensors.computed(operand, expr)
    decided = compare(ev, expr)
    if isinstance(decided, bool):
        return Const(decided, "bool")
    return WhenAccelerated() if decided == "accelerated" else UNKNOWN


def _lambda(ev: Evaluator, expr: ast.Lambda) -> Value:
    return Function(ev.scope_of(expr))


def _walrus(ev: Evaluator, expr: ast.NamedExpr) -> Value:
    return ev.symbolic(expr.value)


def _name(ev: Evaluator, expr: ast.Name) -> Value:
    return names.name(ev, expr)


def _starred(ev: Evaluator, expr: ast.Starred) -> Value:
    return ev.symbolic(expr.value)


_EXPRESSIONS: dict[type[ast.expr], Callable[[Evaluator, Any], Value]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Call: calls.call,
    ast.Tuple: _sequence,
    ast.List: _sequence,
    ast.Set: _sequence,
    ast.Dict: _mapping,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.DictComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.IfExp: _conditional,
    ast.BoolOp: _bool_op,
    ast.UnaryOp: _unary,
    ast.BinOp: _binary,
    ast.Compare: _compare,
    ast.Lambda: _lambda,
    ast.NamedExpr: _walrus,
    ast.Await: _walrus,
    ast.Starred: _starred,
}
