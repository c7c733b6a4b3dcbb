"""Edits that rules offer: asked for at a node, and spelled out as stretches of text where somebody looks at them."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from dl_lint.rule import Edit
from dl_lint.source.positions import KNOWS_FIELDS, Place

if TYPE_CHECKING:
    from collections.abc import Callable

    from dl_lint.project import Project
    from dl_lint.rule import Finding, Operation
    from dl_lint.source.positions import Span
    from dl_lint.source.syntax import ForStatement


def with_argument(project: Project, call: ast.Call, text: str) -> Edit | None:
    """Add ``text`` (``name=value``) behind the last argument of a call."""
    return _asked(project, call, text, "add argument")


def without_argument(project: Project, call: ast.Call, name: str) -> Edit | None:
    """Take ``name=…`` out of a call; None if it is not in it."""
    return _asked(project, call, name, "remove argument") if any(one.arg == name for one in call.keywords) else None


def with_operator(project: Project, expr: ast.expr, text: str) -> Edit | None:
    """Add an operator and its right side behind an expression."""
    return _asked(project, expr, text, "add operator")


def with_first_statement(project: Project, loop: ForStatement, text: str) -> Edit:
    """Add a statement, of one or more lines, to a loop as its first."""
    path, (row, column, _, _) = project.path(loop), project.place(loop).span
    return Edit(Place(path, (row, column, *project.place(loop.body[0]).span[:2])), text, "add first statement")


def replaced(project: Project, node: ast.AST, text: str) -> Edit:
    return Edit(project.place(node), text)


def _asked(project: Project, node: ast.AST, text: str, operation: Operation) -> Edit | None:
    """None in an f-string, where this Python does not tell places."""
    above: ast.AST | None = node
    while above is not None and not KNOWS_FIELDS:
        if isinstance(above, ast.JoinedStr):
            return None
        above = project.parent(above)
    return Edit(project.place(node), text, operation)


def spelled_out(finding: Finding, lines: Callable[[str], tuple[str, ...]]) -> Finding:
    """A finding whose fix only replaces text; without a fix where libcst cannot make one of its edits."""
    fix = finding.fix
    if fix is None or all(edit.operation == "replace" for edit in fix.edits):
        return finding
    made = [edit if edit.operation == "replace" else _made(edit, lines(edit.place.path)) for edit in fix.edits]
    edits = tuple(edit for edit in made if edit is not None)
    fix = replace(fix, edits=edits) if len(edits) == len(made) else None
    return replace(finding, fix=fix)


def _made(edit: Edit, lines: tuple[str, ...]) -> Edit | None:
    """The smallest edit that does what is asked for."""
    from dl_lint import rewriting  # only where a fix is looked at: libcst takes 0.3 s

    row, column, end_row, end_column = edit.place.span
    stretch = [*lines[row - 1 : end_row]] or [""]
    stretch[-1] = stretch[-1][:end_column]
    indentation, stretch[0] = stretch[0][:column], stretch[0][column:]
    before = "\n".join(stretch)
    match edit.operation:
        case "add argument":
            after = rewriting.with_argument(before, edit.text)
        case "remove argument":
            after = rewriting.without_argument(before, edit.text)
        case "add operator":
            after = rewriting.with_operator(before, edit.text)
        case _:
            after = rewriting.with_first_statement(before, indentation, edit.text)
    if after is None:
        return None
    start, stop, text = rewriting.difference(before, after)
    span = edit.place.span
    return Edit(Place(edit.place.path, (*_point(span, before[:start]), *_point(span, before[:stop]))), text)


def _point(span: Span, passed: str) -> tuple[int, int]:
    """Row and column behind ``passed``, which starts where ``span`` does."""
    rows, last = passed.count("\n"), passed.rpartition("\n")[2]
    return span[0] + rows, len(last) + (0 if rows else span[1])
