"""What an index does to the memory of a tensor: whether its result is one piece of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project.values import Collection, Const, Number, Option, Picked, Unknown, Value

if TYPE_CHECKING:
    from dl_lint.project.evaluate import Evaluator


def key(ev: Evaluator, expr: t.Subscript) -> Value:
    """What ``expr`` indexes by; ``Picked`` where its result need not be one piece of the memory of a tensor."""
    index = expr.index
    if is_scattered(index):
        return Picked(expr, apart=True)
    found = ev.symbolic(index)
    if isinstance(index, t.Sequence):
        if index.kind == "list":  # indices of samples: what they choose is copied
            return Picked(expr, apart=True)
        return found if all(_is_plain(ev, one) for one in index.items) else Picked(expr, apart=True)
    return found if not isinstance(found, Unknown | Collection) or _is_plain(ev, index) else Picked(expr, apart=False)


def is_scattered(index: t.Expr) -> bool:
    """Whether a slice has a step, or an index after the first takes a part of a dimension: ``[:, :n]``, ``[..., 0]``.

    Torch copies such a view to the device through pageable memory (pytorch/pytorch#111570).
    """
    kept = False
    for one in index.items if isinstance(index, t.Sequence) else (index,):
        if isinstance(one, t.Slice):
            if one.step is not None or (kept and (one.lower is not None or one.upper is not None)):
                return True
            kept = True
        elif isinstance(one, t.Constant) and one.kind == "ellipsis":
            kept = True
        elif kept and not (isinstance(one, t.Constant) and one.kind == "none"):
            return True
    return False


def _is_plain(ev: Evaluator, index: t.Expr) -> bool:
    """Whether an index is a number, a slice, a key, or a name that a loop counts with."""
    match index:
        case t.Slice() | t.Constant() | t.FString():
            return True
        case t.UnaryOp(operand=operand):
            return _is_plain(ev, operand)
        case t.BinOp(left=left, right=right):
            return _is_plain(ev, left) and _is_plain(ev, right)
        case t.Name(id=name):
            value = ev.symbolic(index)
            if not isinstance(value, Unknown):
                return isinstance(value, Const | Number | Option)
            return _counts(ev, index, name)
        case _:
            return False


def _counts(ev: Evaluator, index: t.Name, name: str) -> bool:
    scope = ev.site(index).scope
    bindings = scope.bindings.get(name, ())
    while not bindings and scope.kind in ("comprehension", "lambda") and scope.parent is not None:
        scope = scope.parent
        bindings = scope.bindings.get(name, ())
    return bool(bindings) and all(one.kind in ("for", "augment") for one in bindings)
