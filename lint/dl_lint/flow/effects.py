"""Effects: what a call does besides what it gives, as stubs say."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.flow.interpreter import classes
from dl_lint.flow.values import External, Instance, Made, alternatives
from dl_lint.source.syntax import called

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.program import Program


def is_backward(program: Program, call: ast.Call) -> bool:
    """Whether a call has a backward pass: a method that always does, or one of an object that a stub says so of."""
    return isinstance(call.func, ast.Attribute) and is_marked(program, call, "Backward")


def is_marked(program: Program, call: ast.Call, kind: str) -> bool:
    """Whether stubs say something of what a call calls: of a function, of a method by its name alone, or of one of the
    object that it is called on."""
    func = call.func
    if not isinstance(func, ast.Attribute):
        found = alternatives(program.value(func)) if called(call) in _named(program, kind) else ()
        return any(isinstance(one, External) and program.models.has(one.name, kind) for one in found)
    return program.models.is_method(func.attr, kind) or has(program, func.value, func.attr, kind)


def has(program: Program, owner: ast.expr, name: str, kind: str) -> bool:
    """Whether stubs say something of an attribute of an object, or of a module."""
    if name not in _named(program, kind):
        return False
    return any(program.models.has(f"{one}.{name}", kind) for one in _owners(program, owner))


def backward_passes(program: Program) -> Iterator[ast.Call]:
    """The backward passes of the linted files."""
    return (call for call in program.method_calls(*_named(program, "Backward")) if is_backward(program, call))


def _named(program: Program, kind: str) -> frozenset[str]:
    """The last names of all that is marked so."""
    names = program.models.names(kind)
    return program.once(("last names of", kind), lambda: frozenset(name.rpartition(".")[2] for name in names))


def _owners(program: Program, expr: ast.expr) -> Iterator[str]:
    """The names of the outside classes that an object is of, or of a module that it is."""
    for one in alternatives(program.value(expr)):
        if isinstance(one, Made | External):
            yield one.name
        if isinstance(one, Instance | Made) and one.cls is not None:
            yield from classes.external_bases(program, one.cls)
