"""Entries of containers that are handed to functions which fill them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.project import reach
from dl_lint.project.values import (
    Bound,
    Collection,
    Const,
    Function,
    Table,
    alternatives,
)
from dl_lint.source.positions import span
from dl_lint.source.syntax import dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.model import Project
    from dl_lint.project.scopes import Scope
    from dl_lint.project.values import Value

GROWING = frozenset({"append", "add", "insert", "extend", "setdefault", "item"})

_DEEPEST = 2
"""Calls that what is handed over is followed into."""


def filled(project: Project, scope: Scope, owner: str) -> Iterator[ast.Subscript]:
    """``decode(…, meta=self.meta[index])``, where the function fills what it is handed."""
    for call in scope.calls:
        arguments: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
        for argument in arguments:
            given = argument.value if isinstance(argument, ast.keyword) else argument
            entry = entry_of(given, owner)
            if entry is None or all(isinstance(one, Const) for one in alternatives(project.value(entry.slice))):
                continue
            stays = any(isinstance(one, Table | Collection) for one in alternatives(project.value(entry.value)))
            if stays and any(_fills(project, one, name, _DEEPEST) for one, name in bound_to(project, call, argument)):
                yield entry


def entry_of(given: ast.AST, owner: str) -> ast.Subscript | None:
    """``self.a[b]``, also as the first branch of a conditional."""
    while isinstance(given, ast.IfExp):
        given = given.body
    if isinstance(given, ast.Subscript):
        name = dotted(given.value) or ""
        if name.startswith(owner + ".") and name.count(".") == 1:
            return given
    return None


def bound_to(
    project: Project, call: ast.Call, argument: ast.expr | ast.keyword, callee: Value | None = None
) -> Iterator[tuple[Scope, str]]:
    """The functions that a call enters (those of ``callee``, if that is known better), each with the name that it gives
    to ``argument``."""
    for one in alternatives(project.value(call.func) if callee is None else callee):
        function = one.function if isinstance(one, Bound) else one
        if not isinstance(function, Function):
            continue
        if isinstance(argument, ast.keyword):
            if argument.arg is not None:
                yield function.scope, argument.arg
        else:
            at = call.args.index(argument) + (1 if isinstance(one, Bound) else 0)
            if at < len(function.scope.params):
                yield function.scope, function.scope.params[at].name


def _fills(project: Project, function: Scope, name: str, depth: int) -> bool:
    """Whether a function puts something into what it is given as ``name``."""
    for scope in reach.with_inner(function):
        anew = [span(one.node) for one in scope.bindings.get(name, ()) if one.kind != "param"]
        for change in scope.changes.get(name, ()):
            if isinstance(change.node, ast.AugAssign) or any(at < span(change.node) for at in anew):
                continue  # no entry is added, or not to what was handed over
            if change.kind in GROWING or change.kind == "update":
                return True
        for call in scope.calls if depth else ():
            arguments: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
            for argument in arguments:
                given = argument.value if isinstance(argument, ast.keyword) else argument
                named = isinstance(given, ast.Name) and given.id == name
                further = bound_to(project, call, argument) if named else ()
                if any(_fills(project, one, its, depth - 1) for one, its in further):
                    return True
    return False
