"""Lowers a run of statements; the modules of the kinds enter what they know into ``SIMPLE`` and ``COMPOUND``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import libcst as cst

from dl_lint.facts import tree
from dl_lint.facts.cursor import Kinds

if TYPE_CHECKING:
    from dl_lint.facts.cursor import Cursor

Body = tuple[tree.Stmt, ...]

SIMPLE = Kinds()
COMPOUND = Kinds()


def block(c: Cursor, statements: Any) -> Body:
    """The statements of a module or an indented block."""
    lowered: list[tree.Stmt] = []
    c.deeper()
    for statement in statements:
        if type(statement) is cst.SimpleStatementLine:
            _line(c, statement, lowered)
        else:
            lowered.append(COMPOUND[type(statement)](c, statement))
    c.depth -= 1
    return tuple(lowered)


def _line(c: Cursor, node: cst.SimpleStatementLine | cst.SimpleStatementSuite, into: list[tree.Stmt]) -> None:
    first = c.at
    for small in node.body:
        into += SIMPLE[type(small)](c, small)
        if type(small.semicolon) is cst.Semicolon:
            c.expect(";")
    note_range(c, c.span(first))


def note_range(c: Cursor, span: tree.Span) -> None:
    if span[0] != span[2]:
        c.ranges.append((span[0], span[2]))


def suite(c: Cursor, node: cst.BaseSuite) -> Body:
    if isinstance(node, cst.IndentedBlock):
        return block(c, node.body)
    lowered: list[tree.Stmt] = []
    c.deeper()
    _line(c, node, lowered)  # type: ignore[arg-type]  # the only other suite is SimpleStatementSuite
    c.depth -= 1
    return tuple(lowered)


def dotted_name(c: Cursor, node: Any) -> str:
    """``a.b.c`` where it is no expression, as in an import."""
    parts = []
    while isinstance(node, cst.Attribute):
        parts.append(node.attr.value)
        node = node.value
    names = [c.name(node.value)]
    for part in reversed(parts):
        c.expect(".")
        names.append(c.name(part))
    return ".".join(names)
