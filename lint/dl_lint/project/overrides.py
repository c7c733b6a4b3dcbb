"""Attributes that a class sets by names that only its callers know: ``for k in kw: setattr(self, k, kw[k])``."""

from __future__ import annotations

import ast
import functools
from typing import TYPE_CHECKING, Literal

from dl_lint.project import arguments, attributes
from dl_lint.project.values import UNKNOWN, Absent, Class, Function, Instance, Value
from dl_lint.source.syntax import dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.evaluate import Evaluator
    from dl_lint.project.scopes import Scope

Source = Literal["none", "keywords", "anything"]
"""Where the names come from: nowhere, the keywords of the constructor, or something that is not known."""


def given(ev: Evaluator, base: Instance, name: str) -> Value | None:
    """What sets ``name`` of an object over the default of its class; None where nothing does."""
    source = ev.once(("set by name", base.cls), lambda: _source(ev, base.cls))
    if source == "none" or isinstance(attributes.of_class(ev, base.cls, name), Function):
        return None
    if base.call is not None and source == "keywords":
        passed = arguments.given(ev, base.call, (), name).symbolic
        return None if isinstance(passed, Absent) else ev.through(passed, base.frames)
    has_default = any(isinstance(one, Class) and name in one.scope.bindings for one in attributes.lineage(ev, base.cls))
    return UNKNOWN if has_default else None


def may_be_given_below(ev: Evaluator, cls: Class) -> bool:
    """Whether a subclass sets attributes by names that nobody knows: ``for k in cfg: self.__dict__[k] = cfg[k]``."""
    return ev.once(
        ("set by name below", cls), lambda: any("anything" in _of(ev, one) for one in ev.callers.subclasses(cls))
    )


def _source(ev: Evaluator, cls: Class) -> Source:
    found: set[Source] = set()
    for one in attributes.lineage(ev, cls):
        if isinstance(one, Class):
            found |= _of(ev, one)
    return "anything" if "anything" in found else "keywords" if "keywords" in found else "none"


def _of(ev: Evaluator, cls: Class) -> frozenset[Source]:
    return ev.read_off(("set by name in", cls), functools.partial(_of_body, cls))


def _of_body(cls: Class) -> frozenset[Source]:
    return frozenset(map(_of_method, attributes.methods(cls)))


def _of_method(method: Scope) -> Source:
    sources = list(_sets(method))
    if not sources:
        return "none"
    keywords = {param.name for param in method.params if param.kind == "kwargs"}
    return "keywords" if method.name == "__init__" and keywords.issuperset(sources) else "anything"


def _sets(method: Scope) -> Iterator[str | None]:
    """What ``setattr(self, name, …)`` with a variable name, ``self.__dict__[name] = …`` and ``self.__dict__.update(…)``
    take their names from."""
    owner = method.params[0].name if method.params else ""
    for change in method.changes.get(f"{owner}.__dict__", ()):
        if change.kind == "item" and isinstance(change.key, ast.Name):
            yield _items_of(method, change.key.id)
    for call in method.calls:
        match call.func:
            case ast.Name(id="setattr"):
                match call.args:
                    case (ast.Name(id=set_on), ast.Name(id=name), _) if set_on == owner:
                        yield _items_of(method, name)
            case ast.Attribute(attr="update", value=holder) if len(call.args) == 1:
                if dotted(holder) == f"{owner}.__dict__":
                    yield dotted(call.args[0])
            case _:
                continue


def _items_of(method: Scope, name: str) -> str | None:
    """``kwargs``, of a name that a loop over ``kwargs`` or ``kwargs.items()`` binds."""
    for binding in method.bindings.get(name, ()):
        over = binding.value if binding.kind == "for" else None
        if isinstance(over, ast.Call) and isinstance(over.func, ast.Attribute) and over.func.attr in ("items", "keys"):
            over = over.func.value
        return dotted(over)
    return None
