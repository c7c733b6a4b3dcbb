"""Edits that rules offer, worked out from positions alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.rule import Edit, Place

if TYPE_CHECKING:
    from dl_lint.project.model import Project


def added(project: Project, call: t.Node, text: str) -> Edit | None:
    """Add ``text`` (``name=value``) behind the last argument of a call; None if there is no telling where that ends."""
    if not isinstance(call, t.Call):
        return None
    given = sorted((*call.args, *call.keywords), key=lambda node: node.at)
    if not given:
        line, column = call.func.at[2], call.func.at[3] + 1
        return Edit(Place(project.path(call), (line, column, line, column)), text)
    if isinstance(given[-1], t.Comprehension) and len(given) == 1:
        return None  # a bare generator would need parentheses first
    line, column = given[-1].at[2:]
    return Edit(Place(project.path(call), (line, column, line, column)), f", {text}")


def removed(project: Project, call: t.Node, argument: t.Node) -> Edit | None:
    """Take an argument out of a call, with the comma that parts it from its neighbour; None if it is not in it."""
    if not isinstance(call, t.Call):
        return None
    given = sorted((*call.args, *call.keywords), key=lambda node: node.at)
    if argument not in given:
        return None
    at = given.index(argument)
    start, end = argument.at[:2], argument.at[2:]
    if at + 1 < len(given):
        end = given[at + 1].at[:2]  # up to the next one rather than from the last: a comment behind that stays
    elif at > 0:
        start = given[at - 1].at[2:]
    return Edit(Place(project.path(call), (*start, *end)), "")


def replaced(project: Project, node: t.Node, text: str) -> Edit:
    return Edit(Place(project.path(node), node.at), text)


def before(project: Project, stmt: t.Stmt, text: str) -> Edit:
    """Add ``text``, one statement of one or more lines, before ``stmt``, indented alike."""
    line, column = stmt.at[:2]
    above = project.parent(stmt)
    # positions count a tab as one column, and nobody indents by one space
    indent = "\t" if above is not None and column - above.at[1] == 1 else " "
    return Edit(Place(project.path(stmt), (line, column, line, column)), _indented(text, indent, column))


def _indented(text: str, indent: str, column: int) -> str:
    lines = text.replace("    ", "\t").split("\n") if indent == "\t" else text.split("\n")
    return "".join(f"{line}\n{indent * column}" for line in lines)
