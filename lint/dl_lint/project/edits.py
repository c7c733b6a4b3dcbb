"""Edits that rules offer, worked out from positions alone."""

from __future__ import annotations

import ast
from itertools import takewhile
from typing import TYPE_CHECKING

from dl_lint.rule import Edit, Place
from dl_lint.source.positions import Span, span
from dl_lint.source.syntax import Comprehension

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dl_lint.project.model import Project


def added(project: Project, call: ast.AST, text: str) -> Edit | None:
    """Add ``text`` (``name=value``) behind the last argument of a call; None if there is no telling where that ends."""
    if not isinstance(call, ast.Call):
        return None
    given = sorted((*call.args, *call.keywords), key=span)
    if not given:
        line, column = span(call.func)[2], span(call.func)[3] + 1
        return Edit(Place(project.path(call), (line, column, line, column)), text)
    if isinstance(given[-1], Comprehension) and len(given) == 1:
        return None  # a bare generator would need parentheses first
    line, column = _whole(project, call, given, len(given) - 1)[2:]
    return Edit(Place(project.path(call), (line, column, line, column)), f", {text}")


def removed(project: Project, call: ast.AST, argument: ast.AST) -> Edit | None:
    """Take an argument out of a call, with the comma that parts it from its neighbour; None if it is not in it."""
    if not isinstance(call, ast.Call):
        return None
    given = sorted((*call.args, *call.keywords), key=span)
    if argument not in given:
        return None
    at = given.index(argument)
    whole = _whole(project, call, given, at)
    start, end = whole[:2], whole[2:]
    if at + 1 < len(given):
        end = _whole(project, call, given, at + 1)[
            :2
        ]  # up to the next one rather than from the last: a comment behind that stays
    elif at > 0:
        start = _whole(project, call, given, at - 1)[2:]
    return Edit(Place(project.path(call), (*start, *end)), "")


def _whole(project: Project, call: ast.Call, given: Sequence[ast.AST], at: int) -> Span:
    """The place of an argument with the parentheses around it."""
    lines = project.site(call).scope.file.syntax.lines
    inner = span(given[at])
    line, column = span(call)[2:]
    behind = [*takewhile(lambda mark: mark[2] == ")", _marks(lines, inner[2:], (line, column - 1)))]
    if not behind:
        return inner
    before = _marks(lines, span(given[at - 1] if at else call.func)[2:], inner[:2])
    opening = [mark for mark in before if mark[2] == "("][-len(behind)]
    return (*opening[:2], behind[-1][0], behind[-1][1] + 1)


def _marks(lines: Sequence[str], start: tuple[int, int], end: tuple[int, int]) -> Iterator[tuple[int, int, str]]:
    """The parentheses and commas between two arguments, not those in comments, with their places."""
    line, column = start
    while (line, column) < end:
        text = lines[line - 1][: end[1] if line == end[0] else None].partition("#")[0]
        yield from ((line, at, text[at]) for at in range(column, len(text)) if text[at] in "(),")
        line, column = line + 1, 0


def replaced(project: Project, node: ast.AST, text: str) -> Edit:
    return Edit(Place(project.path(node), span(node)), text)


def before(project: Project, stmt: ast.stmt, text: str) -> Edit:
    """Add ``text``, one statement of one or more lines, before ``stmt``, indented alike."""
    line, column = span(stmt)[:2]
    above = project.parent(stmt)
    # positions count a tab as one column, and nobody indents by one space
    indent = "\t" if above is not None and column - span(above)[1] == 1 else " "
    return Edit(Place(project.path(stmt), (line, column, line, column)), _indented(text, indent, column))


def _indented(text: str, indent: str, column: int) -> str:
    lines = text.replace("    ", "\t").split("\n") if indent == "\t" else text.split("\n")
    return "".join(f"{line}\n{indent * column}" for line in lines)
