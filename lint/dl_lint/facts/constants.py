"""Lowers literals, and reads their values from their text."""

from __future__ import annotations

import ast
import warnings
from typing import TYPE_CHECKING, Any

import libcst as cst

from dl_lint.facts import tree
from dl_lint.facts.expressions import LOWER, by_kind, expression
from dl_lint.source import NEWLINE

if TYPE_CHECKING:
    from dl_lint.facts.cursor import Cursor


def _integer(c: Cursor, node: cst.Integer) -> tree.Expr:
    c.expect(node.value)
    return tree.Constant(c.spans[c.at - 1], integer(node.value), "int")


def _float(c: Cursor, node: cst.Float) -> tree.Expr:
    c.expect(node.value)
    return tree.Constant(c.spans[c.at - 1], float(node.value), "float")


def _imaginary(c: Cursor, node: cst.Imaginary) -> tree.Expr:
    c.expect(node.value)
    return tree.Constant(c.spans[c.at - 1], None, "complex")


def _ellipsis(c: Cursor, _node: cst.Ellipsis) -> tree.Expr:
    c.expect("...")
    return tree.Constant(c.spans[c.at - 1], None, "ellipsis")


def _string(c: Cursor, node: cst.SimpleString) -> tree.Expr:
    c.expect(node.value)
    return tree.Constant(c.spans[c.at - 1], *text_of(node.value))


def _fstring(c: Cursor, node: cst.FormattedString | cst.TemplatedString) -> tree.Expr:
    first = c.at
    inner = c.fstring(node)
    return tree.FString(c.span(first), tuple(_fields(inner, node.parts)))


def _fields(c: Cursor, parts: Any) -> list[tree.Expr]:
    values = []
    for part in parts:
        if hasattr(part, "expression"):
            values.append(expression(c, part.expression))
            values += _fields(c, part.format_spec or ())
    return values


def _concatenated(c: Cursor, node: cst.ConcatenatedString) -> tree.Expr:
    """``"a" f"{b}" "c"``: one constant, or one f-string with the values of all its parts."""
    first = c.at
    parts, rest = [], node
    while isinstance(rest, cst.ConcatenatedString):
        parts.append(expression(c, rest.left))
        rest = rest.right  # type: ignore[assignment]  # the last one is no concatenation
    parts.append(expression(c, rest))
    if any(isinstance(part, tree.FString) for part in parts):
        values = tuple(value for part in parts if isinstance(part, tree.FString) for value in part.values)
        return tree.FString(c.span(first), values)
    texts = [part.value for part in parts if isinstance(part, tree.Constant) and isinstance(part.value, str)]
    kind = parts[0].kind if isinstance(parts[0], tree.Constant) else "str"
    return tree.Constant(c.span(first), "".join(texts) if len(texts) == len(parts) else None, kind)


# --- values ----------------------------------------------------------------------------

# The interpreter converts no more than 4,300 digits, and nobody counts workers with this many.
LONGEST_INTEGER = 1_000


def integer(text: str) -> int | None:
    """None for a number that is too long to be written down again."""
    if len(text) > LONGEST_INTEGER:
        return None
    return int(text) if text.isdecimal() else int(text, 0)


def text_of(literal: str) -> tuple[str | None, str]:
    """The value and kind of a string literal; the value of bytes, and of text that is not valid Unicode, is None."""
    quote = min((literal.find(mark) for mark in "\"'" if mark in literal), default=0)
    prefix = literal[:quote].lower()
    if "b" in prefix:
        return None, "bytes"
    width = 3 if literal[quote : quote + 3] in ('"""', "'''") and len(literal) >= quote + 6 else 1
    body = literal[quote + width : -width]
    if "r" in prefix or "\\" not in body:
        return (NEWLINE.sub("\n", body) if "\r" in body else body), "str"
    return _unescaped(literal), "str"


def _unescaped(literal: str) -> str | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = ast.literal_eval(literal)
        value.encode()
    except (ValueError, SyntaxError):
        return None
    return str(value)


LOWER |= by_kind(
    {
        "Integer": _integer,
        "Float": _float,
        "Imaginary": _imaginary,
        "Ellipsis": _ellipsis,
        "SimpleString": _string,
        "FormattedString": _fstring,
        "TemplatedString": _fstring,
        "ConcatenatedString": _concatenated,
    }
)
