"""Parses a file and lowers its syntax to the tree.

Python's own parser is asked first. libcst, which takes 0.2 s to import and ten times as long to parse, reads what the
running Python cannot: syntax of a newer one, and files with errors, of which it says what and where. What either finds
is lowered by the same code along the same tokens, so the tree does not tell who parsed the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

# Importing these fills the tables of the kinds.
from dl_lint.facts import compounds, constants, displays, operators, statements  # noqa: F401
from dl_lint.facts.blocks import block
from dl_lint.facts.cursor import Misaligned, TooDeep, UnknownSyntax
from dl_lint.facts.lex import Tokens, lex
from dl_lint.facts.native import NativeCursor, parse
from dl_lint.facts.nesting import nested_too_deeply
from dl_lint.source import Source, SourceError

if TYPE_CHECKING:
    from dl_lint.facts.blocks import Body
    from dl_lint.facts.cursor import Cursor

NESTED = "not analysed: nested too deeply"

Ranges = tuple[tuple[int, int], ...]


def lower(source: Source) -> tuple[Body, Ranges, Tokens]:
    """The tree, the logical lines longer than one line, and the tokens; raises SourceError."""
    try:
        tokens = lex(source.code)
        line = nested_too_deeply(source.code, tokens)
        if line is not None:
            raise SourceError(source.path, NESTED, line)
        body, ranges = by_python(source, tokens) or by_libcst(source, tokens)
    except TooDeep as error:
        raise SourceError(source.path, NESTED, error.line) from None
    except RecursionError:
        raise SourceError(source.path, NESTED) from None
    return body, ranges, tokens


def by_python(source: Source, tokens: Tokens) -> tuple[Body, Ranges] | None:
    """None where this Python does not know the syntax, or we do not know what it made of it; raises TooDeep."""
    module = parse(source.code)
    if module is None:
        return None
    try:
        return walk(NativeCursor(tokens, source.code), module.body)
    except (Misaligned, UnknownSyntax):
        return None


def by_libcst(source: Source, tokens: Tokens) -> tuple[Body, Ranges]:
    """Raises SourceError or TooDeep."""
    from dl_lint.facts import concrete

    module = concrete.parse(source, tokens)
    try:
        return walk(concrete.ConcreteCursor(tokens, source.code), concrete.statements(module.body))
    except Misaligned as error:
        raise SourceError(source.path, "not analysed: its syntax and its tokens do not agree", error.line) from None
    except UnknownSyntax as error:
        raise SourceError(source.path, f"not analysed: unknown syntax ({error})") from None


def walk(cursor: Cursor, nodes: object) -> tuple[Body, Ranges]:
    """Lower a parsed module along its tokens, all of which must be passed; raises Misaligned or TooDeep."""
    spans = cursor.spans
    try:
        body = block(cursor, nodes)
        if cursor.at != len(spans):
            raise Misaligned
    except (Misaligned, IndexError, ValueError):
        raise Misaligned(spans[min(cursor.at, len(spans)) - 1][0] if spans else None) from None
    return body, tuple(cursor.ranges)
