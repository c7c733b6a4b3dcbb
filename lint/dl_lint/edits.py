"""Edits that rules offer: what stands at a node is rewritten, and what changes there is the edit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.rule import Edit
from dl_lint.source.positions import Place
from dl_lint.source.text import NEWLINE

if TYPE_CHECKING:
    import ast

    from dl_lint.project import Project
    from dl_lint.source.positions import Span
    from dl_lint.source.syntax import ForStatement


def with_argument(project: Project, call: ast.AST, text: str) -> Edit | None:
    """Add ``text`` (``name=value``) behind the last argument of a call; None if this is none."""
    from dl_lint import rewriting  # only where a fix is made: libcst takes 0.2 s

    place = project.place(call)
    return _edit(project, place, rewriting.with_argument(_code(project, place), text))


def without_argument(project: Project, call: ast.AST, name: str) -> Edit | None:
    """Take ``name=…`` out of a call; None if it is not in it."""
    from dl_lint import rewriting

    place = project.place(call)
    return _edit(project, place, rewriting.without_argument(_code(project, place), name))


def with_operator(project: Project, expr: ast.expr, text: str) -> Edit | None:
    """Add an operator and its right side behind an expression."""
    from dl_lint import rewriting

    place = project.place(expr)
    return _edit(project, place, rewriting.with_operator(_code(project, place), text))


def with_first_statement(project: Project, loop: ForStatement, text: str) -> Edit | None:
    """Add a statement, of one or more lines, to a loop as its first."""
    from dl_lint import rewriting

    path, (row, column, _, _) = project.path(loop), project.place(loop).span
    place = Place(path, (row, column, *project.place(loop.body[0]).span[:2]))
    indentation = _code(project, Place(path, (row, 0, row, column)))
    return _edit(project, place, rewriting.with_first_statement(_code(project, place), indentation, text))


def replaced(project: Project, node: ast.AST, text: str) -> Edit:
    return Edit(project.place(node), text)


def _code(project: Project, place: Place) -> str:
    """What stands at a place; its lines end in ``\\n`` whatever the file's do."""
    row, column, end_row, end_column = place.span
    source = project.modules.source(place.path)
    of_file = project.read_off(("lines", place.path), lambda: NEWLINE.split(source.text if source is not None else ""))
    lines = of_file[row - 1 : end_row] or [""]
    lines[-1] = lines[-1][:end_column]
    return "\n".join(lines)[column:]


def _edit(project: Project, place: Place, after: str | None) -> Edit | None:
    """The smallest edit that makes ``after`` of what stands at a place."""
    from dl_lint import rewriting

    if after is None:
        return None
    before = _code(project, place)
    start, stop, text = rewriting.difference(before, after)
    return Edit(Place(place.path, (*_point(place.span, before[:start]), *_point(place.span, before[:stop]))), text)


def _point(span: Span, passed: str) -> tuple[int, int]:
    """Row and column behind ``passed``, which starts where ``span`` does."""
    rows, last = passed.count("\n"), passed.rpartition("\n")[2]
    return span[0] + rows, len(last) + (0 if rows else span[1])
