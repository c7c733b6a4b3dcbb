"""Changes made in place to a container between where it is bound and where it is used."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from dl_lint.flow.interpreter import operations
from dl_lint.flow.reaching import reached_by
from dl_lint.flow.values import (
    ABSENT,
    UNKNOWN,
    Collection,
    Const,
    Derived,
    Literal,
    OneOf,
    Parameter,
    Table,
    Value,
    alternatives,
    union,
)

if TYPE_CHECKING:
    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import Binding, Change, Site


GROWING = frozenset({"append", "add", "insert", "extend", "item", "inner"})


def changed(program: Program, value: Value, binding: Binding, changes: list[Change], at: Site | None) -> Value:
    """``value`` with the changes applied that lie between ``binding`` and ``at``."""
    if isinstance(value, OneOf):
        return union(changed(program, one, binding, changes, at) for one in value.members)
    if isinstance(value, Table) and _is_filled_by_variables(program, value, list(_between(binding, changes, at))):
        value = Collection("dict", (), UNKNOWN, value.node)
    if isinstance(value, Table):
        for change in _between(binding, changes, at):
            value = _on_table(program, value, change, reached_by(change.site, at) == "always")
        return value
    if isinstance(value, Parameter | Derived):
        for change in _between(binding, changes, at):
            value = _on_unknown(program, value, change, reached_by(change.site, at) == "always")
        return value
    if isinstance(value, Collection):
        grown = [change for change in _between(binding, changes, at) if change.kind in GROWING]
        if grown:
            return _grown(program, value, grown)
    return value


def _is_filled_by_variables(program: Program, table: Table, changes: list[Change]) -> bool:
    """Whether a dict was empty and got all that it holds under keys that are not written out: ``loaders[task] = …``."""
    stored = [change for change in changes if change.kind == "item"]
    only = len(stored) == sum(change.kind in GROWING - {"inner"} | {"update", "setdefault"} for change in changes)
    named = any(isinstance(program.symbolic(change.key), Const) for change in stored)
    return not table.items and table.closed and bool(stored) and only and not named


def _between(binding: Binding, changes: list[Change], at: Site | None) -> list[Change]:
    later = [
        change
        for change in changes
        if change.site.order > binding.site.order or change.site.scope is not binding.site.scope
    ]
    return [change for change in later if reached_by(change.site, at) != "never"]


def _on_table(program: Program, table: Table, change: Change, always: bool) -> Table:
    items = dict(table.items)
    match change.kind:
        case "item":
            key = program.symbolic(change.key)
            if not isinstance(key, Const):
                added = program.symbolic(change.value)
                return replace(table, closed=False, rest=added if table.closed else union((table.rest, added)))
            _lay(items, table, key.value, program.symbolic(change.value), always)
            return replace(table, items=tuple(items.items()))
        case "update":
            return _updated(program, table, change, always)
        case "setdefault" | "pop" | "delete":
            call = change.node
            key_expr = call.args[0] if isinstance(call, ast.Call) and call.args else change.key
            key = program.symbolic(key_expr)
            if not isinstance(key, Const):
                return table if change.kind != "setdefault" else replace(table, closed=False, rest=UNKNOWN)
            value: Value = ABSENT
            if change.kind == "setdefault":
                default = (
                    program.symbolic(call.args[1]) if isinstance(call, ast.Call) and len(call.args) > 1 else UNKNOWN
                )
                value = operations.found(table.get(key.value), default)
            _lay(items, table, key.value, value, always)
            return replace(table, items=tuple(items.items()))
        case "clear":
            return Table((), True, table.node) if always else Table(table.items, False, table.node)
        case _:
            return table


def _on_unknown(program: Program, value: Value, change: Change, always: bool) -> Value:
    """What is taken out of a dict that only the callers know, or laid over it."""
    if change.kind in ("item", "update"):
        over = _on_table(program, Table((), True, None), change, always)
        is_dict = change.kind == "update" or any(isinstance(key, str) for key, _ in over.items)
        return operations.laid(value, over) if is_dict else value
    if change.kind not in ("pop", "delete"):
        return value
    call = change.node
    key = program.symbolic(call.args[0] if isinstance(call, ast.Call) and call.args else change.key)
    if not isinstance(key, Const) or not isinstance(key.value, str):
        return value
    taken = [
        operations.without(one, key.value) if isinstance(one, Parameter | Derived) else one
        for one in alternatives(value)
    ]
    return union(taken if always else (value, *taken))


def _lay(items: dict[Literal, Value], table: Table, key: Literal, value: Value, always: bool) -> None:
    items[key] = value if always else union((table.get(key), value))


def _updated(program: Program, table: Table, change: Change, always: bool) -> Table:
    """``table.update(other, key=value)``."""
    items = dict(table.items)
    closed = table.closed
    call = change.node
    keywords = call.keywords if isinstance(call, ast.Call) else ()
    for keyword in keywords:
        if keyword.arg is not None:
            _lay(items, table, keyword.arg, program.symbolic(keyword.value), always)
    others = [change.value] if change.value is not None else []
    others += [keyword.value for keyword in keywords if keyword.arg is None]
    for other in others:
        for one in alternatives(program.symbolic(other)):
            if not isinstance(one, Table):
                closed = False
                items = {key: union((value, UNKNOWN)) for key, value in items.items()}
                continue
            closed = closed and one.closed
            for key, value in one.items:
                _lay(items, table, key, operations.found(value, table.get(key)), always)
    return Table(tuple(items.items()), closed, table.node)


def _grown(program: Program, value: Collection, changes: list[Change]) -> Collection:
    elements = [operations.held(program, value)]
    for change in changes[:16]:
        added = change.value
        if change.kind == "insert" and isinstance(change.node, ast.Call) and len(change.node.args) > 1:
            added = change.node.args[1]
        found = program.symbolic(added)
        if change.kind == "inner":
            found = Collection("list", None, found, change.node)
        elements.append(operations.iterate(program, found) if change.kind == "extend" else found)
    return Collection(
        value.kind, None, union(elements), value.node, (*value.grown, *(change.node for change in changes))[:16]
    )
