"""Lowers what operators and keywords join: arithmetic, logic, comparisons, ``if else``, ``await``, ``yield``."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from dl_lint.facts import tree
from dl_lint.facts.expressions import LOWER, expression

if TYPE_CHECKING:
    from dl_lint.facts.cursor import Cursor

# A longer chain of binary operators is not nested to the left but halved again and again: nothing reads its value.
LONGEST_CHAIN = 50

COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Is: "is",
    ast.IsNot: "is not",
}
BINARY: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.MatMult: "@",
}
UNARY: dict[type[ast.unaryop], str] = {ast.Not: "not", ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"}


def _binary(c: Cursor, node: ast.BinOp) -> tree.Expr:
    first, base = c.at, c.depth
    spine = [node]
    inner: Any = node.left
    while type(inner) is ast.BinOp and c.is_bare(inner, node):
        spine.append(inner)
        inner = inner.left
    spine.reverse()
    c.deeper(min(len(spine), LONGEST_CHAIN) - 1)
    lowered = expression(c, inner)
    if len(spine) > LONGEST_CHAIN:
        lowered = _long_chain(c, lowered, spine)
    else:
        for step in spine:
            op = BINARY[type(step.op)]
            c.expect(op)
            right = expression(c, step.right)
            lowered = tree.BinOp(c.span(first), lowered, op, right)
            c.depth -= 1
    c.depth = base
    return lowered


def _long_chain(c: Cursor, left: tree.Expr, spine: list[ast.BinOp]) -> tree.Expr:
    terms, ops = [left], []
    for step in spine:
        ops.append(BINARY[type(step.op)])
        c.expect(ops[-1])
        terms.append(expression(c, step.right))
    while len(terms) > 1:
        pairs = zip(terms[::2], ops[::2], terms[1::2], strict=False)
        rest = terms[-1:] if len(terms) % 2 else []
        terms = [tree.BinOp((*a.at[:2], *b.at[2:]), a, op, b) for a, op, b in pairs] + rest
        ops = ops[1::2]
    return terms[0]


def _boolean(c: Cursor, node: ast.BoolOp) -> tree.Expr:
    first = c.at
    op = "and" if type(node.op) is ast.And else "or"
    values = [expression(c, node.values[0])]
    for value in node.values[1:]:
        c.expect(op)
        values.append(expression(c, value))
    return tree.BoolOp(c.span(first), op, tuple(values))


def _comparison(c: Cursor, node: ast.Compare) -> tree.Expr:
    first = c.at
    left = expression(c, node.left)
    ops, comparators = [], []
    for kind, comparator in zip(node.ops, node.comparators, strict=True):
        op = COMPARISONS[type(kind)]
        for word in op.split():
            c.expect(word)
        ops.append(op)
        comparators.append(expression(c, comparator))
    return tree.Compare(c.span(first), left, tuple(ops), tuple(comparators))


def _unary(c: Cursor, node: ast.UnaryOp) -> tree.Expr:
    first = c.at
    op = UNARY[type(node.op)]
    c.expect(op)
    operand = expression(c, node.operand)
    return tree.UnaryOp(c.span(first), op, operand)


def _conditional(c: Cursor, node: ast.IfExp) -> tree.Expr:
    first = c.at
    body = expression(c, node.body)
    c.expect("if")
    test = expression(c, node.test)
    c.expect("else")
    orelse = expression(c, node.orelse)
    return tree.Conditional(c.span(first), test, body, orelse)


def _walrus(c: Cursor, node: ast.NamedExpr) -> tree.Expr:
    first = c.at
    target = expression(c, node.target)
    c.expect(":=")
    value = expression(c, node.value)
    return tree.Walrus(c.span(first), target, value)


def _await(c: Cursor, node: ast.Await) -> tree.Expr:
    first = c.at
    c.expect("await")
    value = expression(c, node.value)
    return tree.Await(c.span(first), value)


def _yield(c: Cursor, node: ast.Yield) -> tree.Expr:
    first = c.at
    c.expect("yield")
    value = expression(c, node.value) if node.value is not None else None
    return tree.Yield(c.span(first), value, False)


def _yield_from(c: Cursor, node: ast.YieldFrom) -> tree.Expr:
    first = c.at
    c.expect("yield")
    c.expect("from")
    value = expression(c, node.value)
    return tree.Yield(c.span(first), value, True)


LOWER |= {
    ast.BinOp: _binary,
    ast.BoolOp: _boolean,
    ast.Compare: _comparison,
    ast.UnaryOp: _unary,
    ast.IfExp: _conditional,
    ast.NamedExpr: _walrus,
    ast.Await: _await,
    ast.Yield: _yield,
    ast.YieldFrom: _yield_from,
}
