"""Lowers any expression by its kind: libcst nodes to ``tree`` nodes, in source order, along the tokens.

The modules of the kinds enter what they know into ``LOWER``; importing ``statements`` fills it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import libcst as cst

from dl_lint.facts import tree
from dl_lint.facts.cursor import Kinds, Misaligned, normalized

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dl_lint.facts.cursor import Cursor

LOWER = Kinds()

_CONSTANTS: dict[str, tuple[bool | None, str]] = {
    "None": (None, "none"),
    "True": (True, "bool"),
    "False": (False, "bool"),
}


def by_kind(names: Mapping[str, Any]) -> dict[type[cst.CSTNode], Any]:
    """The table by type of node; older versions of libcst lack the newest kinds."""
    return {getattr(cst, kind): lower for kind, lower in names.items() if hasattr(cst, kind)}


def expression(c: Cursor, node: Any) -> tree.Expr:
    """Any expression; its own parentheses belong to its span."""
    kind = type(node)
    if kind is cst.Name and not node.lpar:
        return name(c, node)
    c.deeper()
    if node.lpar:
        first = c.at
        c.at += len(node.lpar)
        inner = LOWER[kind](c, node)
        c.at += len(node.rpar)
        lowered: tree.Expr = replace(inner, at=c.span(first))
    else:
        lowered = LOWER[kind](c, node)
    c.depth -= 1
    return lowered


def name(c: Cursor, node: cst.Name) -> tree.Expr:
    at, value = c.at, node.value
    if c.texts[at] != value:
        raise Misaligned
    c.at = at + 1
    if value in _CONSTANTS:
        return tree.Constant(c.spans[at], *_CONSTANTS[value])
    return tree.Name(c.spans[at], normalized(value))


LOWER[cst.Name] = name
