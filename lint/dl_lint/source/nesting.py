"""Bounds the depth of a tree: readers recurse over it with up to four frames a level, and Python stops at 1,000."""

from __future__ import annotations

import ast
from typing import Any

MAX_DEPTH = 200

LONGEST_CHAIN = 50
"""Operators of a chain ``a + b + c`` that stay nested to the left, each in the next; a longer one is halved."""

SHORT = 2 * LONGEST_CHAIN
"""Characters on a line that hold neither a longer chain nor as many levels: each takes a character or more."""

_LEAVES = frozenset(
    {ast.Name, ast.Constant, ast.Pass, ast.Break, ast.Continue, ast.alias, type(None), bool, int, float, complex}
    | {bytes, str, type(...)}
)

_SIMPLE = frozenset({ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.Delete, ast.Raise, ast.Assert})

_INNER: dict[type[ast.AST], tuple[str, ...]] = {}
"""By kind of node, the fields that hold nodes with more below them."""


class TooDeep(Exception):
    """The syntax is nested deeper than ``MAX_DEPTH``."""

    def __init__(self, line: int | None) -> None:
        super().__init__(line)
        self.line = line


def bound_depth(module: ast.Module) -> None:
    """Halve long chains of operators; raises TooDeep for what is nested too deeply all the same.

    Level by level, and past what has nothing below it or is short.
    """
    level: list[Any] = [module]
    for depth in range(MAX_DEPTH):
        below: list[Any] = []
        for node in level:
            kind = type(node)
            if kind is ast.BinOp:
                _halve(node)
            elif kind in _SIMPLE and depth < MAX_DEPTH - SHORT - 2 and _is_short(node):
                continue
            for name in _INNER.get(kind) or _inner(kind):
                value = getattr(node, name)
                if type(value) is list:
                    below += [one for one in value if type(one) not in _LEAVES]
                elif type(value) not in _LEAVES:
                    below.append(value)
        if not below:
            return
        level = below
    raise TooDeep(next((node.lineno for node in level if hasattr(node, "lineno")), None))


def _inner(kind: type[ast.AST]) -> tuple[str, ...]:
    """Fields that tell names, numbers, operators and contexts hold no such nodes."""
    plain = {
        "ctx",
        "id",
        "attr",
        "arg",
        "op",
        "ops",
        "type_comment",
        "conversion",
        "is_async",
        "simple",
        "level",
        "module",
    }
    found = _INNER[kind] = tuple(name for name in kind._fields if name not in plain)
    return found


def _is_short(stmt: ast.stmt) -> bool:
    start, end = stmt.col_offset, stmt.end_col_offset or 0
    return end - start < SHORT and stmt.lineno == stmt.end_lineno


def _halve(node: ast.BinOp) -> None:
    """Nest a long chain evenly instead of each operator in the next."""
    operands: list[ast.expr] = [node.right]
    operators = [node.op]
    first = node.left
    while isinstance(first, ast.BinOp):
        operands.append(first.right)
        operators.append(first.op)
        first = first.left
    if len(operators) > LONGEST_CHAIN:
        operands.append(first)
        operands.reverse()
        operators.reverse()
        middle = len(operators) // 2
        node.left = _joined(operands[: middle + 1], operators[:middle])
        node.right = _joined(operands[middle + 1 :], operators[middle + 1 :])
        node.op = operators[middle]


def _joined(operands: list[ast.expr], operators: list[ast.operator]) -> ast.expr:
    """The operands under their operators, halves of halves."""
    first, last = operands[0], operands[-1]
    if not operators:
        return first
    middle = len(operators) // 2
    return ast.BinOp(
        left=_joined(operands[: middle + 1], operators[:middle]),
        op=operators[middle],
        right=_joined(operands[middle + 1 :], operators[middle + 1 :]),
        lineno=first.lineno,
        col_offset=first.col_offset,
        end_lineno=last.end_lineno,
        end_col_offset=last.end_col_offset,
    )
