"""Texts that are put together as they are needed, and weigh little beside what samples are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t

if TYPE_CHECKING:
    from dl_lint.project.scopes import Scope

_MAKING = frozenset({"format", "join", "replace", "strip", "lstrip", "rstrip", "lower", "upper", "title", "split"})
"""Methods of texts that return texts, or a list of them."""


def is_text(function: Scope, expr: t.Expr | None) -> bool:
    """Whether all that ``expr`` may be is a text that code puts together: ``template.format(**row)``, also by way of
    names."""
    return _is_text(function, expr, frozenset())


def _is_text(function: Scope, expr: t.Expr | None, seen: frozenset[str]) -> bool:
    match expr:
        case t.FString() | t.Constant(kind="str"):
            return True
        case t.BinOp(op="+", left=left, right=right):
            return _is_text(function, left, seen) or _is_text(function, right, seen)
        case t.BinOp(op="%", left=left):
            return _is_text(function, left, seen)
        case t.Call(func=t.Attribute(attr=name)):
            return name in _MAKING
        case t.Name(id=name) if name not in seen:
            bound = [one for one in function.bindings.get(name, ()) if one.kind != "param"]
            plain = all(one.kind == "assign" and not one.path for one in bound)
            found = [one for one in bound if not (_refines(one.value, name) or isinstance(one.value, t.Attribute))]
            return plain and bool(found) and all(_is_text(function, one.value, seen | {name}) for one in found)
        case _:
            return False


def _refines(expr: t.Expr | None, name: str) -> bool:
    """Whether something is made of what a name stood for: ``text = clean(text)``."""
    return isinstance(expr, t.Call) and any(isinstance(one, t.Name) and one.id == name for one in expr.args)
