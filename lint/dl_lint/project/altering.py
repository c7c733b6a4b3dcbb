"""Samples that fetching them takes something from: a worker that stays misses it the next time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project import attributes, handed
from dl_lint.project.syntax import dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.model import Project
    from dl_lint.project.scopes import Scope
    from dl_lint.project.values import Instance

TAKING = frozenset({"pop", "popitem", "popleft", "clear", "remove"})


def takes_away(project: Project, dataset: Instance) -> bool:
    """Whether fetching a sample takes something from a record that the data set keeps:
    ``row = self.rows[index]; row.pop("text")``, itself or in a function that is handed the record."""
    return any(
        _takes(function, name) or any(_takes(callee, its) for callee, its in _handed(project, dataset, function, name))
        for function in project.fetching(dataset.cls)
        if function.is_method and function.params
        for name in _records(function)
    )


def _records(function: Scope) -> Iterator[str]:
    """The names that a method gives to records that its object keeps."""
    owner = function.params[0].name
    for name, bindings in function.bindings.items():
        if any(one.value is not None and handed.entry_of(one.value, owner) is not None for one in bindings):
            yield name


def _takes(function: Scope, name: str) -> bool:
    if any(change.kind == "delete" for change in function.changes.get(name, ())):
        return True
    return any(
        isinstance(call.func, t.Attribute) and call.func.attr in TAKING and dotted(call.func.value) == name
        for call in function.calls
    )


def _handed(project: Project, dataset: Instance, function: Scope, name: str) -> Iterator[tuple[Scope, str]]:
    """The functions that are handed what ``name`` stands for, each with its own name for it: of what objects keep, as
    ``self.transform``, the one of this object."""
    owner = function.params[0].name
    for call in function.calls:
        callee = None
        if isinstance(call.func, t.Attribute) and dotted(call.func.value) == owner:
            ev = project.evaluator
            callee = ev.resolve(attributes.of_instance(ev, dataset, call.func.attr))
        for argument in (*call.args, *call.keywords):
            given = argument.value if isinstance(argument, t.Keyword) else argument
            if isinstance(given, t.Name) and given.id == name:
                yield from handed.bound_to(project, call, argument, callee)
