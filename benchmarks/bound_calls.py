"""Whether the calls that a fix has changed still bind to the signatures of what they call, where that is known."""

from __future__ import annotations

import ast
import collections
import importlib
import inspect
from typing import TYPE_CHECKING

from dl_lint.flow.interpreter import classes
from dl_lint.flow.values import Batch, Bound, Class, External, Function, alternatives
from dl_lint.project import Project
from dl_lint.source.file import Source
from dl_lint.source.parser import parse
from dl_lint.transfers import copies

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from dl_lint.flow.scopes import Scope
    from dl_lint.flow.values import Value
    from dl_lint.source.parser import Syntax

INSTALLED = ("torch.", "numpy.", "builtins.")
"""Libraries whose functions are asked for their signatures here."""


def unbound(folder: Path, before: Mapping[str, bytes], after: Mapping[str, bytes]) -> Iterator[str]:
    """A sentence for each call of the Python files in ``folder`` that is another than ``before`` and does not bind."""
    changed = [name for name, data in after.items() if name.endswith(".py") and data != before.get(name)]
    if not changed:
        return

    def read(path: str) -> Syntax | None:
        data = after.get(path)
        return parse(Source.of(path, data)) if data is not None else None

    project = Project.load([name for name in after if name.endswith(".py")], str(folder), read)
    for file in project.files:
        if file.path in changed:
            known = collections.Counter(map(_written, _calls(ast.parse(before[file.path]))))
            for call in (call for scope in file.scopes for call in scope.calls):
                if known[_written(call)] > 0:
                    known[_written(call)] -= 1
                    continue
                for callee in callees(project, call):
                    if not _binds(project, callee, call):
                        yield f"{file.path}:{call.lineno}: {_written(call)} does not bind to what it calls"


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def _written(call: ast.Call) -> str:
    return ast.unparse(call)


def callees(project: Project, call: ast.Call) -> Iterator[Value]:
    """What a call is known to call: also the method of the object that a collate function makes of a batch."""
    yield from alternatives(project.value(call.func))
    if isinstance(call.func, ast.Attribute):
        for one in alternatives(project.value(call.func.value)):
            if isinstance(one, Batch) and one.whole:
                for cls in copies.collated(project, one.loader) or ():
                    method = classes.of_class(project, cls, call.func.attr)
                    if isinstance(method, Function):
                        yield Bound(method, UNSEEN)


UNSEEN = External("object")


def _binds(project: Project, callee: Value, call: ast.Call) -> bool:
    if any(isinstance(one, ast.Starred) for one in call.args) or any(one.arg is None for one in call.keywords):
        return True
    match callee:
        case Function(scope=scope):
            return _takes(scope, call, own=0)
        case Bound(function=Function(scope=scope)):
            return _takes(scope, call, own=0 if "staticmethod" in _decorators(scope) else 1)
        case Class():
            init = classes.of_class(project, callee, "__init__")
            return not isinstance(init, Function) or _takes(init.scope, call, own=1)
        case External(name=name) if name.startswith(INSTALLED):
            return _takes_installed(name, call)
        case _:
            return True


def _decorators(scope: Scope) -> set[str]:
    node = scope.node
    return {ast.unparse(one) for one in node.decorator_list} if isinstance(node, ast.FunctionDef) else set()


def _takes(scope: Scope, call: ast.Call, own: int) -> bool:
    """Whether a function of the project takes the arguments of a call, after ``own`` that are passed for it."""
    if _decorators(scope) - {"staticmethod", "classmethod"}:
        return True  # a decorator may take more
    kinds = collections.defaultdict(list)
    for param in scope.params:
        kinds[param.kind].append(param.name)
    by_position = [*kinds["positional"], *kinds["plain"]][own:]
    if len(call.args) > len(by_position) and not kinds["args"]:
        return False
    taken = set(by_position[: len(call.args)])
    named = {*kinds["plain"], *kinds["keyword"]}
    wanted = [str(one.arg) for one in call.keywords]
    return taken.isdisjoint(wanted) and (bool(kinds["kwargs"]) or named.issuperset(wanted))


def _takes_installed(name: str, call: ast.Call) -> bool:
    module, _, attribute = name.rpartition(".")
    try:
        signature = inspect.signature(getattr(importlib.import_module(module), attribute))
        signature.bind(*call.args, **{str(one.arg): one for one in call.keywords})
    except (ImportError, AttributeError, ValueError):
        return True  # not installed, or not told
    except TypeError:
        return False
    return True
