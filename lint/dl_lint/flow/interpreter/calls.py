"""What calls return: of the project's functions and classes, of methods, and of what comes from outside."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.flow.hints import names_one
from dl_lint.flow.interpreter import (
    classes,
    configurations,
    library_calls,
    objects,
    operations,
    options,
    registries,
    tensor_memory,
)
from dl_lint.flow.interpreter.classes import qualified
from dl_lint.flow.program import evaluates, operation
from dl_lint.flow.values import (
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

if TYPE_CHECKING:
    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import Scope


_SAME_OBJECT = frozenset(
    {"to", "cuda", "cpu", "train", "eval", "float", "half", "double", "bfloat16", "requires_grad_"}
)
"""Methods that a module of torch returns itself from."""


@evaluates(ast.Call)
def call(program: Program, expr: ast.Call) -> Value:
    func = expr.func
    if not isinstance(func, ast.Attribute):
        if isinstance(func, ast.Name) and func.id == "super":
            return _super(program, expr)
        return of_value(program, program.symbolic(func), expr)
    return method(program, program.symbolic(func.value), func.attr, expr)


def _super(program: Program, expr: ast.Call) -> Value:
    """``super()``: what the bases of the class around have, bound to an object of it."""
    scope: Scope | None = program.site(expr).scope
    while scope is not None and scope.kind != "class":
        scope = scope.parent
    if scope is None:
        return UNKNOWN
    for base in classes.bases(program, Class(scope)):
        if isinstance(base, Class):
            return Instance(base)
    return UNKNOWN


# --- values that are called ---------------------------------------------------------------


@operation("called")
def of_value(program: Program, callee: Value, expr: ast.Call) -> Value:
    match callee:
        case External():
            return library_calls.call(program, callee.name, expr)
        case Function():
            return objects.of_function(program, callee, expr, None)
        case Bound():
            return objects.of_function(program, callee.function, expr, callee.receiver)
        case Class():
            return _construct(program, callee, expr)
        case Partial():
            return of_value(program, callee.func, expr)
        case OneOf():
            return union(of_value(program, one, expr) for one in callee.members)
        case Parameter() | Derived():
            return operations.derived(callee, "call", expr)
        case Instance():
            dunder = objects.of_instance(program, callee, "__call__")
            return of_value(program, dunder, expr) if isinstance(dunder, Bound) else UNKNOWN
        case Made(name="collections.namedtuple"):
            return library_calls.named_tuple(program, callee, expr)
        case Made() if not isinstance(callee, Loader | Sampler):
            return operations.derived(callee, "call", expr)
        case Nothing():
            return NOTHING
        case _:
            return UNKNOWN


def _construct(program: Program, cls: Class, expr: ast.Call) -> Value:
    for name in classes.external_bases(program, cls):
        if program.models.has(name, "Loader", "TorchLoader"):
            return Loader(name, expr, cls)
        if program.models.has(name, "Sampler"):
            return Sampler(name, expr, cls)
        if names_one(program.hints.dataloader_classes, name):
            return Loader(library_calls.TORCH_LOADER, expr, cls)
    bases = classes.external_bases(program, cls)
    settings = next((name for name in bases if program.models.has(name, *configurations.SETTINGS)), None)
    if settings is not None:
        return Made(settings, expr, cls)
    if classes.is_attribute_dict(program, cls):
        return Made("easydict.EasyDict", expr)
    if objects.gives_keywords(program, cls):
        return Made("easydict.EasyDict", expr, cls)
    if program.hints.dataloader_classes and names_one(program.hints.dataloader_classes, qualified(cls.scope)):
        # without the class: its arguments are torch's, wherever it hands them on
        return Loader(library_calls.TORCH_LOADER, expr)
    return Instance(cls, expr)


@operation("iterated")
def iterated(program: Program, base: Instance) -> Value:
    """What a loop over an object of a project class gives; iterators that give each other give nothing."""
    return program.solver.solve(("iterated", base), lambda: _iterated(program, base))


def _iterated(program: Program, base: Instance) -> Value:
    for name in ("__iter__", "__next__", "__getitem__"):
        found = objects.of_instance(program, base, name)
        if isinstance(found, Bound):
            value = objects.of_function(program, found.function, None, base)
            if name != "__iter__":
                return value
            if not isinstance(value, Instance) or value.cls != base.cls:
                return operations.iterate(program, value)
    return UNKNOWN


# --- methods ------------------------------------------------------------------------------


@operation("method_called")
def method(program: Program, receiver: Value, name: str, expr: ast.Call) -> Value:
    """``receiver.name(…)``."""
    if name in ("get", "build") and isinstance(receiver, Instance | Made | External) and expr.args:
        key = program.symbolic(expr.args[0]) if name == "get" else UNKNOWN
        found = registries.registered(program, receiver, key)
        if found != NOTHING:
            return found if name == "get" else registries.built(found)
    match receiver:
        case OneOf():
            return union(method(program, one, name, expr) for one in receiver.members if one != NONE)
        case Parameter() | Derived():
            return _waiting(program, receiver, name, expr)
        case Instance():
            return _of_instance(program, receiver, name, expr)
        case External() | Module() | Package() | Class():
            return of_value(program, program.attribute(receiver, name), expr)
        case Batch() | Tensor():
            return tensor_memory.tensor_method(program, receiver, name, expr)
        case Made():
            return _of_made(program, receiver, name, expr)
        case Table() | Collection():
            return _of_container(program, receiver, name, expr)
        case Wrapped() | Generated():
            return operations.iterate(program, receiver) if name in ("next", "__next__") else UNKNOWN
        case Option():
            return method(program, receiver.default, name, expr)
        case Nothing():
            return NOTHING
        case _:
            return _of_unknown(program, receiver, name, expr)


def _of_instance(program: Program, receiver: Instance, name: str, expr: ast.Call) -> Value:
    found = objects.of_instance(program, receiver, name)
    if found != UNKNOWN:
        return of_value(program, found, expr)
    if name in _SAME_OBJECT and classes.external_bases(program, receiver.cls):
        return receiver
    return _of_unknown(program, receiver, name, expr)


def _of_made(program: Program, receiver: Made, name: str, expr: ast.Call) -> Value:
    if receiver.cls is not None:
        found = objects.of_instance(program, Instance(receiver.cls, receiver.call, receiver.frames), name)
        if found != UNKNOWN:
            return of_value(program, found, expr)
    if program.models.is_method(name, "Prepared", "Same"):
        return _handed_through(program, name, expr)
    if isinstance(receiver, Loader):
        return Wrapped("iter", (receiver,)) if name == "__iter__" else UNKNOWN
    if isinstance(receiver, Sampler):
        return UNKNOWN
    if configurations.is_configuration(program, receiver):
        return _of_configuration(program, receiver, name, expr)
    if receiver.name.endswith("multiprocessing.get_context"):  # a context has the functions of the module
        return library_calls.call(program, f"multiprocessing.{name}", expr)
    parsed = options.parsed(program, receiver, name)
    if parsed is not None:
        return parsed
    modelled = library_calls.modelled(program, f"{receiver.name}.{name}", expr)
    if modelled is not None:
        return modelled
    copied = tensor_memory.moved(program, receiver, name, expr)
    return copied if copied is not None else _waiting(program, receiver, name, expr)


def _of_configuration(program: Program, receiver: Made, name: str, expr: ast.Call) -> Value:
    if name in ("clone", "copy"):
        return receiver
    if name == "get" and expr.args:
        found = operations.item(program, receiver, program.symbolic(expr.args[0]))
        return _or_default(program, found, name, expr) if isinstance(found, Derived) else found
    return _waiting(program, receiver, name, expr)


def _waiting(program: Program, receiver: Value, name: str, expr: ast.Call) -> Value:
    """A method of what is not known, or not yet."""
    found = operations.derived(operations.derived(receiver, "attr", name), "call", expr)
    return found if operations.is_open(receiver) else _or_default(program, found, name, expr)


def _or_default(program: Program, found: Value, name: str, expr: ast.Call) -> Value:
    """The default of ``config.get(key, default)`` is known whatever the configuration is."""
    return union((found, program.symbolic(expr.args[1]))) if name == "get" and len(expr.args) == 2 else found


def _of_unknown(program: Program, receiver: Value, name: str, expr: ast.Call) -> Value:
    if program.models.is_method(name, "Prepared", "Same"):
        return _handed_through(program, name, expr)
    copied = tensor_memory.moved(program, receiver, name, expr)
    if copied is None and (name == "keys" or program.models.is_method(name, "Lists", "Weights")):
        return operations.derived(operations.derived(UNKNOWN, "attr", name), "call", expr)
    return copied if copied is not None else _or_default(program, UNKNOWN, name, expr)


def _handed_through(program: Program, name: str, expr: ast.Call) -> Value:
    if program.models.is_method(name, "Prepared"):
        return _prepared(program, expr)
    return program.symbolic(expr.args[0]) if expr.args else UNKNOWN


def _prepared(program: Program, expr: ast.Call) -> Value:
    """``accelerator.prepare(a, b)`` returns its arguments, loaders and all."""
    items = tuple(operations.prepared(program.symbolic(arg)) for arg in expr.args)
    if any(isinstance(arg, ast.Starred) for arg in expr.args):
        return UNKNOWN
    return items[0] if len(items) == 1 else operations.pair(*items)


def _of_collection(program: Program, receiver: Collection, name: str) -> Value:
    element = operations.iterate(program, receiver)
    if receiver.kind == "dict" and name in ("keys", "values", "items"):
        parts = {"keys": UNKNOWN, "values": element, "items": operations.pair(UNKNOWN, element)}
        return Collection("list", None, parts[name], receiver.node, receiver.grown)
    return element if name in ("pop", "popleft", "get", "setdefault") else UNKNOWN


def _of_container(program: Program, receiver: Table | Collection, name: str, expr: ast.Call) -> Value:
    if name in ("copy", "__iter__"):
        return receiver
    if isinstance(receiver, Collection):
        return _of_collection(program, receiver, name)
    match name:
        case "get" | "pop" | "setdefault":
            key = program.symbolic(expr.args[0]) if expr.args else UNKNOWN
            default = program.symbolic(expr.args[1]) if len(expr.args) > 1 else NONE
            if isinstance(key, Const):
                return operations.found(receiver.get(key.value), default)
            return union((operations.item(program, receiver, key), default))
        case "values":
            return Collection("list", None, operations.item(program, receiver, UNKNOWN), receiver.node)
        case "items":
            return Collection(
                "list", None, operations.pair(UNKNOWN, operations.item(program, receiver, UNKNOWN)), receiver.node
            )
        case "keys":
            return Collection("list", None, operations.iterate(program, receiver), receiver.node)
        case _:
            return UNKNOWN
