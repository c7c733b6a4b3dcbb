"""Expressions that give the same value whenever their names do: they draw nothing and change nothing."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.flow import call_graph
from dl_lint.flow.interpreter import tensor_memory
from dl_lint.flow.values import UNKNOWN, External, alternatives
from dl_lint.source.syntax import dotted, walk

if TYPE_CHECKING:
    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import Scope


BUILT = ("View", "Fresh", "New", "Cast", "Read", "Metadata", "Array")
"""What is worked out from what is given alone."""

_COLLECTED = frozenset({"list", "tuple", "dict", "set", "range", "array"})
_METHODS = frozenset({"to", "astype", "get", "pop"})
"""Methods that do the same, of arrays and dicts too."""


def is_pure(program: Program, expr: ast.AST) -> bool:
    """Whether an expression calls nothing but what builds the same value each time."""
    return all(_is_pure_call(program, one) for one in walk(expr) if isinstance(one, ast.Call))


def _is_pure_call(program: Program, call: ast.Call) -> bool:
    found = alternatives(program.value(call.func))
    if found and all(isinstance(one, External) for one in found):
        return all(isinstance(one, External) and builds(program, one.name) for one in found)
    return isinstance(call.func, ast.Attribute) and is_pure_method(program, call.func.attr)


def is_pure_method(program: Program, name: str) -> bool:
    """Whether a method of a tensor or an array, by its name, gives the same of the same."""
    model = program.models.get(f"torch.Tensor.{name}")
    return name in _METHODS or (model.has(*BUILT) and not model.has("Draws"))


def builds(program: Program, name: str) -> bool:
    """Whether a function, by its qualified name, gives a new value that is worked out from its arguments alone."""
    package, _, last = name.rpartition(".")
    if package == "builtins" and last in _COLLECTED:
        return True
    model = program.models.get(name)
    is_legacy = package == "torch" and last in tensor_memory.LEGACY
    return is_legacy or (model.has(*BUILT) and not model.has("Draws") and last != "print")


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
