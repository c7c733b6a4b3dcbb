"""What an index does to the memory of a tensor: whether its result is one piece of it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.project.values import Collection, Const, Number, Option, Picked, Unknown, Value
from dl_lint.source.syntax import Display

if TYPE_CHECKING:
    from dl_lint.project.evaluate import Evaluator


def key(ev: Evaluator, expr: ast.Subscript) -> Value:
    """What ``expr`` indexes by; ``Picked`` where its result need not be one piece of the memory of a tensor."""
    index = expr.slice
    if is_scattered(index):
        return Picked(expr, apart=True)
    found = ev.symbolic(index)
    if isinstance(index, Display):
        if isinstance(index, ast.List):  # indices of samples: what they choose is copied
            return Picked(expr, apart=True)
        return found if all(_is_plain(ev, one) for one in index.elts) else Picked(expr, apart=True)
    return found if not isinstance(found, Unknown | Collection) or _is_plain(ev, index) else Picked(expr, apart=False)


def is_scattered(index: ast.expr) -> bool:
    """Whether a slice has a step, or an index after the first takes a part of a dimension: ``[:, :n]``, ``[..., 0]``.

    Torch copies such a view to the device through pageable memory (pytorch/pytorch#111570).
    """
    kept = False
    for one in index.elts if isinstance(index, Display) else (index,):
        if isinstance(one, ast.Slice):
            if one.step is not None or (kept and (one.lower is not None or one.upper is not None)):
                return True
            kept = True
        elif isinstance(one, ast.Constant) and one.value is ...:
            kept = True
        elif kept and not (isinstance(one, ast.Constant) and one.value is None):
            return True
    return False


def _is_plain(ev: Evaluator, index: ast.expr) -> bool:
    """Whether an index is a number, a slice, a key, or a name that a loop counts with."""
    match index:
        case ast.Slice() | ast.Constant() | ast.JoinedStr():
            return True
        case ast.UnaryOp(operand=operand):
            return _is_plain(ev, operand)
        case ast.BinOp(left=left, right=right):
            return _is_plain(ev, left) and _is_plain(ev, right)
        case ast.Name(id=name):
            value = ev.symbolic(index)
            if not isinstance(value, Unknown):
                return isinstance(value, Const | Number | Option)
            return _counts(ev, index, name)
        case _:
            return False


def _counts(ev: Evaluator, index: ast.Name, name: str) -> bool:
    scope = ev.site(index).scope
    bindings = scope.bindings.get(name, ())
    while not bindings and scope.kind in ("comprehension", "lambda") and scope.parent is not None:
        scope = scope.parent
        bindings = scope.bindings.get(name, ())
    return bool(bindings) and all(one.kind in ("for", "augment") for one in bindings)
