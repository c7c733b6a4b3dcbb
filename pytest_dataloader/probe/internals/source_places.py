"""Where code is written that fills a variable or an attribute, by its source."""

from __future__ import annotations

import ast
import inspect
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import types
    from collections.abc import Iterable, Iterator

_KEEPING = frozenset({"append", "extend", "add", "insert", "appendleft", "extendleft", "setdefault", "update", "put"})
_MOST_BYTES = 2_000_000
"""A longer file is not read: generated, and slow to parse."""


class SourceLines(NamedTuple):
    """Lines of a file."""

    file: str
    first: int = 0
    last: int = sys.maxsize


def lines_of(code: types.CodeType) -> SourceLines:
    last = max((line for *_, line in code.co_lines() if line), default=sys.maxsize)
    return SourceLines(code.co_filename, code.co_firstlineno, last)


def places_of(classes: Iterable[type]) -> tuple[SourceLines, ...]:
    """Where classes are written; those without a source, as of a notebook that is gone, are left out."""
    found = []
    for one in classes:
        try:
            lines, first = inspect.getsourcelines(one)
            found.append(SourceLines(inspect.getsourcefile(one) or "", first, first + len(lines)))
        except (OSError, TypeError):
            continue
    return tuple(found)


def additions(place: SourceLines, variable: str) -> Iterator[int]:
    """Lines that put something into a container of this name."""
    yield from (node.lineno for node in _nodes(place) if _adds_to(node, variable))


def assignments(place: SourceLines, variable: str) -> Iterator[int]:
    """Lines that give an attribute of this name a value, other than None or an empty container."""
    for node in _nodes(place):
        match node:
            case ast.Assign(targets=targets, value=value):
                assigned = any(isinstance(one, ast.Attribute) and one.attr == variable for one in targets)
            case ast.AnnAssign(target=ast.Attribute(attr=attribute), value=ast.expr() as value):
                assigned = attribute == variable
            case ast.ClassDef(body=body):
                declared = (one for one in body if isinstance(one, ast.Assign) and not _is_empty(one.value))
                yield from (one.lineno for one in declared for each in one.targets if _is_called(each, variable))
                continue
            case _:
                continue
        if assigned and not _is_empty(value):
            yield node.lineno


def assigned_name(file: str, line: int) -> str:
    """The name that the innermost statement on a line gives a value: a variable, an attribute; empty for any other."""
    statements = [node for node in _nodes(SourceLines(file)) if isinstance(node, ast.stmt) and _covers(node, line)]
    match max(statements, key=lambda one: one.lineno, default=None):
        case ast.Assign(targets=[ast.Name() | ast.Attribute() as target]) | ast.AnnAssign(target=target):
            return ast.unparse(target)
    return ""


def _covers(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _nodes(place: SourceLines) -> Iterator[ast.expr | ast.stmt]:
    """The expressions and statements that begin there."""
    path = Path(place.file)
    try:
        if path.stat().st_size > _MOST_BYTES:
            return
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError, RecursionError):
        return
    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.expr | ast.stmt))
    yield from (node for node in nodes if place.first <= node.lineno <= place.last)


def _is_empty(value: ast.expr) -> bool:
    match value:
        case ast.Constant(value=None) | ast.List(elts=[]) | ast.Dict(keys=[]) | ast.Call(args=[], keywords=[]):
            return True
    return False


def _adds_to(node: ast.expr | ast.stmt, variable: str) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=target, attr=attribute)) if attribute in _KEEPING:
            return _is_called(target, variable)
        case ast.AugAssign(target=target):
            return _is_called(target, variable)
        case ast.Assign(targets=targets):
            return any(isinstance(each, ast.Subscript) and _is_called(each.value, variable) for each in targets)
    return False


def _is_called(node: ast.expr, variable: str) -> bool:
    return variable in (getattr(node, "id", None), getattr(node, "attr", None))
