"""What a value can still be where ``isinstance`` was asked of it before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project import attributes, beside
from dl_lint.project.values import Instance, alternatives, union

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.loaders import Argument
    from dl_lint.project.model import Project
    from dl_lint.project.values import Value


def argument(project: Project, given: Argument) -> Value:
    """What an argument can be: without the objects of classes that the code has sent elsewhere before,
    ``if isinstance(dataset, Streamed): return dataset``."""
    name = given.expr if isinstance(given.expr, t.Name) else None
    gone = set(_sent_elsewhere(project, name)) if name is not None else set()
    if not gone:
        return given.value
    return union(one for one in alternatives(given.value) if not _is_of(project, one, gone))


def _is_of(project: Project, value: Value, classes: set[Value]) -> bool:
    return isinstance(value, Instance) and not classes.isdisjoint(attributes.lineage(project.evaluator, value.cls))


def _sent_elsewhere(project: Project, name: t.Name) -> Iterator[Value]:
    for stmt in beside.before(project, name):
        match stmt:
            case t.If(
                test=t.Call(func=t.Name(id="isinstance"), args=(t.Name(id=asked), cls)),
                body=(*_, t.Return() | t.Raise() | t.Jump()),
            ) if asked == name.id:
                for one in cls.items if isinstance(cls, t.Sequence) else (cls,):
                    yield from alternatives(project.value(one))
            case _:
                continue
