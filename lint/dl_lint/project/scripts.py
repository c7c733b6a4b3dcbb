"""Which files are run, and what running them does at module level."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project import names
from dl_lint.project.values import Module

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.model import Project
    from dl_lint.project.scopes import Binding, FileIndex, Scope
    from dl_lint.project.values import Value


def imported(project: Project) -> frozenset[FileIndex]:
    """The files that other linted files import, or import something from: modules rather than scripts."""
    found = set()
    for file in project.files:
        for scope in file.scopes:
            for bindings in scope.bindings.values():
                for value in (value for one in bindings for value in _sources(project, scope, one)):
                    if isinstance(value, Module) and value.file is not file:
                        found.add(value.file)
    return frozenset(found)


def _sources(project: Project, scope: Scope, binding: Binding) -> Iterator[Value]:
    match binding.node:
        case t.Import(module=module):
            yield project.evaluator.files.absolute(scope.file, module)
        case t.ImportFrom() as node:
            source = names.source_of(project.evaluator, scope, node)
            if source is not None:
                yield source
            if node.attr != "*":
                yield project.bound_value(binding)


def module_level(file: FileIndex) -> Iterator[Scope]:
    """The module's own scope and the comprehensions in it."""
    waiting = [file.module]
    while waiting:
        scope = waiting.pop()
        yield scope
        waiting.extend(inner for inner in scope.children if inner.kind == "comprehension")
