"""What calls of outside functions return, where the project model has a use for it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.hints import names_one
from dl_lint.project import apply, attributes, tensors
from dl_lint.project.frameworks import ACCELERATED, CPU_COUNTS, LOADERS, SAMPLERS, TORCH_LOADER, WRAPPERS
from dl_lint.project.values import (
    NOTHING,
    UNKNOWN,
    Batch,
    Collection,
    Const,
    CpuCount,
    Derived,
    Literal,
    Loader,
    Made,
    Number,
    Option,
    Parameter,
    Partial,
    Sampler,
    Table,
    Tensor,
    Value,
    WhenAccelerated,
    Wrapped,
    alternatives,
    union,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from dl_lint.project.evaluate import Evaluator


def call(ev: Evaluator, name: str, expr: ast.Call) -> Value:
    if name in LOADERS:
        return Loader(name, expr)
    if names_one(ev.hints.dataloader_classes, name):
        return Loader(TORCH_LOADER, expr)
    if name in SAMPLERS:
        return Sampler(name, expr)
    if name in WRAPPERS:
        return _wrapped(ev, WRAPPERS[name], expr)
    if name in CPU_COUNTS:
        return CpuCount(expr)
    if name in ACCELERATED:
        return WhenAccelerated()
    special = _FUNCTIONS.get(name)
    if special is not None:
        return special(ev, expr)
    tensor = tensors.function(ev, name, expr)
    return tensor if tensor is not None else Made(name, expr)


def _first(ev: Evaluator, expr: ast.Call) -> Value:
    if expr.args:
        return ev.symbolic(expr.args[0])
    return UNKNOWN


def _wrapped(ev: Evaluator, kind: str, expr: ast.Call) -> Value:
    inner = [
        apply.iterate(ev, ev.symbolic(arg.value))
        if kind == "chain" and isinstance(arg, ast.Starred)
        else ev.symbolic(arg)
        for arg in expr.args
    ]
    if kind not in ("zip", "chain"):
        inner = inner[:1] or [ev.symbolic(k.value) for k in expr.keywords if k.arg in ("iterable", "sequence")][:1]
    return Wrapped(kind, tuple(inner[:4]))


def _next(ev: Evaluator, expr: ast.Call) -> Value:
    element = apply.iterate(ev, _first(ev, expr))
    return union((element, ev.symbolic(expr.args[1]))) if len(expr.args) > 1 else element


def _partial(ev: Evaluator, expr: ast.Call) -> Value:
    return Partial(_first(ev, expr), expr)


def _dict(ev: Evaluator, expr: ast.Call) -> Value:
    items: dict[Literal, Value] = {}
    closed = True
    for other in (*expr.args, *(k.value for k in expr.keywords if k.arg is None)):
        tables = [one for one in alternatives(ev.symbolic(other)) if isinstance(one, Table)]
        closed = closed and bool(tables) and all(table.closed for table in tables)
        for key in {key for table in tables for key, _ in table.items}:
            items[key] = apply.found(union(table.get(key) for table in tables), items.get(key))
    for keyword in expr.keywords:
        if keyword.arg is not None:
            items[keyword.arg] = ev.symbolic(keyword.value)
    return Table(tuple(items.items()), closed, expr)


def _filled_later(_ev: Evaluator, expr: ast.Call) -> Value:
    """``defaultdict(list)``: empty, and its keys cannot be told."""
    return Collection("dict", (), UNKNOWN, expr)


def _collect(kind: str) -> Callable[[Evaluator, ast.Call], Value]:
    def collect(ev: Evaluator, expr: ast.Call) -> Value:
        if not expr.args:
            return Collection(kind, (), UNKNOWN, expr)
        source = _first(ev, expr)
        if isinstance(source, Collection) and source.items is not None and kind != "set":
            return Collection(kind, source.items, UNKNOWN, expr)
        return Collection(kind, None, apply.iterate(ev, source), expr)

    return collect


def _number(kind: str) -> Callable[[Evaluator, ast.Call], Value]:
    def convert(ev: Evaluator, expr: ast.Call) -> Value:
        return union(_converted(one, kind) for one in alternatives(_first(ev, expr)))

    return convert


def _converted(value: Value, kind: str) -> Value:
    match value:
        case Const(value=bool() | int() | float() as number) if kind in ("int", "float"):
            return Const(int(number) if kind == "int" else float(number), kind)
        case Option():
            return Option(_converted(value.default, kind), value.source, value.node)
        case CpuCount() | Number() | Parameter() | Derived():
            return value
        case _:
            return Number()


def _boolean(ev: Evaluator, expr: ast.Call) -> Value:
    value = _first(ev, expr)
    if isinstance(value, Const):
        return Const(bool(value.value), "bool")
    return value if isinstance(value, WhenAccelerated | Option) else UNKNOWN


def _extreme(ev: Evaluator, expr: ast.Call) -> Value:
    """``min`` and ``max``: a literal if all are, else the host's CPU count if it takes part."""
    values = [ev.symbolic(arg) for arg in expr.args]
    if len(values) == 1 and isinstance(values[0], Collection) and values[0].items is not None:
        values = list(values[0].items)
    smallest = isinstance(expr.func, ast.Name) and expr.func.id == "min"
    numbers = [v.value for v in values if isinstance(v, Const) and isinstance(v.value, int | float)]
    if values and len(numbers) == len(values):
        return Const(min(numbers) if smallest else max(numbers), "int")
    for one in values:
        if isinstance(one, CpuCount):
            return CpuCount(one.call, capped=one.capped or smallest)
    return Number(positive=not smallest and any(number > 0 for number in numbers))


def _length(_ev: Evaluator, _expr: ast.Call) -> Value:
    return Number()


def _copy(ev: Evaluator, expr: ast.Call) -> Value:
    return _first(ev, expr)


def _deepcopy(ev: Evaluator, expr: ast.Call) -> Value:
    """The same again; tensors of a batch come to be in new memory, which nobody has pinned."""
    found = alternatives(_first(ev, expr))
    return union(
        Tensor(one, "pageable", expr) if isinstance(one, Batch) and not one.loader.prepared else one for one in found
    )


def _getattr(ev: Evaluator, expr: ast.Call) -> Value:
    name = ev.symbolic(expr.args[1]) if len(expr.args) > 1 else UNKNOWN
    if not isinstance(name, Const) or not isinstance(name.value, str):
        return UNKNOWN
    found = attributes.attribute(ev, _first(ev, expr), name.value)
    return union((found, ev.symbolic(expr.args[2]))) if len(expr.args) > 2 else found


def _mapped(ev: Evaluator, expr: ast.Call) -> Value:
    """``map(f, xs)``: the elements are what ``f`` makes of them, which nobody asks for; the source counts."""
    return Wrapped("iter", (ev.symbolic(expr.args[1]),)) if len(expr.args) > 1 else UNKNOWN


def _variable(ev: Evaluator, expr: ast.Call) -> Value:
    """``Variable(x)`` has been x itself since torch 0.4."""
    return _first(ev, expr)


def _reverse(ev: Evaluator, expr: ast.Call) -> Value:
    return Collection("list", None, apply.iterate(ev, _first(ev, expr)), expr)


def _stop(_ev: Evaluator, _expr: ast.Call) -> Value:
    return NOTHING


_FUNCTIONS: dict[str, Callable[[Evaluator, ast.Call], Value]] = {
    "builtins.next": _next,
    "lightning.pytorch.Trainer.add_argparse_args": _first,
    "builtins.dict": _dict,
    "collections.OrderedDict": _dict,
    "collections.defaultdict": _filled_later,
    "types.SimpleNamespace": _dict,
    "builtins.list": _collect("list"),
    "builtins.tuple": _collect("tuple"),
    "builtins.set": _collect("set"),
    "builtins.reversed": _reverse,
    "builtins.int": _number("int"),
    "builtins.float": _number("float"),
    "builtins.round": _number("int"),
    "builtins.abs": _number("int"),
    "builtins.bool": _boolean,
    "builtins.min": _extreme,
    "builtins.max": _extreme,
    "builtins.len": _length,
    "builtins.getattr": _getattr,
    "builtins.map": _mapped,
    "functools.partial": _partial,
    "copy.copy": _copy,
    "copy.deepcopy": _deepcopy,
    "torch.autograd.Variable": _variable,
    "sys.exit": _stop,
    "builtins.exit": _stop,
    "typing.cast": lambda ev, expr: ev.symbolic(expr.args[1]) if len(expr.args) > 1 else UNKNOWN,
}
