"""Lowers literals and f-strings."""

from __future__ import annotations

import ast
from types import EllipsisType, NoneType
from typing import TYPE_CHECKING, Any

from dl_lint.facts import tree
from dl_lint.facts.cursor import Inside, Misaligned
from dl_lint.facts.expressions import LOWER, by_kind, expression
from dl_lint.facts.lex import fields

if TYPE_CHECKING:
    from dl_lint.facts.cursor import Cursor

# The interpreter converts no more than 4,300 digits, and nobody counts workers with a thousand.
TOO_LARGE = 10**1000

_KINDS: dict[type[Any], str] = {
    bool: "bool",
    NoneType: "none",
    float: "float",
    complex: "complex",
    EllipsisType: "ellipsis",
}


def _constant(c: Cursor, node: ast.Constant) -> tree.Expr:
    value: Any = node.value
    kind = type(value)
    first = c.at
    if kind is str:
        c.pass_strings(node)
        return tree.Constant(c.span(first), value if _is_unicode(value) else None, "str")
    if kind is bytes:
        c.pass_strings(node)
        return tree.Constant(c.span(first), None, "bytes")
    c.at = first + 1
    if kind is int:
        return tree.Constant(c.spans[first], value if value < TOO_LARGE else None, "int")
    name = _KINDS[kind]
    return tree.Constant(c.spans[first], None if name in ("complex", "ellipsis") else value, name)


def _is_unicode(text: str) -> bool:
    """Whether it can be written down; a surrogate cannot."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _fstring(c: Cursor, node: ast.JoinedStr) -> tree.Expr:
    """One or several strings side by side, of which some are f-strings."""
    first = c.at
    c.pass_strings(node)
    parts = [part for part in node.values if type(part) is not ast.Constant]
    if c.at - first < 2:
        return tree.FString(c.span(first), tuple(_fields(Inside(c, c.spans[first]), parts)))
    values = []
    for at in range(first, c.at):
        count = len(fields(c.texts[at]))
        values += _fields(Inside(c, c.spans[at]), parts[:count])
        del parts[:count]
    if parts:
        raise Misaligned
    return tree.FString(c.span(first), tuple(values))


def _fields(c: Cursor, parts: Any) -> list[tree.Expr]:
    values = []
    for part in parts:
        if type(part) is not ast.Constant:
            values.append(expression(c, part.value))
            values += _fields(c, part.format_spec.values if part.format_spec is not None else ())
    return values


LOWER |= by_kind({"Constant": _constant, "JoinedStr": _fstring, "TemplateStr": _fstring})
