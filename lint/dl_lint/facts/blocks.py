"""Lowers a run of statements; the modules of the kinds enter what they know into ``SIMPLE`` and ``COMPOUND``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dl_lint.facts.cursor import Kinds

if TYPE_CHECKING:
    from dl_lint.facts import tree
    from dl_lint.facts.cursor import Cursor

    Body = tuple[tree.Stmt, ...]

SIMPLE = Kinds()
COMPOUND = Kinds()


def block(c: Cursor, statements: Any) -> Body:
    """The statements of a module or a suite. Simple ones with semicolons between them share a logical line."""
    lowered: list[tree.Stmt] = []
    line = -1
    c.deeper()
    for statement in statements:
        kind = type(statement)
        if kind not in SIMPLE:
            lowered.append(COMPOUND[kind](c, statement))
            continue
        if line < 0:
            line = c.at
        lowered += SIMPLE[kind](c, statement)
        if not (c.passes(";") and c.goes_on()):
            note_range(c, c.span(line))
            line = -1
    c.depth -= 1
    return tuple(lowered)


def note_range(c: Cursor, span: tree.Span) -> None:
    if span[0] != span[2]:
        c.ranges.append((span[0], span[2]))
