"""Registries: what classes and functions put in by decorators, ``@DATASETS.register()``, and look up by name."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.flow.features import feature
from dl_lint.flow.values import NOTHING, Class, Const, External, Function, Instance, Made, Value, alternatives, union
from dl_lint.source.syntax import FunctionDefinition

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import Scope


@feature("registries", NOTHING)
def registered(program: Program, registry: Value, key: Value) -> Value:
    """What a registry has under ``key``, or may have where that is not written out; nothing where it is none."""
    wanted = key.value if isinstance(key, Const) else None
    return program.solver.solve(("registered", registry, wanted), lambda: _registered(program, registry, wanted))


def _registered(program: Program, registry: Value, wanted: object) -> Value:
    found: list[Value] = []
    for receiver, given, scope in program.read_off("registrations", lambda: tuple(_registrations(program))):
        if any(_is_same(one, registry) for one in alternatives(program.symbolic(receiver))):
            names = {
                one.value for arg in given for one in alternatives(program.symbolic(arg)) if isinstance(one, Const)
            }
            if wanted is None or wanted in (names or {scope.name}):
                found.append(Class(scope) if scope.kind == "class" else Function(scope))
    return union(found) if found else NOTHING


def _is_same(one: Value, other: Value) -> bool:
    """Whether two values are the same object: made by one call, or one name of a library."""
    if isinstance(one, Instance | Made) and isinstance(other, Instance | Made):
        return one.call is other.call is not None
    return isinstance(one, External) and one == other


def _registrations(program: Program) -> Iterator[tuple[ast.expr, tuple[ast.expr, ...], Scope]]:
    """Each decorator ``X.register…`` with what it is given and what it decorates."""
    for file in program.files:
        for scope in file.scopes:
            for decorator in (
                scope.node.decorator_list if isinstance(scope.node, FunctionDefinition | ast.ClassDef) else ()
            ):
                match decorator:
                    case ast.Attribute(value=receiver, attr=attr) if attr.startswith("register"):
                        yield receiver, (), scope
                    case ast.Call(func=ast.Attribute(value=receiver, attr=attr)) if attr.startswith("register"):
                        named = (one.value for one in decorator.keywords if one.arg == "name")
                        yield receiver, (*decorator.args[:1], *named), scope


def built(value: Value) -> Value:
    """Objects of the classes that a registry has, made from what some configuration says."""
    return union(Instance(one) for one in alternatives(value) if isinstance(one, Class))
