"""What a value can still be where ``isinstance`` was asked of it before."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.project import attributes, beside
from dl_lint.project.values import Instance, alternatives, union
from dl_lint.source.syntax import Display

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.loaders import Argument
    from dl_lint.project.model import Project
    from dl_lint.project.values import Value


def argument(project: Project, given: Argument) -> Value:
    """What an argument can be: without the objects of classes that the code has sent elsewhere before,
    ``if isinstance(dataset, Streamed): return dataset``."""
    name = given.expr if isinstance(given.expr, ast.Name) else None
    gone = set(_sent_elsewhere(project, name)) if name is not None else set()
    if not gone:
        return given.value
    return union(one for one in alternatives(given.value) if not _is_of(project, one, gone))


def _is_of(project: Project, value: Value, classes: set[Value]) -> bool:
    return isinstance(value, Instance) and not classes.isdisjoint(attributes.lineage(project.evaluator, value.cls))


def _sent_elsewhere(project: Project, name: ast.Name) -> Iterator[Value]:
    for stmt in beside.before(project, name):
        match stmt:
            case ast.If(
                test=ast.Call(func=ast.Name(id="isinstance"), args=(ast.Name(id=asked), cls)),
                body=(*_, ast.Return() | ast.Raise() | ast.Pass() | ast.Break() | ast.Continue()),
            ) if asked == name.id:
                for one in cls.elts if isinstance(cls, Display) else (cls,):
                    yield from alternatives(project.value(one))
            case _:
                continue
