"""Dtypes that tensors are cast to: a cast to the dtype that a tensor has already returns that very tensor."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.project import arguments
from dl_lint.project.values import Const, External, alternatives

if TYPE_CHECKING:
    from dl_lint.project.evaluate import Evaluator

METHODS = frozenset({"float", "double", "half", "bfloat16", "long", "int", "bool", "short", "byte"})
"""Methods that cast to the dtype of their name, where the tensor is."""

NEW = METHODS | {
    "cat", "concat", "concatenate", "stack", "hstack", "vstack", "where", "clone", "flip", "roll", "repeat",
    "index_select", "masked_select", "gather", "repeat_interleave",
}  # fmt: skip
"""Functions and methods that return new memory; those that cast do where what they cast is of another dtype."""

_SAME = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "byte": "uint8",
    "char": "int8",
    "short": "int16",
    "int": "int32",
    "long": "int64",
}
"""The dtypes that have another name."""


def dtype(ev: Evaluator, call: ast.Call) -> str | None:
    """What a call of a method that casts casts to: ``float32`` for ``float()``; None where that is not known."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if name in METHODS:
        return _SAME.get(name, name)
    if name not in ("to", "type"):
        return None
    found = alternatives(arguments.given(ev, call, ("dtype",), "dtype").symbolic)
    one = found[0] if len(found) == 1 else None
    written = one.name if isinstance(one, External) else one.value if isinstance(one, Const) else None
    package, _, last = written.rpartition(".") if isinstance(written, str) else ("", "", "")
    if package != "torch":
        return None
    last = last.removesuffix("Tensor").lower()
    return _SAME.get(last, last) or None
