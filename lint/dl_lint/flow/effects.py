"""Effects: what a call does besides what it gives, as stubs say."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.flow.interpreter import classes
from dl_lint.flow.values import External, Instance, Made, alternatives

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.program import Program


def is_backward(program: Program, call: ast.Call) -> bool:
    """Whether a call has a backward pass: a method that always does, or one of an object that a stub says so of."""
    func = call.func
    if not isinstance(func, ast.Attribute):
        return False
    if program.models.is_method(func.attr, "Backward"):
        return True
    if func.attr not in _named(program):
        return False
    return any(program.models.has(f"{owner}.{func.attr}", "Backward") for owner in _owners(program, func.value))


def backward_passes(program: Program) -> Iterator[ast.Call]:
    """The backward passes of the linted files."""
    return (call for call in program.method_calls(*_named(program)) if is_backward(program, call))


def _named(program: Program) -> frozenset[str]:
    names = program.models.names("Backward")
    return program.once("names of backward passes", lambda: frozenset(name.rpartition(".")[2] for name in names))


def _owners(program: Program, expr: ast.expr) -> Iterator[str]:
    """The names of the outside classes that an object is of, or of a module that it is."""
    for one in alternatives(program.value(expr)):
        if isinstance(one, Made | External):
            yield one.name
        if isinstance(one, Instance | Made) and one.cls is not None:
            yield from classes.external_bases(program, one.cls)
