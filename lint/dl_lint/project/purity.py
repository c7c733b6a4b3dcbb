"""Expressions that give the same value whenever their names do: they draw nothing and change nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project.syntax import called, children
from dl_lint.project.values import External, alternatives
from dl_lint.project.views import VIEWS

if TYPE_CHECKING:
    from dl_lint.project.model import Project

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


def is_pure(project: Project, expr: t.Node) -> bool:
    """Whether an expression calls nothing but what builds the same value each time."""
    waiting = [expr]
    while waiting:
        node = waiting.pop()
        waiting += children(node)
        if isinstance(node, t.Call) and not _is_pure_call(project, node):
            return False
    return True


def _is_pure_call(project: Project, call: t.Call) -> bool:
    found = alternatives(project.value(call.func))
    if found and all(isinstance(one, External) for one in found):
        return all(isinstance(one, External) and _builds(one.name) for one in found)
    return isinstance(call.func, t.Attribute) and call.func.attr in METHODS


def _builds(name: str) -> bool:
    package, _, last = name.rpartition(".")
    return last in FUNCTIONS.get(package, ())


def is_number(source: t.Expr) -> bool:
    """Whether a single number is copied, also by way of ``torch.tensor(0).float()``: it stands in for a result that
    comes later or that some passes do without, or adds results up, and little is gained with it."""
    while isinstance(source, t.Call):
        if isinstance(source.func, t.Attribute) and isinstance(source.func.value, t.Call):
            source = source.func.value
        elif called(source) in ("tensor", "as_tensor") and source.args:
            source = source.args[0]
        elif called(source) in ("zeros", "ones"):
            return all(isinstance(one, t.Constant) and one.value == 1 for one in source.args)
        else:
            listed = called(source) in ("Tensor", "FloatTensor")
            return listed and all(isinstance(one, t.Sequence) and _is_of_one(one) for one in source.args)
    return isinstance(source, t.Constant) or (isinstance(source, t.Sequence) and _is_of_one(source))


def _is_of_one(sequence: t.Sequence) -> bool:
    return len(sequence.items) == 1 and isinstance(sequence.items[0], t.Constant)
