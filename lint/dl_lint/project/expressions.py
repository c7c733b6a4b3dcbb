"""What each kind of expression stands for, parameters left open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dl_lint.facts import tree as t
from dl_lint.project import apply, attributes, calls, names, subscripts, tensors
from dl_lint.project.syntax import dotted
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
    union,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from dl_lint.project.evaluate import Evaluator

FEW_ITEMS = 1_000
"""The head of a container that is short whatever its length: of paths, less than a page of memory a worker."""

MOST_ITEMS = 24
"""Items of a literal that are kept one by one."""


def evaluate(ev: Evaluator, expr: t.Expr) -> Value:
    rule = _EXPRESSIONS.get(type(expr))
    return rule(ev, expr) if rule is not None else UNKNOWN


def _constant(_ev: Evaluator, expr: t.Constant) -> Value:
    return Const(expr.value, expr.kind) if expr.kind != "fstring" else UNKNOWN


def _attribute(ev: Evaluator, expr: t.Attribute) -> Value:
    stored = names.stored(ev, expr)
    if stored is not None:
        return stored
    return attributes.attribute(ev, ev.symbolic(expr.value), expr.attr)


def _subscript(ev: Evaluator, expr: t.Subscript) -> Value:
    base = ev.symbolic(expr.value)
    if not isinstance(expr.index, t.Slice):
        return apply.item(ev, base, subscripts.key(ev, expr))
    found = apply.sliced(ev, base, Picked(expr, apart=True) if subscripts.is_scattered(expr.index) else UNKNOWN)
    if isinstance(found, Collection) and isinstance(found.element, Derived | Made | Unknown) and _takes_few(expr.index):
        return Collection(found.kind, None, UNKNOWN, None)  # as short as the code says, whatever it was taken from
    return found


def _takes_few(index: t.Slice) -> bool:
    upper = index.upper
    return isinstance(upper, t.Constant) and isinstance(upper.value, int) and upper.value <= FEW_ITEMS


def _sequence(ev: Evaluator, expr: t.Sequence) -> Value:
    if any(isinstance(item, t.Starred) for item in expr.items) or len(expr.items) > MOST_ITEMS:
        sample = [_member(ev, item) for item in expr.items[:MOST_ITEMS]]
        return Collection(expr.kind, None, union(sample), expr)
    items = tuple(ev.symbolic(item) for item in expr.items)
    return Collection(expr.kind, items, UNKNOWN, expr)


def _member(ev: Evaluator, item: t.Expr) -> Value:
    return apply.iterate(ev, ev.symbolic(item.value)) if isinstance(item, t.Starred) else ev.symbolic(item)


def _mapping(ev: Evaluator, expr: t.Mapping) -> Value:
    items: dict[Literal, Value] = {}
    closed = len(expr.items) <= 4 * MOST_ITEMS
    for key, value in expr.items[: 4 * MOST_ITEMS]:
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


def _comprehension(ev: Evaluator, expr: t.Comprehension) -> Value:
    if expr.kind == "dict":
        element, keys = ev.symbolic(expr.element), _spelled_out_keys(ev, expr)
        if keys:
            return Table(tuple((key, element) for key in keys), True, expr)
        return Collection("dict", None, element, expr)
    return Collection(expr.kind, None, ev.symbolic(expr.element), expr)


def _spelled_out_keys(ev: Evaluator, expr: t.Comprehension) -> dict[Literal, None]:
    """The keys of ``{phase: … for phase in ["train", "val"]}``, if all are known."""
    match expr:
        case t.Comprehension(generators=(t.Generator(target=t.Name(id=name), iter=over, ifs=()),), key=t.Name(id=key)):
            found = ev.symbolic(over) if name == key else None
            items = (found.items or ()) if isinstance(found, Collection) else ()
            return {one.value: None for one in items if isinstance(one, Const)} if _are_constant(items) else {}
        case _:
            return {}


def _are_constant(items: tuple[Value, ...]) -> bool:
    return len(items) <= 4 * MOST_ITEMS and all(isinstance(one, Const) for one in items)


def _conditional(ev: Evaluator, expr: t.Conditional) -> Value:
    decided = truth(ev, expr.test)
    if decided is not None:
        return ev.symbolic(expr.body if decided else expr.orelse)
    return union((ev.symbolic(expr.body), ev.symbolic(expr.orelse)))


def _bool_op(ev: Evaluator, expr: t.BoolOp) -> Value:
    """``a or b`` is the first true operand; what cannot be decided is a union."""
    if expr.op == "and" and _asks_for_accelerator(ev, expr):
        return WhenAccelerated()
    found: list[Value] = []
    stop = expr.op == "or"
    for at, operand in enumerate(expr.values):
        decided = truth(ev, operand)
        last = at == len(expr.values) - 1
        if decided is not None and decided is not stop and not last:
            continue
        found.append(ev.symbolic(operand))
        if decided is stop:
            break
    return union(found)


def _asks_for_accelerator(ev: Evaluator, expr: t.BoolOp) -> bool:
    """Whether an accelerator is used unless an option says otherwise: ``available and not args.no_cuda``."""
    available = [isinstance(ev.symbolic(operand), WhenAccelerated) for operand in expr.values]
    return any(available) and all(
        known or _names_device(one) for known, one in zip(available, expr.values, strict=True)
    )


def _names_device(operand: t.Expr) -> bool:
    while isinstance(operand, t.UnaryOp):
        operand = operand.operand
    name = (dotted(operand) or "").rpartition(".")[2].lower()
    return any(part in name for part in ("cuda", "gpu", "cpu", "accel", "device"))


def _unary(ev: Evaluator, expr: t.UnaryOp) -> Value:
    if expr.op == "not":
        decided = truth(ev, expr.operand)
        return UNKNOWN if decided is None else Const(not decided, "bool")
    value = ev.symbolic(expr.operand)
    if expr.op == "-" and isinstance(value, Const) and isinstance(value.value, int | float):
        return Const(-value.value, value.kind)
    return UNKNOWN


_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "/": lambda a, b: a / b,
    "%": lambda a, b: a % b,
}


def _binary(ev: Evaluator, expr: t.BinOp) -> Value:
    left, right = ev.symbolic(expr.left), ev.symbolic(expr.right)
    for one in (left, right):
        if isinstance(one, CpuCount):
            return CpuCount(one.call, capped=one.capped)
    if isinstance(left, Const) and isinstance(right, Const) and expr.op in _ARITHMETIC:
        return _computed(expr.op, left, right)
    if isinstance(left, Collection) and expr.op == "+":
        return _joined(left, right)
    if isinstance(left, Option) and isinstance(left.default, Const) and isinstance(right, Const):
        default = _computed(expr.op, left.default, right) if expr.op in _ARITHMETIC else UNKNOWN
        return Option(default, left.source, left.node)
    return apply.arithmetic(left, right, expr)


def _computed(op: str, left: Const, right: Const) -> Value:
    if {left.kind, right.kind} <= {"int", "float"}:
        try:
            value = _ARITHMETIC[op](left.value, right.value)
        except (ArithmeticError, ValueError):
            return UNKNOWN
        return Const(value, "float" if isinstance(value, float) else "int")
    if op == "+" and left.kind == right.kind == "str":
        return Const(f"{left.value}{right.value}"[:200], "str")
    return UNKNOWN


def _joined(left: Collection, right: Value) -> Value:
    if isinstance(right, Collection) and left.items is not None and right.items is not None:
        items = (*left.items, *right.items)
        if len(items) <= MOST_ITEMS:
            return Collection(left.kind, items, UNKNOWN, left.node)
    return Collection(left.kind, None, UNKNOWN, left.node)


def _compare(ev: Evaluator, expr: t.Compare) -> Value:
    for operand in (ev.symbolic(expr.left), ev.symbolic(expr.comparators[0])):
        if isinstance(operand, Batch | Tensor):
            return tensors.computed(operand, expr)
    decided = compare(ev, expr)
    if isinstance(decided, bool):
        return Const(decided, "bool")
    return WhenAccelerated() if decided == "accelerated" else UNKNOWN


def _lambda(ev: Evaluator, expr: t.Lambda) -> Value:
    return Function(ev.scope_of(expr))


def _walrus(ev: Evaluator, expr: t.Walrus) -> Value:
    return ev.symbolic(expr.value)


def _name(ev: Evaluator, expr: t.Name) -> Value:
    return names.name(ev, expr)


def _starred(ev: Evaluator, expr: t.Starred) -> Value:
    return ev.symbolic(expr.value)


_EXPRESSIONS: dict[type[t.Expr], Callable[[Evaluator, Any], Value]] = {
    t.Constant: _constant,
    t.Name: _name,
    t.Attribute: _attribute,
    t.Subscript: _subscript,
    t.Call: calls.call,
    t.Sequence: _sequence,
    t.Mapping: _mapping,
    t.Comprehension: _comprehension,
    t.Conditional: _conditional,
    t.BoolOp: _bool_op,
    t.UnaryOp: _unary,
    t.BinOp: _binary,
    t.Compare: _compare,
    t.Lambda: _lambda,
    t.Walrus: _walrus,
    t.Await: _walrus,
    t.Starred: _starred,
}
