"""What calls return: of the project's functions and classes, of methods, and of what comes from outside."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.hints import names_one, qualified
from dl_lint.project import apply, attributes, options, outside, tensors
from dl_lint.project.frameworks import LISTING, LOADERS, PREPARERS, SAMPLERS, TORCH_LOADER, WEIGHTS
from dl_lint.project.values import (
    NONE,
    NOTHING,
    UNKNOWN,
    Batch,
    Bound,
    Class,
    Collection,
    Const,
    Derived,
    External,
    Frame,
    Function,
    Generated,
    Instance,
    Loader,
    Made,
    Module,
    Nothing,
    OneOf,
    Option,
    Package,
    Parameter,
    Partial,
    Sampler,
    Table,
    Tensor,
    Value,
    Wrapped,
    union,
)
from dl_lint.source.syntax import ForStatement, advanced

if TYPE_CHECKING:
    from dl_lint.project.evaluate import Evaluator
    from dl_lint.project.scopes import Scope

_SAME_OBJECT = frozenset(
    {"to", "cuda", "cpu", "train", "eval", "float", "half", "double", "bfloat16", "requires_grad_"}
)
"""Methods that a module of torch returns itself from."""


def call(ev: Evaluator, expr: ast.Call) -> Value:
    func = expr.func
    if not isinstance(func, ast.Attribute):
        if isinstance(func, ast.Name) and func.id == "super":
            return _super(ev, expr)
        return of_value(ev, ev.symbolic(func), expr)
    return method(ev, ev.symbolic(func.value), func.attr, expr)


def _super(ev: Evaluator, expr: ast.Call) -> Value:
    """``super()``: what the bases of the class around have, bound to an object of it."""
    scope: Scope | None = ev.site(expr).scope
    while scope is not None and scope.kind != "class":
        scope = scope.parent
    if scope is None:
        return UNKNOWN
    for base in attributes.bases(ev, Class(scope)):
        if isinstance(base, Class):
            return Instance(base)
    return UNKNOWN


# --- values that are called ---------------------------------------------------------------


def of_value(ev: Evaluator, callee: Value, expr: ast.Call) -> Value:
    match callee:
        case External():
            return outside.call(ev, callee.name, expr)
        case Function():
            return of_function(ev, callee, expr, None)
        case Bound():
            return of_function(ev, callee.function, expr, callee.receiver)
        case Class():
            return _construct(ev, callee, expr)
        case Partial():
            return of_value(ev, callee.func, expr)
        case OneOf():
            return union(of_value(ev, one, expr) for one in callee.members)
        case Parameter() | Derived():
            return apply.derived(callee, "call", expr)
        case Instance():
            dunder = attributes.of_instance(ev, callee, "__call__")
            return of_value(ev, dunder, expr) if isinstance(dunder, Bound) else UNKNOWN
        case Made() if not isinstance(callee, Loader | Sampler):
            return apply.derived(callee, "call", expr)
        case Nothing():
            return NOTHING
        case _:
            return UNKNOWN


def of_function(ev: Evaluator, function: Function, expr: ast.Call | None, receiver: Value | None) -> Value:
    """What a function returns to one caller; without a call, to the reader of a property."""
    value = returned(ev, function.scope)
    if expr is not None:  # methods that return what each other's methods return may come round to the same call
        frame, inside = Frame(function.scope, expr), value
        value = ev.solver.solve(("entered", frame), lambda: ev.enter(inside, frame))
    if isinstance(receiver, Instance):
        value = attributes.as_built(ev, receiver, value)
    return value


def returned(ev: Evaluator, scope: Scope) -> Value:
    """What calling a function gives, its parameters left open."""
    return ev.solver.solve(("returned", scope), lambda: _returned(ev, scope))


def _returned(ev: Evaluator, scope: Scope) -> Value:
    if isinstance(scope.node, ast.Lambda):
        return ev.symbolic(scope.node.body)
    if scope.yields:
        return _generated(ev, scope)
    if not scope.returns:
        return NOTHING if scope.body.exits == "leave" else NONE
    return union(ev.symbolic(r.value) if r.value is not None else NONE for r in scope.returns)


def _generated(ev: Evaluator, scope: Scope) -> Value:
    elements: list[Value] = []
    for one in scope.yields:
        value = ev.symbolic(one.value)
        elements.append(apply.iterate(ev, value) if isinstance(one, ast.YieldFrom) else value)
    sources = [ev.symbolic(loop.node.iter) for loop in scope.loops if isinstance(loop.node, ForStatement)]
    sources += [ev.symbolic(one.value) for one in scope.yields if isinstance(one, ast.YieldFrom)]
    sources += [ev.symbolic(iterator) for iterator in map(advanced, scope.calls) if iterator is not None]
    return Generated(union(elements), tuple(dict.fromkeys(sources))[:4])


def _construct(ev: Evaluator, cls: Class, expr: ast.Call) -> Value:
    for name in attributes.external_bases(ev, cls):
        if name in LOADERS:
            return Loader(name, expr, cls)
        if name in SAMPLERS:
            return Sampler(name, expr, cls)
        if names_one(ev.hints.dataloader_classes, name):
            return Loader(TORCH_LOADER, expr, cls)
    if ev.hints.dataloader_classes and names_one(ev.hints.dataloader_classes, qualified(cls.scope)):
        return Loader(TORCH_LOADER, expr)  # without the class: its arguments are torch's, wherever it hands them on
    return Instance(cls, expr)


def iterated(ev: Evaluator, base: Instance) -> Value:
    """What a loop over an object of a project class gives; iterators that give each other give nothing."""
    return ev.solver.solve(("iterated", base), lambda: _iterated(ev, base))


def _iterated(ev: Evaluator, base: Instance) -> Value:
    for name in ("__iter__", "__next__", "__getitem__"):
        found = attributes.of_instance(ev, base, name)
        if isinstance(found, Bound):
            value = of_function(ev, found.function, None, base)
            if name != "__iter__":
                return value
            if not isinstance(value, Instance) or value.cls != base.cls:
                return apply.iterate(ev, value)
    return UNKNOWN


# --- methods ------------------------------------------------------------------------------


def method(ev: Evaluator, receiver: Value, name: str, expr: ast.Call) -> Value:
    """``receiver.name(…)``."""
    match receiver:
        case OneOf():
            return union(method(ev, one, name, expr) for one in receiver.members if one != NONE)
        case Parameter() | Derived():
            return apply.derived(apply.derived(receiver, "attr", name), "call", expr)
        case Instance():
            return _of_instance(ev, receiver, name, expr)
        case External() | Module() | Package() | Class():
            return of_value(ev, attributes.attribute(ev, receiver, name), expr)
        case Batch() | Tensor():
            return tensors.method(ev, receiver, name, expr)
        case Made():
            return _of_made(ev, receiver, name, expr)
        case Table() | Collection():
            return _of_container(ev, receiver, name, expr)
        case Wrapped() | Generated():
            return apply.iterate(ev, receiver) if name in ("next", "__next__") else UNKNOWN
        case Option():
            return method(ev, receiver.default, name, expr)
        case Nothing():
            return NOTHING
        case _:
            return _of_unknown(ev, receiver, name, expr)


def _of_instance(ev: Evaluator, receiver: Instance, name: str, expr: ast.Call) -> Value:
    found = attributes.of_instance(ev, receiver, name)
    if found != UNKNOWN:
        return of_value(ev, found, expr)
    if name in _SAME_OBJECT and attributes.external_bases(ev, receiver.cls):
        return receiver
    return _of_unknown(ev, receiver, name, expr)


def _of_made(ev: Evaluator, receiver: Made, name: str, expr: ast.Call) -> Value:
    if receiver.cls is not None:
        found = attributes.of_instance(ev, Instance(receiver.cls, receiver.call, receiver.frames), name)
        if found != UNKNOWN:
            return of_value(ev, found, expr)
    if name in PREPARERS:
        return _prepared(ev, expr)
    if isinstance(receiver, Loader):
        return Wrapped("iter", (receiver,)) if name == "__iter__" else UNKNOWN
    if isinstance(receiver, Sampler):
        return UNKNOWN
    parsed = options.parsed(receiver, name)
    if parsed is not None:
        return parsed
    copied = tensors.moved(ev, receiver, name, expr)
    return copied if copied is not None else apply.derived(apply.derived(receiver, "attr", name), "call", expr)


def _of_unknown(ev: Evaluator, receiver: Value, name: str, expr: ast.Call) -> Value:
    if name in PREPARERS:
        return _prepared(ev, expr)
    copied = tensors.moved(ev, receiver, name, expr)
    if copied is None and name in LISTING | WEIGHTS:
        return apply.derived(apply.derived(UNKNOWN, "attr", name), "call", expr)
    return copied if copied is not None else UNKNOWN


def _prepared(ev: Evaluator, expr: ast.Call) -> Value:
    """``accelerator.prepare(a, b)`` returns its arguments, loaders and all."""
    items = tuple(prepared(ev.symbolic(arg)) for arg in expr.args)
    if any(isinstance(arg, ast.Starred) for arg in expr.args):
        return UNKNOWN
    return items[0] if len(items) == 1 else apply.pair(*items)


def prepared(value: Value) -> Value:
    if isinstance(value, OneOf):
        return union(prepared(one) for one in value.members)
    if isinstance(value, Loader):
        return Loader(value.name, value.call, value.cls, value.frames, prepared=True)
    return UNKNOWN if isinstance(value, Parameter | Derived) else value


def _of_collection(ev: Evaluator, receiver: Collection, name: str) -> Value:
    element = apply.iterate(ev, receiver)
    if receiver.kind == "dict" and name in ("keys", "values", "items"):
        parts = {"keys": UNKNOWN, "values": element, "items": apply.pair(UNKNOWN, element)}
        return Collection("list", None, parts[name], receiver.node, receiver.grown)
    return element if name in ("pop", "popleft", "get", "setdefault") else UNKNOWN


def _of_container(ev: Evaluator, receiver: Table | Collection, name: str, expr: ast.Call) -> Value:
    if name in ("copy", "__iter__"):
        return receiver
    if isinstance(receiver, Collection):
        return _of_collection(ev, receiver, name)
    match name:
        case "get" | "pop" | "setdefault":
            key = ev.symbolic(expr.args[0]) if expr.args else UNKNOWN
            default = ev.symbolic(expr.args[1]) if len(expr.args) > 1 else NONE
            return apply.found(receiver.get(key.value), default) if isinstance(key, Const) else UNKNOWN
        case "values":
            return Collection("list", None, apply.item(ev, receiver, UNKNOWN), receiver.node)
        case "items":
            return Collection("list", None, apply.pair(UNKNOWN, apply.item(ev, receiver, UNKNOWN)), receiver.node)
        case "keys":
            return Collection("list", None, apply.iterate(ev, receiver), receiver.node)
        case _:
            return UNKNOWN
