"""What calls of outside functions return, where the project model has a use for it."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from dl_lint.flow import models
from dl_lint.flow.features import feature
from dl_lint.flow.hints import names_one
from dl_lint.flow.interpreter import arguments, operations, registries, tensor_memory
from dl_lint.flow.values import (
    NOTHING,
    UNKNOWN,
    Absent,
    Batch,
    Collection,
    Const,
    CpuCount,
    Derived,
    Generated,
    Instance,
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

    from dl_lint.flow.models import Mark
    from dl_lint.flow.program import Program


TORCH_LOADER = "torch.utils.data.DataLoader"

ADDS_ARGUMENTS = re.compile(r"add_(?:\w+_)?arg(?:ument)?s")
"""Functions of frameworks that add options to a parser and return it: ``deepspeed.add_config_arguments``."""

LONGEST_COUNT = 9
"""Digits of a text that is read as a number: nobody counts to billions."""


def call(program: Program, name: str, expr: ast.Call) -> Value:
    if names_one(program.hints.dataloader_classes, name):
        return Loader(TORCH_LOADER, expr)
    special = _FUNCTIONS.get(name)
    if special is not None:
        return special(program, expr)
    found = modelled(program, name, expr)
    if found is not None:
        return found
    if ADDS_ARGUMENTS.fullmatch(name.rpartition(".")[2]):
        return _first(program, expr)
    tensor = tensor_memory.torch_function(program, name, expr)
    return tensor if tensor is not None else Made(name, expr)


def modelled(program: Program, name: str, expr: ast.Call) -> Value | None:
    """What a stub says that a call gives; None where it says nothing that is a value here."""
    for mark in program.models.get(name).marks:
        gives = _MODELLED.get(mark.kind)
        if gives is not None:
            return gives(program, Called(name, expr, mark))
    return None


def _first(program: Program, expr: ast.Call) -> Value:
    if expr.args:
        return program.symbolic(expr.args[0])
    return UNKNOWN


@feature("variables of the environment", UNKNOWN)
def _from_environment(program: Program, read: Made) -> Value:
    """A variable of the environment, which is an option where the call that reads it gives a default."""
    default = arguments.given(program, read.call, ("key", "default"), "default").symbolic
    return read if isinstance(default, Absent) else Option(default, "environment", read.call)


class Called(NamedTuple):
    """A call of what a stub marks."""

    name: str
    expr: ast.Call
    mark: Mark


def _named(program: Program, called: Called) -> list[Value]:
    """What is passed for the parameters that the mark names; all positional ones for ``*args``."""
    positions = program.models.get(called.name).positions
    found: list[Value] = []
    for parameter in called.mark.of:
        if parameter in positions:
            given = arguments.given(program, called.expr, positions, parameter)
            found += [] if isinstance(given.symbolic, Absent) else [given.symbolic]
        elif parameter not in models.words():
            found += [
                operations.iterate(program, program.symbolic(arg.value))
                if isinstance(arg, ast.Starred) and called.mark.kind == "Chains"
                else program.symbolic(arg)
                for arg in called.expr.args
            ]
    return found


def _wrapped(program: Program, called: Called) -> Value:
    kind = called.mark.kind
    inner = tuple(_named(program, called)[:4])
    if kind == "Iterates" and "OnDevice" in called.mark.of:
        element = union(operations.iterate(program, one) for one in inner)
        return Generated(Tensor(element, "device", called.expr), inner)
    return Wrapped(WRAPPED[kind], inner)


WRAPPED = {
    "Iterates": "progress",
    "Enumerates": "enumerate",
    "Zips": "zip",
    "Chains": "chain",
    "Cycles": "cycle",
    "Slices": "islice",
    "Iterator": "iter",
}


def _given(program: Program, called: Called) -> Value:
    found = _named(program, called)
    return found[0] if found else UNKNOWN


def _prepared(program: Program, called: Called) -> Value:
    items = tuple(operations.prepared(one) for one in _named(program, called))
    return items[0] if len(items) == 1 else operations.pair(*items)


_MODELLED: dict[str, Callable[[Program, Called], Value]] = {
    "Loader": lambda _, called: Loader(called.name, called.expr),
    "TorchLoader": lambda _, called: Loader(called.name, called.expr),
    "Sampler": lambda _, called: Sampler(called.name, called.expr),
    **dict.fromkeys(WRAPPED, _wrapped),
    "Same": _given,
    "OnDevice": lambda program, called: Tensor(_given(program, called), "device", called.expr),
    "Prepared": _prepared,
    "CpuCount": lambda _, called: CpuCount(called.expr),
    "Accelerated": lambda *_: WhenAccelerated(),
    "Environment": lambda program, called: _from_environment(program, Made(called.name, called.expr)),
}
"""What marks make of a call, the first that is here."""


def _next(program: Program, expr: ast.Call) -> Value:
    element = operations.iterate(program, _first(program, expr))
    return union((element, program.symbolic(expr.args[1]))) if len(expr.args) > 1 else element


def _partial(program: Program, expr: ast.Call) -> Value:
    return Partial(_first(program, expr), expr)


def _dict(program: Program, expr: ast.Call) -> Value:
    pairs = _first(program, expr) if len(expr.args) == 1 and not expr.keywords else UNKNOWN
    if isinstance(pairs, Wrapped) or (isinstance(pairs, Collection) and pairs.items is None and pairs.kind != "dict"):
        value = operations.item(program, operations.iterate(program, pairs), Const(1, "int"))
        return Collection("dict", None, value, expr)
    items: dict[Literal, Value] = {}
    closed = True
    others = [program.symbolic(one) for one in (*expr.args, *(k.value for k in expr.keywords if k.arg is None))]
    below = others.pop(0) if others and isinstance(others[0], Parameter | Derived) else None
    for other in others:
        tables = [one for one in alternatives(other) if isinstance(one, Table)]
        closed = closed and bool(tables) and all(table.closed for table in tables)
        for key in dict.fromkeys(key for table in tables for key, _ in table.items):
            items[key] = operations.found(union(table.get(key) for table in tables), items.get(key))
    for keyword in expr.keywords:
        if keyword.arg is not None:
            items[keyword.arg] = program.symbolic(keyword.value)
    table = Table(tuple(items.items()), closed, expr)
    return table if below is None else operations.laid(below, table)


@feature("named tuples", UNKNOWN)
def named_tuple(program: Program, made: Made, expr: ast.Call) -> Value:
    """``namedtuple("Loaders", ["train", "val"])(…)``: what it holds by name and by position."""
    declared = arguments.given(program, made.call, ("typename", "field_names"), "field_names").symbolic
    if isinstance(declared, Const) and isinstance(declared.value, str):
        fields: tuple[object, ...] = tuple(declared.value.replace(",", " ").split())
    else:
        listed = declared.items if isinstance(declared, Collection) else None
        fields = tuple(one.value for one in listed or () if isinstance(one, Const))
    names = tuple(one for one in fields if isinstance(one, str))
    items = [(name, arguments.given(program, expr, names, name).symbolic) for name in names]
    return Table((*items, *((at, value) for at, (_, value) in enumerate(items))), True, expr)


def _from_registry(program: Program, expr: ast.Call) -> Value:
    """``build_from_cfg(config, REGISTRY)``."""
    registry = arguments.given(program, expr, ("cfg", "registry"), "registry").symbolic
    found = registries.built(registries.registered(program, registry, UNKNOWN))
    return UNKNOWN if found == NOTHING else found


def _filled_later(_ev: Program, expr: ast.Call) -> Value:
    """``defaultdict(list)``: empty, and its keys cannot be told."""
    return Collection("dict", (), UNKNOWN, expr)


def _collect(kind: str) -> Callable[[Program, ast.Call], Value]:
    def collect(program: Program, expr: ast.Call) -> Value:
        if not expr.args:
            return Collection(kind, (), UNKNOWN, expr)
        source = _first(program, expr)
        if isinstance(source, Collection) and source.items is not None and kind != "set":
            return Collection(kind, source.items, UNKNOWN, expr)
        return Collection(kind, None, operations.iterate(program, source), expr)

    return collect


def _sorted(program: Program, expr: ast.Call) -> Value:
    return Collection("list", None, operations.iterate(program, _first(program, expr)), expr)


def _listing(name: str) -> Callable[[Program, ast.Call], Value]:
    """A list of the texts that ``name`` gives."""

    def listed(_program: Program, expr: ast.Call) -> Value:
        return Collection("list", None, Derived(Made(name, expr), "iterate"), expr)

    return listed


def _number(kind: str) -> Callable[[Program, ast.Call], Value]:
    def convert(program: Program, expr: ast.Call) -> Value:
        return union(_converted(one, kind) for one in alternatives(_first(program, expr)))

    return convert


def _converted(value: Value, kind: str) -> Value:
    match value:
        case Const(value=bool() | int() | float() as number) if kind in ("int", "float"):
            return Const(int(number) if kind == "int" else float(number), kind)
        case Const(value=str() as text) if text.isdecimal() and len(text) <= LONGEST_COUNT:
            return _converted(Const(int(text), "int"), kind)
        case Option():
            return Option(_converted(value.default, kind), value.source, value.node)
        case CpuCount() | Number() | Parameter() | Derived():
            return value
        case _:
            return Number()


def _boolean(program: Program, expr: ast.Call) -> Value:
    value = _first(program, expr)
    if isinstance(value, Const):
        return Const(bool(value.value), "bool")
    return value if isinstance(value, WhenAccelerated | Option) else UNKNOWN


@feature("minima and maxima", UNKNOWN)
def _extreme(program: Program, expr: ast.Call) -> Value:
    """``min`` and ``max``: a literal if all are, else the host's CPU count if it takes part, else what is known of the
    sign; the least of numbers and an option stays one."""
    values = [program.value(arg) for arg in expr.args]
    if len(values) == 1 and isinstance(values[0], Collection) and values[0].items is not None:
        values = list(values[0].items)
    smallest = isinstance(expr.func, ast.Name) and expr.func.id == "min"
    numbers = [v.value for v in values if isinstance(v, Const) and isinstance(v.value, int | float)]
    if values and len(numbers) == len(values):
        return Const(min(numbers) if smallest else max(numbers), "int")
    counts = [one for value in values for one in alternatives(value) if isinstance(one, CpuCount)]
    if counts:
        return union(CpuCount(one.call, capped=one.capped or smallest) for one in counts)
    asked = [value for value in values if isinstance(value, Option)]
    if smallest and asked and len(numbers) == len(values) - 1:
        match asked[0].default:
            case Const(value=int() | float() as number):
                return replace(asked[0], default=Const(min(number, *numbers), "int"))
    signs = [all(map(_is_positive, alternatives(value))) for value in values]
    return Number(positive=bool(signs) and (all(signs) if smallest else any(signs)))


def _is_positive(value: Value) -> bool:
    match value:
        case Const(value=int() | float() as number):
            return number > 0
        case _:
            return isinstance(value, Number) and value.positive


def _length(_ev: Program, _expr: ast.Call) -> Value:
    return Number()


def _copy(program: Program, expr: ast.Call) -> Value:
    return _first(program, expr)


def _deepcopy(program: Program, expr: ast.Call) -> Value:
    """The same again; tensors of a batch come to be in new memory, which nobody has pinned."""
    found = alternatives(_first(program, expr))
    return union(
        Tensor(one, "pageable", expr) if isinstance(one, Batch) and not one.loader.prepared else one for one in found
    )


def _getattr(program: Program, expr: ast.Call) -> Value:
    name = program.symbolic(expr.args[1]) if len(expr.args) > 1 else UNKNOWN
    if isinstance(name, Const) and isinstance(name.value, str):
        found = program.attribute(_first(program, expr), name.value)
    else:
        found = operations.chosen(program, _first(program, expr), expr)
    return union((found, program.symbolic(expr.args[2]))) if len(expr.args) > 2 else found


def _vars(program: Program, expr: ast.Call) -> Value:
    """``vars(args)`` is ``args.__dict__``."""
    return program.attribute(_first(program, expr), "__dict__") if expr.args else UNKNOWN


def _type(program: Program, expr: ast.Call) -> Value:
    """``type(self)``: the class of an object of the project."""
    found = _first(program, expr)
    return found.cls if isinstance(found, Instance) else Made("builtins.type", expr)


def _mapped(program: Program, expr: ast.Call) -> Value:
    """``map(f, xs)``: the elements are what ``f`` makes of them, which nobody asks for; the source counts."""
    return Wrapped("iter", (program.symbolic(expr.args[1]),)) if len(expr.args) > 1 else UNKNOWN


def _variable(program: Program, expr: ast.Call) -> Value:
    """``Variable(x)`` has been x itself since torch 0.4."""
    return _first(program, expr)


def _reverse(program: Program, expr: ast.Call) -> Value:
    return Collection("list", None, operations.iterate(program, _first(program, expr)), expr)


def _stop(_ev: Program, _expr: ast.Call) -> Value:
    return NOTHING


_FUNCTIONS: dict[str, Callable[[Program, ast.Call], Value]] = {
    "builtins.next": _next,
    "builtins.dict": _dict,
    "collections.OrderedDict": _dict,
    "collections.defaultdict": _filled_later,
    "types.SimpleNamespace": _dict,
    "builtins.list": _collect("list"),
    "builtins.tuple": _collect("tuple"),
    "builtins.set": _collect("set"),
    "builtins.sorted": _sorted,
    "glob.glob": _listing("glob.glob"),
    "os.listdir": _listing("os.listdir"),
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
    "builtins.type": _type,
    "builtins.vars": _vars,
    "functools.partial": _partial,
    "mmcv.utils.build_from_cfg": _from_registry,
    "mmengine.registry.build_from_cfg": _from_registry,
    "copy.copy": _copy,
    "copy.deepcopy": _deepcopy,
    "torch.autograd.Variable": _variable,
    "sys.exit": _stop,
    "builtins.exit": _stop,
    "typing.cast": lambda program, expr: program.symbolic(expr.args[1]) if len(expr.args) > 1 else UNKNOWN,
}
