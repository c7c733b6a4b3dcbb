"""Which files are run, what running them does, and which are tests."""

from __future__ import annotations

import ast
import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from dl_lint.flow.features import feature
from dl_lint.flow.interpreter import names
from dl_lint.flow.values import Module

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import Binding, FileIndex, Scope
    from dl_lint.flow.values import Value


@feature("scripts and modules")
def is_imported(program: Program, file: FileIndex) -> bool:
    """Whether another linted file imports ``file``, or something from it: a module rather than a script."""
    parts = PurePosixPath(file.path).with_suffix("").parts
    name = parts[-2] if parts[-1] == "__init__" and len(parts) > 1 else parts[-1]
    for other in program.files:
        for scope in other.scopes if other is not file else ():
            for bindings in scope.bindings.values():
                for binding in bindings:
                    if name in imported_names(binding) and any(
                        isinstance(one, Module) and one.file is file for one in _sources(program, scope, binding)
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


def _sources(program: Program, scope: Scope, binding: Binding) -> Iterator[Value]:
    match binding.node:
        case ast.Import() if binding.alias is not None:
            yield program.modules.absolute(scope.file, binding.alias.name)
        case ast.ImportFrom() as node if binding.alias is not None:
            source = names.source_of(program, scope, node)
            if source is not None:
                yield source
            if binding.alias.name != "*":
                yield names.bound_value(program, binding)
        case _:
            return


def module_level(file: FileIndex) -> Iterator[Scope]:
    """The module's own scope and the comprehensions in it."""
    waiting = [file.module]
    while waiting:
        scope = waiting.pop()
        yield scope
        waiting.extend(inner for inner in scope.children if inner.kind == "comprehension")


_TEST = re.compile(r"(test_.*|.*_test|conftest)\.py")
"""Files that pytest takes tests from."""

_FOLDERS = frozenset({"tests", "testing", "test_utils"})
"""Folders of tests, and of what they are made of; ``test`` may hold the test of a model."""

_TESTING = frozenset({"pytest", "unittest"})


def is_test(program: Program, path: str) -> bool:
    """Whether pytest takes a file for tests by its name, and it stands in a folder of tests or uses pytest or unittest:
    ``test_net.py`` beside ``train.py`` evaluates a model."""
    parts = PurePosixPath(path).parts
    if not parts or not _TEST.fullmatch(parts[-1]):
        return False
    loads = (scope.loads for file in program.files if file.path == path for scope in file.scopes)
    return not _FOLDERS.isdisjoint(parts) or any(not _TESTING.isdisjoint(one) for one in loads)
