"""Entries of containers that are handed to functions which fill them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project import reach
from dl_lint.project.syntax import dotted
from dl_lint.project.values import (
    Bound,
    Collection,
    Const,
    Function,
    Number,
    Table,
    alternatives,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.model import Project
    from dl_lint.project.scopes import Change, Scope
    from dl_lint.project.values import Value

GROWING = frozenset({"append", "add", "insert", "extend", "setdefault", "item"})

_DEEPEST = 2
"""Calls that what is handed over is followed into."""

_NUMBERS = frozenset({"int", "float", "len", "bool", "round", "abs"})


def filled(project: Project, scope: Scope, owner: str) -> Iterator[tuple[t.Subscript, bool]]:
    """``decode(…, meta=self.meta[index])``, where the function fills what it is handed, and whether that is no more
    than a few numbers under fixed keys."""
    for call in scope.calls:
        for argument in (*call.args, *call.keywords):
            given = argument.value if isinstance(argument, t.Keyword) else argument
            entry = entry_of(given, owner)
            if entry is None or all(isinstance(one, Const) for one in alternatives(project.value(entry.index))):
                continue
            if any(isinstance(one, Table | Collection) for one in alternatives(project.value(entry.value))):
                found = [
                    small
                    for function, name in bound_to(project, call, argument)
                    for small in _fillings(project, function, name, _DEEPEST)
                ]
                if found:
                    yield entry, all(found)


def entry_of(given: t.Node, owner: str) -> t.Subscript | None:
    """``self.a[b]``, also as the first branch of a conditional."""
    while isinstance(given, t.Conditional):
        given = given.body
    if isinstance(given, t.Subscript):
        name = dotted(given.value) or ""
        if name.startswith(owner + ".") and name.count(".") == 1:
            return given
    return None


def bound_to(
    project: Project, call: t.Call, argument: t.Node, callee: Value | None = None
) -> Iterator[tuple[Scope, str]]:
    """The functions that a call enters (those of ``callee``, if that is known better), each with the name that it gives
    to ``argument``."""
    for one in alternatives(project.value(call.func) if callee is None else callee):
        function = one.function if isinstance(one, Bound) else one
        if not isinstance(function, Function):
            continue
        if isinstance(argument, t.Keyword):
            if argument.name is not None:
                yield function.scope, argument.name
        else:
            at = call.args.index(argument) + (1 if isinstance(one, Bound) else 0)
            if at < len(function.scope.params):
                yield function.scope, function.scope.params[at].name


def _fillings(project: Project, function: Scope, name: str, depth: int) -> Iterator[bool]:
    """What a function puts into what it is given as ``name``: whether each is a mere number."""
    for scope in reach.with_inner(function):
        anew = [one.node.at for one in scope.bindings.get(name, ()) if one.kind != "param"]
        for change in scope.changes.get(name, ()):
            if isinstance(change.node, t.AugAssign) or any(at < change.node.at for at in anew):
                continue  # no entry is added, or not to what was handed over
            if change.kind in GROWING or change.kind == "update":
                yield _is_number(project, change)
        for call in scope.calls if depth else ():
            for argument in (*call.args, *call.keywords):
                given = argument.value if isinstance(argument, t.Keyword) else argument
                if isinstance(given, t.Name) and given.id == name:
                    for one, its in bound_to(project, call, argument):
                        yield from _fillings(project, one, its, depth - 1)


def _is_number(project: Project, change: Change) -> bool:
    """Whether a number, or what an object says of itself, is stored under a fixed key."""
    if change.kind != "item" or not isinstance(change.key, t.Constant):
        return False
    match change.value:
        case t.Constant() | t.Compare() | t.Attribute():
            return True
        case t.Call(func=t.Name(id=name)):
            return name in _NUMBERS
        case t.Expr() as value:
            return all(isinstance(one, Const | Number) for one in alternatives(project.value(value)) or (None,))
        case _:
            return False
