"""What attributes stand for: of modules, classes, objects, and of what comes from outside."""

from __future__ import annotations

import ast
from functools import partial
from typing import TYPE_CHECKING

from dl_lint.project import apply, arguments, calls, names, options, overrides, redefined
from dl_lint.project.flow import visible_at_end
from dl_lint.project.frameworks import canonical
from dl_lint.project.values import (
    NONE,
    NOTHING,
    UNKNOWN,
    Absent,
    Batch,
    Bound,
    Class,
    Const,
    Derived,
    External,
    Frame,
    Function,
    Instance,
    Loader,
    Made,
    Module,
    Namespace,
    Nothing,
    OneOf,
    Option,
    Package,
    Parameter,
    Sampler,
    Table,
    Tensor,
    Value,
    alternatives,
    union,
)
from dl_lint.source.syntax import Assignment, FunctionDefinition, dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.evaluate import Evaluator
    from dl_lint.project.scopes import Binding, Scope

_VIEWS = frozenset({"data", "T", "mT", "H", "real", "imag"})
"""Attributes of a tensor that share its memory."""


def attribute(ev: Evaluator, base: Value, name: str) -> Value:
    """``base.name``."""
    match base:
        case OneOf():
            return union(attribute(ev, one, name) for one in base.members if one != NONE)
        case External():
            return External(canonical(f"{base.name}.{name}"))
        case Module():
            return _of_module(ev, base, name)
        case Package():
            return ev.files.submodule(base, name) or External(canonical(f"{base.name}.{name}"))
        case Instance():
            return of_instance(ev, base, name)
        case Class():
            return _of_class_object(ev, base, name)
        case Batch():
            return Batch(base.loader, whole=False)
        case Tensor():
            return base if name in _VIEWS else UNKNOWN
        case Made():
            return _of_made(ev, base, name)
        case Namespace():
            return options.option(ev, base, name)
        case Table(node=ast.Call()):  # types.SimpleNamespace(name=…); a method of a dict is no key of it
            found = base.get(name)
            return UNKNOWN if isinstance(found, Absent) else found
        case Parameter() | Derived():
            return apply.derived(base, "attr", name)
        case Option():
            return attribute(ev, base.default, name)
        case _:
            return UNKNOWN


def _of_module(ev: Evaluator, module: Module, name: str) -> Value:
    scope = module.file.module
    if scope.bindings.get(name) or scope.remote.get(name):
        return ev.solver.solve((scope, name), lambda: _at_end(ev, scope, name))
    found = ev.files.submodule(module, name) or names.from_star(ev, scope, name)
    return found if found is not None else UNKNOWN


def _at_end(ev: Evaluator, scope: Scope, name: str) -> Value:
    reach = visible_at_end(scope, name)
    return union(names.seen(ev, scope, name, reach, None)) if reach.bindings else UNKNOWN


# --- classes -----------------------------------------------------------------------------


def decorators(scope: Scope) -> frozenset[str]:
    """The last parts of the names of a definition's decorators: property, staticmethod, dataclass…"""
    if not isinstance(scope.node, FunctionDefinition | ast.ClassDef):
        return frozenset()
    found = (dotted(d.func if isinstance(d, ast.Call) else d) for d in scope.node.decorator_list)
    return frozenset(name.rpartition(".")[2] for name in found if name)


def bases(ev: Evaluator, cls: Class) -> tuple[Value, ...]:
    """The values of a class's bases, in order."""
    node = cls.scope.node
    if not isinstance(node, ast.ClassDef):
        return ()
    found: list[Value] = []
    for base in node.bases:
        found.extend(alternatives(ev.symbolic(base.value if isinstance(base, ast.Subscript) else base)))
    return tuple(found)


def lineage(ev: Evaluator, cls: Class) -> tuple[Value, ...]:
    """The class and all its bases, nearest first: classes of the project, outside ones, unknown ones."""
    return ev.once(("lineage", cls), lambda: _lineage(ev, cls))


def _lineage(ev: Evaluator, cls: Class) -> tuple[Value, ...]:
    found: dict[Value, None] = {}
    waiting: list[Value] = [cls]
    while waiting and len(found) < 64:
        one = waiting.pop(0)
        if one in found:
            continue
        found[one] = None
        if isinstance(one, Class):
            waiting[:0] = bases(ev, one)
    return tuple(found)


def external_bases(ev: Evaluator, cls: Class) -> tuple[str, ...]:
    return tuple(one.name for one in lineage(ev, cls) if isinstance(one, External))


def of_class(ev: Evaluator, cls: Class, name: str) -> Value:
    """What the class body of ``cls`` or of a base binds to ``name``; nothing if none does."""
    for one in lineage(ev, cls):
        if isinstance(one, Class) and one.scope.bindings.get(name):
            return ev.solver.solve((one.scope, name), partial(_at_end, ev, one.scope, name))
    return NOTHING


def _of_class_object(ev: Evaluator, cls: Class, name: str) -> Value:
    found = of_class(ev, cls, name)
    if isinstance(found, Function) and "classmethod" in decorators(found.scope):
        return Bound(found, cls)
    return UNKNOWN if isinstance(found, Nothing) else found


# --- objects -----------------------------------------------------------------------------


def of_instance(ev: Evaluator, base: Instance, name: str) -> Value:
    """An attribute of an object: what its class's methods store, else what its class binds."""
    given = _given_field(ev, base, name)
    given = overrides.given(ev, base, name) if given is None else given
    if given is not None:
        return given
    inside = ev.solver.solve(("attribute", base.cls, name), lambda: _in_lineage(ev, base.cls, name))
    if base.call is None and all(_is_abstract(one) for one in alternatives(inside)):
        below = ev.solver.solve(("overridden", base.cls, name), lambda: _in_subclasses(ev, base.cls, name))
        inside = inside if isinstance(below, Nothing) else below
    elif base.call is None:
        built = ev.solver.solve(("built below", base.cls, name), lambda: redefined.below(ev, base.cls, name))
        inside = inside if isinstance(built, Nothing) else union((inside, built))
        if any(isinstance(one, Const) for one in alternatives(inside)) and overrides.may_be_given_below(ev, base.cls):
            inside = union((inside, UNKNOWN))
    if isinstance(inside, Nothing):
        return UNKNOWN
    return union(_seen_from(ev, base, one) for one in alternatives(inside))


def _seen_from(ev: Evaluator, base: Instance, value: Value) -> Value:
    """A value stored inside a class, as the owner of one object of it sees it."""
    if isinstance(value, Function) and value.scope.is_method:
        kinds = decorators(value.scope)
        if kinds & {"property", "cached_property", "lazy_property", "LazyProperty"}:
            return calls.of_function(ev, value, None, base)
        return value if "staticmethod" in kinds else Bound(value, base)
    return as_built(ev, base, value)


def _given_field(ev: Evaluator, base: Instance, name: str) -> Value | None:
    """The field of a dataclass, if the call that built ``base`` sets it."""
    if base.call is None or name not in base.cls.scope.bindings or not is_record(ev, base.cls):
        return None
    given = arguments.given(ev, base.call, fields(base.cls), name)
    if isinstance(given.symbolic, Absent):
        return None
    # A function that builds a record from a field of a record that it built goes round for ever.
    return ev.solver.solve(("given", base, name), lambda: ev.through(given.symbolic, base.frames))


def fields(cls: Class) -> tuple[str, ...]:
    """The annotated names of a class body, in order."""
    found: dict[str, None] = {}
    for name, bindings in cls.scope.bindings.items():
        if any(isinstance(b.node, ast.AnnAssign) for b in bindings):
            found[name] = None
    return tuple(found)


def as_built(ev: Evaluator, base: Instance, value: Value) -> Value:
    """``value`` with the parameters of the constructor bound by the call that built ``base``."""
    if base.call is None:
        return value
    # A wrapper built around what builds it (a repeated dataset of a config) asks for itself: the solver ends that.
    return ev.solver.solve(("as built", base, value), partial(_as_built, ev, base, base.call, value))


def _as_built(ev: Evaluator, base: Instance, call: ast.Call, value: Value) -> Value:
    init = of_class(ev, base.cls, "__init__")
    if isinstance(init, Function):
        value = ev.enter(value, Frame(init.scope, call))
    return ev.through(value, base.frames)


def _is_abstract(value: Value) -> bool:
    """Whether a function only says that a subclass has to define it."""
    node = value.scope.node if isinstance(value, Function) else None
    if not isinstance(node, FunctionDefinition):
        return False
    raises = isinstance(node.body[-1], ast.Raise)
    return all(
        isinstance(stmt, ast.Raise | ast.Pass)
        or (isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant))
        or (isinstance(stmt, Assignment) and raises)  # the message
        for stmt in node.body
    )


def _in_lineage(ev: Evaluator, cls: Class, name: str) -> Value:
    for one in lineage(ev, cls):
        if isinstance(one, Class):
            values = _stored(ev, one, name) if one == cls else redefined.stored(ev, cls, one, name)
            found = [value for value in values if not isinstance(value, Nothing)]
            if one.scope.bindings.get(name):
                body = ev.solver.solve((one.scope, name), partial(_at_end, ev, one.scope, name))
                if not found or not isinstance(body, Function):
                    found.append(_field(ev, one, name, body))
            if found:
                return union(found)
    return NOTHING


def _stored(ev: Evaluator, cls: Class, name: str) -> Iterator[Value]:
    """What each method of a class last stores to ``self.name``."""
    for method, key in ev.storing(cls).get(name, ()):
        yield from names.seen(ev, method, key, visible_at_end(method, key), None)


def storing(cls: Class) -> dict[str, list[tuple[Scope, str]]]:
    """The methods of a class that store each attribute of self, the constructor first, with the name bound there."""
    found: dict[str, list[tuple[Scope, str]]] = {}
    for method in methods(cls):
        prefix = method.params[0].name + "." if method.params else "."
        for key in method.bindings:
            if key.startswith(prefix):
                found.setdefault(key[len(prefix) :], []).append((method, key))
    return found


def methods(cls: Class) -> Iterator[Scope]:
    """The functions defined in a class body, the constructor first."""
    found = [scope for scope in cls.scope.children if scope.kind == "function"]
    yield from sorted(found, key=lambda scope: scope.name != "__init__")


def _field(ev: Evaluator, cls: Class, name: str, default: Value) -> Value:
    """A class attribute; of a dataclass, the field that a caller may set."""
    binding: Binding = cls.scope.bindings[name][-1]
    if isinstance(binding.node, ast.AnnAssign) and is_record(ev, cls):
        return Option(default, "field", binding.node)
    return default


def is_record(ev: Evaluator, cls: Class) -> bool:
    """Whether the constructor takes the annotated fields of the class body: dataclass, NamedTuple, attrs, pydantic."""
    if decorators(cls.scope) & {"dataclass", "define", "frozen", "attrs", "s"}:
        return True
    return any(
        name.rpartition(".")[2] in ("NamedTuple", "BaseModel", "BaseSettings") for name in external_bases(ev, cls)
    )


def _in_subclasses(ev: Evaluator, cls: Class, name: str) -> Value:
    return union(_in_lineage_below(ev, sub, cls, name) for sub in ev.callers.subclasses(cls))


def _in_lineage_below(ev: Evaluator, sub: Class, stop: Class, name: str) -> Value:
    return NOTHING if sub == stop else ev.solver.solve(("attribute", sub, name), lambda: _in_lineage(ev, sub, name))


# --- what comes from outside --------------------------------------------------------------


def _of_made(ev: Evaluator, base: Made, name: str) -> Value:
    if base.cls is not None:
        found = of_instance(ev, Instance(base.cls, base.call, base.frames), name)
        if found != UNKNOWN:
            return found
    if isinstance(base, Loader | Sampler):
        # A loader made of what another has, which may be of the same kind, asks for itself: the solver ends that.
        return ev.solver.solve(("given", base, name), partial(_given, ev, base, name))
    return apply.derived(base, "attr", name)


def _given(ev: Evaluator, base: Made, name: str) -> Value:
    given = arguments.argument(ev, base, name)
    return UNKNOWN if given is None or isinstance(given.symbolic, Absent) else given.symbolic
