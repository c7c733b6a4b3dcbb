"""What comes of taking something from a value: an item, an attribute, the next element."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from dl_lint.flow import placement
from dl_lint.flow.program import operation
from dl_lint.flow.values import (
    ABSENT,
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
    Loader,
    Made,
    Module,
    Namespace,
    Nothing,
    Number,
    OneOf,
    Option,
    Parameter,
    Picked,
    Sampler,
    Table,
    Tensor,
    Unknown,
    Value,
    Wrapped,
    alternatives,
    union,
)

if TYPE_CHECKING:
    from dl_lint.flow.program import Program


LONGEST_DERIVATION = 8
"""Steps taken from something unbound before it counts as unknown."""

MOST_PARTS = 64
"""Values that such a chain may hold in all, with the alternatives on its way: each is rewritten for every caller."""


@operation("derived")
def step(program: Program, base: Value, kind: str, key: str | Value | ast.Call | None) -> Value:
    """One recorded step, taken again now that its base is known."""
    if kind == "attr":
        return program.attribute(base, str(key))
    if kind == "item":
        return item(program, base, key if isinstance(key, Value) else UNKNOWN)
    if kind == "slice":
        return sliced(program, base, key if isinstance(key, Value) else UNKNOWN)
    if kind == "position":
        return position(base, key if isinstance(key, Value) else UNKNOWN)
    if kind == "otherwise":
        return otherwise(base, key if isinstance(key, Value) else ABSENT)
    if kind == "keyword":
        return keyword(program, base, str(key))
    if kind == "without":
        return union(_without(one, str(key)) for one in alternatives(base))
    if kind == "laid":
        return laid(base, key) if isinstance(key, Table) else UNKNOWN
    if kind == "iterate":
        return iterate(program, base)
    if kind == "prepared":
        return prepared(base)
    if kind == "share":
        return share(base)
    if kind == "chosen":
        return chosen(program, base, key) if isinstance(key, ast.Call) else UNKNOWN
    if kind == "operand":
        return program.of_torch(base, key) if isinstance(key, Made) else UNKNOWN
    return program.called(base, key) if isinstance(key, ast.Call) else UNKNOWN


def derived(base: Value, kind: str, key: str | Value | ast.Call | None = None) -> Value:
    """A step that waits for its base to be known."""
    length, inner = 0, base
    while isinstance(inner, Derived):
        length, inner = length + 1, inner.base
    made = Derived(base, kind, key)
    return UNKNOWN if length >= LONGEST_DERIVATION or _has_many_parts(made) else made


def _has_many_parts(value: Value) -> bool:
    waiting: list[Value] = [value]
    seen = 0
    while waiting:
        one = waiting.pop()
        seen += 1
        if seen > MOST_PARTS:
            return True
        match one:
            case Derived():
                waiting += [one.base, one.key] if isinstance(one.key, Value) else [one.base]
            case OneOf():
                waiting += one.members
            case Table():
                waiting += (value for _, value in one.items)
                waiting.append(one.rest)
            case Wrapped():
                waiting += one.inner
            case Tensor():
                waiting.append(one.source)
            case _:
                continue
    return False


def is_open(value: Value) -> bool:
    """Whether something rests on a parameter that is not bound yet."""
    match value:
        case Parameter():
            return True
        case Derived():
            return is_open(value.base)
        case OneOf():
            return any(map(is_open, value.members))
        case Collection():
            return any(map(is_open, (value.element,) if value.items is None else value.items))
        case _:
            return False


def without(mapping: Parameter | Derived, name: str) -> Value:
    """A dict that is not known yet, after ``name`` was taken out of it."""
    if isinstance(mapping, Derived) and mapping.step == "without":
        return Derived(mapping.base, "without", f"{mapping.key},{name}")
    return derived(mapping, "without", name)


def _without(mapping: Value, names: str) -> Value:
    match mapping:
        case Table():
            items = dict(mapping.items) | dict.fromkeys(names.split(","), ABSENT)
            return Table(tuple(items.items()), mapping.closed, mapping.node)
        case Parameter() | Derived():
            return derived(mapping, "without", names)
        case _:
            return mapping


def laid(mapping: Value, over: Table) -> Value:
    """``{**mapping, **over}``; what proves to be no dict, a batch for one, stays what it is."""
    match mapping:
        case OneOf():
            return union(laid(one, over) for one in mapping.members)
        case Table():
            items = {key: value if over.closed else union((value, UNKNOWN)) for key, value in mapping.items}
            items.update((key, found(value, mapping.get(key))) for key, value in over.items)
            return Table(tuple(items.items()), mapping.closed and over.closed, over.node or mapping.node)
        case Derived(step="laid", key=Table() as lower):
            return derived(mapping.base, "laid", laid(lower, over))
        case Parameter() | Derived():
            return derived(mapping, "laid", over)
        case Unknown():
            return laid(Table((), False, over.node), over)
        case _:
            return mapping


def keyword(program: Program, mapping: Value, name: str) -> Value:
    """The argument ``name`` of a call with ``**mapping``; what is no known dict may hold anything."""
    return union(_keyword(program, one, name) for one in alternatives(mapping))


def _keyword(program: Program, mapping: Value, name: str) -> Value:
    match mapping:
        case Table():
            return mapping.get(name)
        case Parameter() | Derived():
            return derived(mapping, "keyword", name)
        case Made():
            found = _setting(program, mapping, Const(name, "str"))
            return UNKNOWN if found is None else found
        case _:
            return UNKNOWN


def item(program: Program, base: Value, key: Value) -> Value:
    """``base[key]``."""
    match base:
        case OneOf():
            return union(item(program, one, key) for one in base.members)
        case Collection():
            return _from_collection(base, key)
        case Table():
            return _from_table(base, key)
        case Batch() | Tensor():
            if isinstance(key, Batch | Tensor):  # a mask or indices: what they choose is copied
                return placement.computed(base, key.node if isinstance(key, Tensor) else key.loader.call)
            if isinstance(key, Picked) and (key.apart or isinstance(base, Tensor) or not base.whole):
                return placement.scattered(base, key.node)
            return Batch(base.loader, whole=False) if isinstance(base, Batch) else base
        case Generated() | Wrapped() | Nothing():
            return iterate(program, base)
        case Derived(step="laid", key=Table() as over, base=below) if isinstance(key, Const):
            value = over.get(key.value)
            if ABSENT not in alternatives(value) and value != UNKNOWN:
                return value
            return item(program, below, key) if value == ABSENT else derived(base, "item", key)
        case Parameter() | Derived():
            return derived(base, "item", key)
        case Made() if not isinstance(base, Loader | Sampler):
            found = _setting(program, base, key)
            return derived(base, "item", key) if found is None else found
        case _:
            return UNKNOWN


SETTINGS = ("Settings", "DefaultSettings", "SettingsFile", "Merged")


def _setting(program: Program, base: Made, key: Value) -> Value | None:
    """An item of a configuration, which is what the attribute of that name is; None where that is not known."""
    if not isinstance(key, Const) or not program.models.has(base.name, *SETTINGS):
        return None
    found = program.attribute(base, str(key.value))
    return None if isinstance(found, Derived | Unknown) else found


def sliced(program: Program, base: Value, key: Value = UNKNOWN) -> Value:
    """``base[a:b]``: of a container, one of the same kind with some of its elements; ``key`` is for a tensor."""
    match base:
        case OneOf():
            return union(sliced(program, one, key) for one in base.members)
        case Collection(items=None):
            return base
        case Collection(items=tuple() as items):
            return Collection(base.kind, None, union(items), base.node, base.grown)
        case Parameter() | Derived():
            return derived(base, "slice", None if key is UNKNOWN else key)
        case _:
            return item(program, base, key)


def _from_collection(base: Collection, key: Value) -> Value:
    if base.items is None:
        return UNKNOWN if base.element is NOTHING else base.element
    if isinstance(key, Const) and isinstance(key.value, int):
        return base.items[key.value] if -len(base.items) <= key.value < len(base.items) else UNKNOWN
    return union(base.items) if base.items else UNKNOWN


def _from_table(base: Table, key: Value) -> Value:
    if isinstance(key, Const):
        value = base.get(key.value)
        return UNKNOWN if isinstance(value, Absent) else without_absent(value)
    if isinstance(key, OneOf) and all(isinstance(one, Const) for one in key.members):
        return union(_from_table(base, one) for one in key.members)
    values = [without_absent(value) for _, value in base.items]
    return union(values) if values and base.closed else union((*values, UNKNOWN if base.closed else base.rest))


def without_absent(value: Value) -> Value:
    if isinstance(value, OneOf):
        return union(one for one in value.members if not isinstance(one, Absent))
    return UNKNOWN if isinstance(value, Absent) else value


def found(value: Value, instead: Value | None) -> Value:
    """``value``, or ``instead`` where it is absent."""
    if isinstance(value, Absent):
        return instead if instead is not None else ABSENT
    if isinstance(value, OneOf) and ABSENT in value.members:
        return union((without_absent(value), instead if instead is not None else ABSENT))
    return value


def otherwise(value: Value, instead: Value) -> Value:
    """``value``, or ``instead`` where it proves absent once it is known."""
    if isinstance(value, Parameter | Derived):
        return derived(value, "otherwise", instead)
    return found(value, instead)


def position(mapping: Value, at: Value) -> Value:
    """What ``*args`` passes at a position; absent behind its end."""
    match mapping:
        case OneOf():
            return union(position(one, at) for one in mapping.members)
        case Parameter() | Derived():
            return derived(mapping, "position", at)
        case Collection(items=tuple() as items) if isinstance(at, Const) and isinstance(at.value, int):
            return items[at.value] if at.value < len(items) else ABSENT
        case _:
            return UNKNOWN


def prepared(value: Value) -> Value:
    """What accelerate or Fabric gives back: a loader that shards its sampler and moves its batches, or the same."""
    match value:
        case OneOf():
            return union(prepared(one) for one in value.members)
        case Loader():
            return replace(value, prepared=True)
        case Parameter() | Derived(base=Parameter() | Derived()):
            return derived(value, "prepared")
        case _:
            return value


def share(whole: Value) -> Value:
    """A part of a number, rounded up: of the sign of the whole."""
    match whole:
        case OneOf():
            return union(share(one) for one in whole.members)
        case Option(default=Const(value=int() as number)) if number:
            return replace(whole, default=Number(positive=number > 0))
        case Const(value=int() as number) if number:
            return Number(positive=number > 0)
        case Parameter() | Derived():
            return derived(whole, "share")
        case Option() | Const() | Number():
            return whole
        case _:
            return Number()


def chosen(program: Program, base: Value, call: ast.Call) -> Value:
    """``getattr(base, name)`` with a name that may be any: of a parsed command line, an option that the user gives; of
    a module, one of its classes and functions."""
    match base:
        case OneOf():
            return union(chosen(program, one, call) for one in base.members)
        case Module():
            return item(program, program.attribute(base, "__dict__"), UNKNOWN)
        case Namespace():
            return Option(UNKNOWN, "command line", call)
        case Parameter() | Derived():
            return derived(base, "chosen", call)
        case _:
            return UNKNOWN


def iterate(program: Program, base: Value) -> Value:
    """What a loop over ``base`` gives each time."""
    match base:
        case OneOf():
            # None and numbers cannot be iterated: that alternative does not reach the loop
            return union(iterate(program, one) for one in base.members if not isinstance(one, Const | Number))
        case Loader():
            return Batch(base)
        case Batch():
            return Batch(base.loader, whole=False)
        case Tensor():
            return base
        case Wrapped():
            return _unwrapped(program, base)
        case Generated():
            return base.element
        case Collection(items=None):
            return base.element
        case Collection(items=tuple() as items):
            return union(items) if items else UNKNOWN
        case Table():
            return union(Const(key, "str") for key, _ in base.items if isinstance(key, str)) if base.closed else UNKNOWN
        case Instance():
            return program.iterated(base)
        case Parameter() | Derived():
            return derived(base, "iterate")
        case Made(name="builtins.range"):
            return Number()
        case Made() if not isinstance(base, Sampler):
            return derived(base, "iterate")
        case Nothing():
            return NOTHING
        case _:
            return UNKNOWN


def held(program: Program, base: Collection) -> Value:
    """What a container holds so far: nothing, if it was made empty."""
    return NOTHING if base.items == () else iterate(program, base)


def rest(program: Program, base: Value) -> Value:
    """What a starred target takes of ``base``: a list of some of its elements."""
    element = iterate(program, base)
    return element if element in (UNKNOWN, NOTHING) else Collection("list", None, element, None)


def _unwrapped(program: Program, base: Wrapped) -> Value:
    elements = tuple(iterate(program, one) for one in base.inner)
    if base.kind == "enumerate":
        return pair(Number(), elements[0] if elements else UNKNOWN)
    if base.kind == "zip":
        return pair(*elements)
    return union(elements) if elements else UNKNOWN


def pair(*items: Value) -> Collection:
    """A tuple that no expression of the code displays."""
    return Collection("tuple", items, UNKNOWN, None)


def arithmetic(left: Value, right: Value, node: ast.AST) -> Value:
    """The sum, product or the like of two values that are not both literals."""
    for one in (left, right):
        if isinstance(one, CpuCount):
            return one
        if isinstance(one, Batch | Tensor):
            return placement.computed(one, node)
    numeric = (Number, Const)
    return Number() if isinstance(left, numeric) and isinstance(right, numeric) else UNKNOWN
