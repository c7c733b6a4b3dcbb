"""Which files are run, and what running them does at module level."""

from __future__ import annotations

import ast
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from dl_lint.project import names
from dl_lint.project.values import NONE, UNKNOWN, Absent, Const, Made, Module, alternatives

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dl_lint.project.model import Project
    from dl_lint.project.scopes import Binding, FileIndex, Scope
    from dl_lint.project.values import Loader, Value

STARTS = ("torch.multiprocessing.set_start_method", "multiprocessing.set_start_method")


def is_imported(project: Project, file: FileIndex) -> bool:
    """Whether another linted file imports ``file``, or something from it: a module rather than a script."""
    parts = PurePosixPath(file.path).with_suffix("").parts
    name = parts[-2] if parts[-1] == "__init__" and len(parts) > 1 else parts[-1]
    for other in project.files:
        for scope in other.scopes if other is not file else ():
            for bindings in scope.bindings.values():
                for binding in bindings:
                    if name in imported_names(binding) and any(
                        isinstance(one, Module) and one.file is file for one in _sources(project, scope, binding)
                    ):
                        return True
    return False


def imported_names(binding: Binding) -> Iterable[str]:
    """The names in an import, of which one is that of a file that it reads, but for ``from . import name``."""
    match binding.node:
        case ast.Import() if binding.alias is not None:
            return binding.alias.name.split(".")
        case ast.ImportFrom(module=module) if binding.alias is not None:
            return (*(module or "").split("."), binding.alias.name)
        case _:
            return ()


def _sources(project: Project, scope: Scope, binding: Binding) -> Iterator[Value]:
    match binding.node:
        case ast.Import() if binding.alias is not None:
            yield project.evaluator.files.absolute(scope.file, binding.alias.name)
        case ast.ImportFrom() as node if binding.alias is not None:
            source = names.source_of(project.evaluator, scope, node)
            if source is not None:
                yield source
            if binding.alias.name != "*":
                yield project.bound_value(binding)
        case _:
            return


def module_level(file: FileIndex) -> Iterator[Scope]:
    """The module's own scope and the comprehensions in it."""
    waiting = [file.module]
    while waiting:
        scope = waiting.pop()
        yield scope
        waiting.extend(inner for inner in scope.children if inner.kind == "comprehension")


def spawning(project: Project) -> frozenset[str]:
    """The folders, each with its slash, of scripts that have workers spawned by ``set_start_method``, or by what the
    configuration says."""
    return project.evaluator.once("spawning", lambda: _spawning(project))


def _spawning(project: Project) -> frozenset[str]:
    if project.hints.spawns:
        return frozenset({""})
    folders = (
        project.path(call).rpartition("/")[0]
        for call in project.calls(*STARTS)
        if is_spawn(project.passed(call, "method", "method").value)
    )
    return frozenset(f"{folder}/" if folder else "" for folder in folders)


def spawns(project: Project, loader: Loader) -> bool:
    """Whether the workers of a loader are new processes rather than forks, by its own word or by the script's."""
    contexts = alternatives(project.argument(loader, "multiprocessing_context").value)
    unnamed = all(isinstance(one, Absent) or one == NONE for one in contexts)
    if unnamed or (UNKNOWN in contexts and not project.mentions(loader.call, "multiprocessing_context")):
        return any(project.path(loader.call).startswith(folder) for folder in spawning(project))
    return all(is_spawn(_named(project, one)) for one in contexts)


def _named(project: Project, context: Value) -> Value:
    """The start method of ``multiprocessing.get_context("spawn")``."""
    if isinstance(context, Made) and context.name.endswith("multiprocessing.get_context"):
        return project.passed(context.call, "method", "method").value
    return context


def is_spawn(value: Value) -> bool:
    """Whether a start method or context makes new processes rather than forks."""
    return isinstance(value, Const) and value.value in ("spawn", "forkserver")
