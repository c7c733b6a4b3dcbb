"""Views of tensors: whether what a method returns is one piece of the memory of its tensor, as it lies there."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.project import arguments
from dl_lint.project.values import Const

if TYPE_CHECKING:
    from dl_lint.project.evaluate import Evaluator

VIEWS = frozenset(
    {"view", "view_as", "reshape", "permute", "transpose", "t", "squeeze", "unsqueeze", "detach", "narrow", "expand",
     "contiguous", "flatten", "unflatten", "requires_grad_", "swapaxes", "movedim", "select", "chunk", "split",
     "unbind", "values", "get", "pop", "expand_as", "share_memory_"}
)  # fmt: skip
"""Methods whose result shares the memory of the tensor (or, for a batch that is a dict, takes a part of it)."""

_ALONG = {"narrow": 0, "select": 0, "unbind": 0, "chunk": 1, "split": 1}
"""Methods that take parts along a dimension, with the position of the argument that says which."""

_REORDERING = frozenset({"permute", "transpose", "t", "swapaxes", "movedim"})

_LAYING_OUT = frozenset({"contiguous", "reshape", "flatten"})
"""Methods that copy what does not lie in order."""


def is_of_one_piece(ev: Evaluator, name: str, call: ast.Call) -> bool:
    """Whether the result of a view is one piece of the tensor's memory, so that it can be copied from there as it is.

    Not what is repeated, parts along another dimension than the first, and ``permute(…).contiguous()``, which is new.
    """
    if name in ("expand", "expand_as"):
        return False
    if name in _ALONG:
        along = arguments.given(ev, call, ("",) * _ALONG[name] + ("dim",), "dim")
        return along.node is call or along.symbolic == Const(0, "int")
    return name not in _LAYING_OUT or not _is_reordered(call)


def _is_reordered(call: ast.Call) -> bool:
    before: ast.AST = call.func
    while isinstance(before, ast.Attribute):
        inner = before.value
        if not isinstance(inner, ast.Call) or not isinstance(inner.func, ast.Attribute) or inner.func.attr not in VIEWS:
            return False
        if inner.func.attr in _REORDERING:
            return True
        before = inner.func
    return False
