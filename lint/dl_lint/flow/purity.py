"""Expressions that give the same value whenever their names do: they draw nothing and change nothing."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.flow.interpreter.tensor_memory import VIEWS
from dl_lint.flow.values import External, alternatives
from dl_lint.source.syntax import walk

if TYPE_CHECKING:
    from dl_lint.flow.program import Program


ON_DEVICE = frozenset({"zeros", "ones", "full", "arange", "linspace", "eye"})
"""Functions of torch that can build their result on the device, from nothing that is on the host."""

FUNCTIONS: dict[str, frozenset[str]] = {
    "torch": ON_DEVICE | {"tensor", "as_tensor", "from_numpy", "Tensor", "FloatTensor", "LongTensor"},
    "numpy": ON_DEVICE | {"array", "asarray", "sqrt", "log", "exp"},
    "math": frozenset({"sqrt", "log", "exp", "floor", "ceil", "pow"}),
    "builtins": frozenset(
        {"float", "int", "bool", "len", "list", "tuple", "range", "min", "max", "sum", "sorted", "round"}
    ),
}
METHODS = VIEWS | {"float", "double", "half", "long", "int", "bool", "repeat", "to", "mul", "div", "clone", "astype"}


def is_pure(program: Program, expr: ast.AST) -> bool:
    """Whether an expression calls nothing but what builds the same value each time."""
    return all(_is_pure_call(program, one) for one in walk(expr) if isinstance(one, ast.Call))


def _is_pure_call(program: Program, call: ast.Call) -> bool:
    found = alternatives(program.value(call.func))
    if found and all(isinstance(one, External) for one in found):
        return all(isinstance(one, External) and _builds(one.name) for one in found)
    return isinstance(call.func, ast.Attribute) and call.func.attr in METHODS


def _builds(name: str) -> bool:
    package, _, last = name.rpartition(".")
    return last in FUNCTIONS.get(package, ())
