"""Lowers any expression by its kind: nodes of Python's ``ast`` to ``tree`` nodes, in source order, along the tokens.

The modules of the kinds enter what they know into ``LOWER``; importing ``statements`` fills it.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dl_lint.facts import tree
from dl_lint.facts.cursor import Kinds, Misaligned, TooDeep
from dl_lint.facts.tree import MAX_DEPTH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dl_lint.facts.cursor import Cursor

LOWER = Kinds()


def by_kind(names: Mapping[str, Any]) -> dict[type[ast.AST], Any]:
    """The table by type of node; older versions of Python lack the newest kinds."""
    return {getattr(ast, kind): lower for kind, lower in names.items() if hasattr(ast, kind)}


def expression(c: Cursor, node: Any) -> tree.Expr:
    """Any expression; its own parentheses belong to its span."""
    kind = type(node)
    first = c.at
    text = c.texts[first]
    if kind is ast.Name and text == node.id and c.depth < MAX_DEPTH:
        c.at = first + 1
        return tree.Name(c.spans[first], node.id)
    c.depth += 1
    if c.depth > MAX_DEPTH:
        raise TooDeep(c.spans[first][0])
    if text == "(" and (opened := c.opened(node)):
        c.at = first + opened
        inner = LOWER[kind](c, node)
        c.at += opened
        if c.texts[c.at - 1] != ")":
            raise Misaligned
        lowered: tree.Expr = replace(inner, at=c.span(first))
    else:
        lowered = LOWER[kind](c, node)
    c.depth -= 1
    return lowered


def _name(c: Cursor, node: ast.Name) -> tree.Expr:
    c.name(node.id)
    return tree.Name(c.spans[c.at - 1], node.id)


LOWER[ast.Name] = _name
