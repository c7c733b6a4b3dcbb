"""Which functions of the project a function calls, directly or not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project import attributes
from dl_lint.project.syntax import dotted
from dl_lint.project.values import Bound, Class, Function, Instance, Value, alternatives

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.evaluate import Evaluator
    from dl_lint.project.scopes import Scope

MOST = 200
"""Functions followed from one; the samples of real datasets take a dozen."""


def with_inner(scope: Scope) -> Iterator[Scope]:
    """A function and the scopes inside it: comprehensions, lambdas, nested functions."""
    waiting = [scope]
    while waiting:
        one = waiting.pop()
        yield one
        waiting.extend(one.children)


def reachable(ev: Evaluator, roots: tuple[Scope, ...], cls: Class | None = None) -> tuple[Scope, ...]:
    """The functions that run when ``roots`` do, themselves first.

    With ``cls``, methods called on self are looked up in that class, so that a base's ``__getitem__`` reaches its own.
    """
    found = dict.fromkeys(roots)
    waiting = list(roots)
    while waiting and len(found) < MOST:
        for target in _called(ev, waiting.pop(0), cls):
            if target not in found:
                found[target] = None
                waiting.append(target)
    return tuple(found)


def _called(ev: Evaluator, function: Scope, cls: Class | None) -> Iterator[Scope]:
    owner = function.params[0].name if function.is_method and function.params else None
    if cls is not None and (function.parent is None or Class(function.parent) not in attributes.lineage(ev, cls)):
        cls = None  # a method of something else that the object uses
    for scope in with_inner(function):
        for call in scope.calls:
            name = dotted(call.func)
            if cls is not None and owner and name and name.startswith(owner + ".") and name.count(".") == 1:
                yield from functions(ev, attributes.of_instance(ev, Instance(cls), name[len(owner) + 1 :]))
            else:
                yield from functions(ev, ev.value(call.func))
        if cls is not None and owner:
            yield from _properties(ev, scope, owner, cls)
        if owner:
            yield from _items(ev, scope, owner)


def functions(ev: Evaluator, value: Value) -> Iterator[Scope]:
    """The functions of the project that calling ``value`` enters."""
    for one in alternatives(value):
        match one:
            case Function():
                yield one.scope
            case Bound():
                yield one.function.scope
            case Instance():
                inner = attributes.of_instance(ev, one, "__call__")
                if isinstance(inner, Bound):
                    yield inner.function.scope
            case _:
                continue


def _items(ev: Evaluator, scope: Scope, owner: str) -> Iterator[Scope]:
    """``self.reader[key]`` runs the reader's ``__getitem__``."""
    for load in scope.loads.get(owner, ()):
        held = ev.parents.get(load)
        above = ev.parents.get(held) if isinstance(held, t.Attribute) else None
        if isinstance(held, t.Attribute) and isinstance(above, t.Subscript) and above.value is held:
            for one in alternatives(ev.value(held)):
                found = attributes.of_instance(ev, one, "__getitem__") if isinstance(one, Instance) else None
                if isinstance(found, Bound):
                    yield found.function.scope


def _properties(ev: Evaluator, scope: Scope, owner: str, cls: Class) -> Iterator[Scope]:
    for load in scope.loads.get(owner, ()):
        above = ev.parents.get(load)
        attr = getattr(above, "attr", None)
        found = attributes.of_class(ev, cls, attr) if isinstance(attr, str) else None
        if isinstance(found, Function) and attributes.decorators(found.scope) & {"property", "cached_property"}:
            yield found.scope
