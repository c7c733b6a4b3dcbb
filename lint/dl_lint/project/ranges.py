"""Ranges that are spelled out as lists, of which every number is an object: ``list(range(start, end))``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project.values import Collection, Instance, Made, Table, Value, alternatives

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dl_lint.project.model import Project

DEEPEST = 4
"""Records in records that are looked into."""


def spelled_out(project: Project, samples: Iterable[Value]) -> t.Call | None:
    """Where a part of a sample is made a list of all numbers of a range."""
    return next((found for one in samples for found in _in(project, one, DEEPEST)), None)


def _in(project: Project, value: Value, depth: int) -> Iterator[t.Call]:
    for one in alternatives(value) if depth else ():
        match one:
            case Collection(node=t.Call() as call) | Made(call=call) if _lists_range(call):
                yield call
            case Collection(items=tuple() as items):
                for item in items:
                    yield from _in(project, item, depth - 1)
            case Table():
                for _, item in one.items:
                    yield from _in(project, item, depth - 1)
            case Instance(call=t.Call() as call):
                for given in (*call.args, *(keyword.value for keyword in call.keywords)):
                    yield from _in(project, project.value(given), depth - 1)
            case _:
                continue


def _lists_range(call: t.Call) -> bool:
    match call:
        case t.Call(func=t.Name(id="list"), args=(t.Call(func=t.Name(id="range")),)):
            return True
        case _:
            return False
