"""Where nodes stand: lines from 1, columns from 0 in characters, without the parentheses around an expression.

What ``ast`` gives no position, such as a clause of a comprehension, has that of its parts, and a statement with a body
that of its header, from the first keyword (not the decorators) up to the colon.
"""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Span = tuple[int, int, int, int]
"""Line, column, end line, end column; lines count from 1, columns from 0 in characters."""


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A stretch of one file; ``path`` is POSIX, as the user named it."""

    path: str
    span: Span


_BELOW = frozenset({"body", "orelse", "handlers", "finalbody", "cases", "decorator_list"})
"""Fields of a statement that are not of its header."""


def span(node: Any) -> Span:
    """The whole of a node: of a statement with its body, of what has no position of its own from its parts."""
    if hasattr(node, "lineno"):
        return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset
    parts = [span(part) for part in ast.iter_child_nodes(node)]
    return (*min(part[:2] for part in parts), *max(part[2:] for part in parts))


def place(node: ast.AST, lines: Sequence[str]) -> Span:
    """What a finding about a node points at, in a file of these lines: of a statement with a body the header."""
    line, column, end_line, end_column = span(node)
    if isinstance(node, ast.comprehension):
        return (*_before("for", (line, column), lines), end_line, end_column)
    if isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case) and not _BELOW.isdisjoint(node._fields):
        return (line, column, *_colon(node, (line, column), lines))
    return line, column, end_line, end_column


def _before(word: str, start: tuple[int, int], lines: Sequence[str]) -> tuple[int, int]:
    """Where the keyword stands that comes before a place."""
    line, end = start
    while line > 1 and word not in lines[line - 1][:end]:
        line -= 1
        end = len(lines[line - 1])
    return line, lines[line - 1].rfind(word, 0, end)


def _colon(node: ast.AST, start: tuple[int, int], lines: Sequence[str]) -> tuple[int, int]:
    """The end of a header: no colon but its last stands behind its last part, unless in a comment."""
    line, column = max((span(part)[2:] for part in _header(node)), default=start)
    while line <= len(lines):
        text = lines[line - 1].partition("#")[0]
        at = text.find(":", column)
        if at >= 0:
            return line, at + 1
        line, column = line + 1, 0
    return start


def _header(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a header."""
    for name, value in ast.iter_fields(node):
        if name not in _BELOW:
            for part in value if isinstance(value, list) else (value,):
                if isinstance(part, ast.arguments):
                    yield from ast.iter_child_nodes(part)
                elif isinstance(part, ast.AST):
                    yield part


def count_characters(module: ast.Module, lines: Sequence[str]) -> None:
    """Let columns count characters; the parser counts bytes of UTF-8."""
    wide = {number: line.encode() for number, line in enumerate(lines, 1) if not line.isascii()}
    for node in ast.walk(module) if wide else ():
        if isinstance(node, ast.expr | ast.stmt | ast.arg | ast.keyword | ast.alias | ast.excepthandler | ast.pattern):
            line, column, end_line, end_column = span(node)
            if line in wide:
                node.col_offset = _characters(wide[line], column)
            if end_line in wide:
                node.end_col_offset = _characters(wide[end_line], end_column)


def _characters(line: bytes, offset: int) -> int:
    return len(line[:offset].decode("utf-8", "ignore"))


KNOWS_FIELDS = sys.version_info >= (3, 12)
"""Whether the parser tells where the expressions in an f-string stand: before PEP 701 it guessed."""


def place_fields(string: ast.JoinedStr) -> None:
    """Let what stands in an f-string stand where the string does."""
    for part in string.values:
        for node in ast.walk(part):
            if hasattr(node, "lineno"):
                ast.copy_location(node, string)
