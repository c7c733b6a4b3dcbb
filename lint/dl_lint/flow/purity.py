"""Expressions that give the same value whenever their names do: they draw nothing and change nothing."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.flow import call_graph
from dl_lint.flow.interpreter.tensor_memory import VIEWS
from dl_lint.flow.values import UNKNOWN, External, alternatives
from dl_lint.source.syntax import dotted, walk

if TYPE_CHECKING:
    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import Scope


ON_DEVICE = frozenset({"zeros", "ones", "full", "arange", "linspace", "eye"})
"""Functions of torch that can build their result on the device, from nothing that is on the host."""

FUNCTIONS: dict[str, frozenset[str]] = {
    "torch": ON_DEVICE | {"tensor", "as_tensor", "from_numpy", "Tensor", "FloatTensor", "LongTensor"},
    "numpy": ON_DEVICE | {"array", "asarray", "sqrt", "log", "exp"},
    "math": frozenset({"sqrt", "log", "exp", "floor", "ceil", "pow"}),
    "builtins": frozenset(
        {"float", "int", "bool", "str", "len", "list", "tuple", "dict", "set", "range", "min", "max", "sum", "sorted",
         "round", "abs"}
    ),
}  # fmt: skip
METHODS = VIEWS | {"float", "double", "half", "long", "int", "bool", "repeat", "to", "mul", "div", "clone", "astype"}


def is_pure(program: Program, expr: ast.AST) -> bool:
    """Whether an expression calls nothing but what builds the same value each time."""
    return all(_is_pure_call(program, one) for one in walk(expr) if isinstance(one, ast.Call))


def _is_pure_call(program: Program, call: ast.Call) -> bool:
    found = alternatives(program.value(call.func))
    if found and all(isinstance(one, External) for one in found):
        return all(isinstance(one, External) and builds(one.name) for one in found)
    return isinstance(call.func, ast.Attribute) and call.func.attr in METHODS


def builds(name: str) -> bool:
    """Whether a function, by its qualified name, gives a new value that is worked out from its arguments alone."""
    package, _, last = name.rpartition(".")
    return last in FUNCTIONS.get(package, ())


def only_reads(program: Program, call: ast.Call) -> bool:
    """Whether what a call enters is known, and neither that nor what it calls changes more than its own names."""
    entered = tuple(call_graph.entered(program, call))
    if not entered or UNKNOWN in alternatives(program.value(call.func)):
        return False
    return not any(_changes(one) for one in call_graph.reachable(program, *entered))


def _changes(function: Scope) -> bool:
    """Whether a function stores into, or changes in place, what it was given or what is global."""
    changed = [*function.changes, *(dotted(store.target.value) or "" for store in function.stores)]
    own = function.bindings.keys() - {param.name for param in function.params}
    return any("." in name or name not in own for name in changed)
