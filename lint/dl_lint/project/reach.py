"""Which functions of the project a function calls, directly or not."""

from __future__ import annotations

import ast
from functools import partial
from typing import TYPE_CHECKING

from dl_lint.project import attributes
from dl_lint.project.frameworks import composes
from dl_lint.project.scopes import Scope
from dl_lint.project.values import Bound, Class, Collection, Function, Instance, Made, Value, alternatives
from dl_lint.source.syntax import dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.evaluate import Evaluator

MOST = 200
"""Functions followed from one; the samples of real datasets take a dozen."""

DEEPEST = 4
"""Transforms composed of others that are looked into."""


def with_inner(scope: Scope) -> Iterator[Scope]:
    """A function and the scopes inside it: comprehensions, lambdas, nested functions."""
    waiting = [scope]
    while waiting:
        one = waiting.pop()
        yield one
        waiting.extend(one.children)


Entry = tuple[Scope, Class | None]
"""A function with the class of the object that it is called on, if it is known."""


def reachable(ev: Evaluator, roots: tuple[Scope, ...], cls: Class | None = None) -> tuple[Scope, ...]:
    """The functions that run when ``roots`` do, themselves first.

    Methods called on self are looked up in the class of the object (``cls`` for ``roots``), so that a base's
    ``__getitem__`` reaches what a subclass overrides.
    """
    found: dict[Entry, None] = {(root, cls): None for root in roots}
    waiting = list(found)
    while waiting and len(found) < MOST:
        function, on = waiting.pop(0)
        for entry in ev.once(("called", function, on), partial(_all_called, ev, function, on)):
            if entry not in found:
                found[entry] = None
                waiting.append(entry)
    return tuple(dict.fromkeys(function for function, _ in found))


def _all_called(ev: Evaluator, function: Scope, cls: Class | None) -> tuple[Entry, ...]:
    return tuple(dict.fromkeys(_called(ev, function, cls)))


def _called(ev: Evaluator, function: Scope, cls: Class | None) -> Iterator[Entry]:
    owner = function.params[0].name if function.is_method and function.params else None
    for scope in with_inner(function):
        for call in scope.calls:
            method = _on_self(call, owner) if cls is not None else None
            if method is not None and cls is not None:
                defined = attributes.of_class(ev, cls, method)
                if isinstance(defined, Function):
                    yield defined.scope, cls
                else:
                    yield from _entries(ev, ev.resolve(attributes.of_instance(ev, Instance(cls), method)))
            else:
                yield from _entries(ev, ev.value(call.func))
        if cls is not None and owner:
            yield from ((found, cls) for found in _properties(ev, scope, owner, cls))
        if owner:
            yield from _items(ev, scope, owner)


def _on_self(call: ast.Call, owner: str | None) -> str | None:
    """The method that a call enters on self, which may be called itself."""
    name = dotted(call.func)
    if name is None or owner is None:
        return None
    if name == owner:
        return "__call__"
    return name[len(owner) + 1 :] if name.startswith(owner + ".") and name.count(".") == 1 else None


def _entries(ev: Evaluator, value: Value, depth: int = DEEPEST) -> Iterator[Entry]:
    """What calling ``value`` enters."""
    for one in alternatives(value):
        match one:
            case Function():
                yield one.scope, None
            case Bound(receiver=Instance() as receiver):
                yield one.function.scope, receiver.cls
            case Bound():
                yield one.function.scope, None
            case Instance():
                inner = attributes.of_instance(ev, one, "__call__")
                if isinstance(inner, Bound):
                    yield inner.function.scope, one.cls
            case Made(name=name) if depth and composes(name):
                for part in composed(ev, one):
                    yield from _entries(ev, part, depth - 1)
            case _:
                continue


def composed(ev: Evaluator, made: Made) -> Iterator[Value]:
    """What ``Compose([…])`` calls, one after the other."""
    for argument in made.call.args:
        for one in alternatives(ev.value(argument)):
            if isinstance(one, Collection):
                held = one.items if one.items is not None else (one.element,)
                yield from (part for item in held for part in alternatives(ev.resolve(item)))


def functions(ev: Evaluator, value: Value) -> Iterator[Scope]:
    """The functions of the project that calling ``value`` enters."""
    yield from (scope for scope, _ in _entries(ev, value))


def _items(ev: Evaluator, scope: Scope, owner: str) -> Iterator[Entry]:
    """``self.reader[key]`` runs the reader's ``__getitem__``."""
    for load in scope.loads.get(owner, ()):
        held = ev.parents.get(load)
        above = ev.parents.get(held) if isinstance(held, ast.Attribute) else None
        if isinstance(held, ast.Attribute) and isinstance(above, ast.Subscript) and above.value is held:
            for one in alternatives(ev.value(held)):
                found = attributes.of_instance(ev, one, "__getitem__") if isinstance(one, Instance) else None
                if isinstance(one, Instance) and isinstance(found, Bound):
                    yield found.function.scope, one.cls


def _properties(ev: Evaluator, scope: Scope, owner: str, cls: Class) -> Iterator[Scope]:
    for load in scope.loads.get(owner, ()):
        above = ev.parents.get(load)
        attr = getattr(above, "attr", None)
        found = attributes.of_class(ev, cls, attr) if isinstance(attr, str) else None
        if isinstance(found, Function) and attributes.decorators(found.scope) & {"property", "cached_property"}:
            yield found.scope
