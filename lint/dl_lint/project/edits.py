"""Edits that rules offer, worked out from positions alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.rule import Edit, Place

if TYPE_CHECKING:
    from dl_lint.facts import tree as t


def with_argument(call: t.Call, path: str, text: str) -> Edit:
    """Add ``text`` (``name=value``) behind the last argument of a call."""
    given = [node.at for node in (*call.args, *call.keywords)]
    if given:
        line, column = max(at[2:] for at in given)
        return Edit(Place(path, (line, column, line, column)), f", {text}")
    line, column = call.func.at[2], call.func.at[3] + 1
    return Edit(Place(path, (line, column, line, column)), text)


def before(stmt: t.Stmt, path: str, text: str, inside: t.Stmt | None = None) -> Edit:
    """Add the statement ``text`` on a line of its own before ``stmt``, the first in the body of ``inside`` if given."""
    line, column = stmt.at[:2]
    tabs = inside is not None and column - inside.at[1] == 1
    indent = ("\t" if tabs else " ") * column
    return Edit(Place(path, (line, column, line, column)), f"{text}\n{indent}")


def replaced(node: t.Node, path: str, text: str) -> Edit:
    return Edit(Place(path, node.at), text)
