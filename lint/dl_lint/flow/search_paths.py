"""The folders that code adds to ``sys.path``, where its text says which: ``osp.join(osp.dirname(__file__), "lib")``."""

from __future__ import annotations

import ast
import os
from typing import TYPE_CHECKING

from dl_lint.flow.features import NOTHING_MORE, feature
from dl_lint.source.syntax import called, dotted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dl_lint.flow.scopes import FileIndex, Scope


LONGEST_CHAIN = 12
"""Names and calls in one another that are followed for one folder."""

_SAME = frozenset({"abspath", "realpath", "normpath", "resolve", "absolute", "as_posix", "str", "fspath"})
"""Functions and methods that give the same folder."""


@feature("folders added to sys.path", NOTHING_MORE)
def added(file: FileIndex, key: str, root: str) -> Iterator[str]:
    """The folders that a file at the absolute path ``key`` adds at module level, itself or by a function of its own.

    A relative one is looked for beside the file and in the ``root`` of the project, where scripts are started.
    """
    for expr in _given(file):
        found = _Folder(file.module, key, root).evaluate(expr, LONGEST_CHAIN)
        if found is not None:
            yield os.path.normpath(os.path.join(os.path.dirname(key), found))
            yield os.path.normpath(os.path.join(root, found))


def is_for_effect(file: FileIndex, name: str) -> bool:
    """Whether a file imports a module and makes no use of its name, as with ``import _init_paths``."""
    imports = [
        one.kind == "import" and one.alias is not None and one.alias.name == name
        for one in file.module.bindings.get(name, ())
    ]
    return bool(imports) and all(imports) and not any(scope.loads.get(name) for scope in file.scopes)


def _given(file: FileIndex) -> Iterator[ast.expr]:
    """What a file gives to ``sys.path``, and to its functions that hand a parameter on to it."""
    added_ = [
        call
        for name in ("append", "insert")
        for call in file.methods.get(name, ())
        if call.args and dotted(call.func) == f"sys.path.{name}"
    ]
    for scope in file.scopes if added_ else ():
        for call in added_:
            if call in scope.calls:
                yield from (call.args[-1],) if scope.kind == "module" else _handed_on(file, scope, call.args[-1])


def _handed_on(file: FileIndex, function: Scope, expr: ast.expr) -> Iterator[ast.expr]:
    names = [param.name for param in function.params]
    if isinstance(expr, ast.Name) and expr.id in names and not function.is_method:
        place = names.index(expr.id)
        yield from (call.args[place] for call in file.methods.get(function.name, ()) if len(call.args) > place)


class _Folder:
    """The values of expressions of a module that are paths; relative ones as they are written."""

    def __init__(self, module: Scope, key: str, root: str) -> None:
        self.module = module
        self.key = key
        self.root = root

    def evaluate(self, expr: ast.expr, links: int) -> str | None:
        if not links:
            return None
        match expr:
            case ast.Constant(value=str() as text):
                return text
            case ast.Name(id="__file__"):
                return self.key
            case ast.Name(id=name):
                bound = self.module.bindings.get(name, ())
                value = bound[0].value if len(bound) == 1 and bound[0].kind == "assign" and not bound[0].path else None
                return self.evaluate(value, links - 1) if value is not None else None
            case ast.Attribute(attr="pardir"):
                return ".."
            case ast.Attribute(value=base, attr="parent"):
                return self._above(base, links, 1)
            case ast.Subscript(value=ast.Attribute(value=base, attr="parents"), slice=ast.Constant(value=int() as up)):
                return self._above(base, links, up + 1)
            case ast.BinOp(left=left, op=ast.Add() | ast.Div() as op, right=right):
                parts = self._all((left, right), links)
                return None if parts is None else "".join(parts) if isinstance(op, ast.Add) else os.path.join(*parts)
            case ast.Call():
                return self._called(expr, links)
            case _:
                return None

    def _called(self, call: ast.Call, links: int) -> str | None:
        name = called(call)
        args = call.args
        if name in ("getcwd", "cwd"):
            return self.root
        if name in _SAME and not args and isinstance(call.func, ast.Attribute):
            args = [call.func.value]
        if name == "dirname" and args:
            return self._above(args[0], links, 1)
        parts = self._all(args, links) if args and (name in _SAME or name in ("join", "Path")) else None
        return os.path.join(*parts) if parts else None

    def _above(self, expr: ast.expr, links: int, up: int) -> str | None:
        found = self.evaluate(expr, links - 1)
        for _ in range(up if found is not None else 0):
            found = os.path.dirname(found or "")
        return found

    def _all(self, exprs: Iterable[ast.expr], links: int) -> list[str] | None:
        found = [self.evaluate(one, links - 1) for one in exprs]
        known = [one for one in found if one is not None]
        return known if len(known) == len(found) else None
