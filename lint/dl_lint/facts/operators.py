"""Lowers what operators and keywords join: arithmetic, logic, comparisons, ``if else``, ``await``, ``yield``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import libcst as cst

from dl_lint.facts import tree
from dl_lint.facts.expressions import LOWER, expression

if TYPE_CHECKING:
    from dl_lint.facts.cursor import Cursor

# A longer chain of binary operators is not nested to the left but halved again and again: nothing reads its value.
LONGEST_CHAIN = 50

_COMPARISONS: dict[type[cst.CSTNode], str] = {
    cst.Equal: "==",
    cst.NotEqual: "!=",
    cst.LessThan: "<",
    cst.LessThanEqual: "<=",
    cst.GreaterThan: ">",
    cst.GreaterThanEqual: ">=",
    cst.In: "in",
    cst.NotIn: "not in",
    cst.Is: "is",
    cst.IsNot: "is not",
}
_BINARY: dict[type[cst.CSTNode], str] = {
    cst.Add: "+",
    cst.Subtract: "-",
    cst.Multiply: "*",
    cst.Divide: "/",
    cst.FloorDivide: "//",
    cst.Modulo: "%",
    cst.Power: "**",
    cst.LeftShift: "<<",
    cst.RightShift: ">>",
    cst.BitAnd: "&",
    cst.BitOr: "|",
    cst.BitXor: "^",
    cst.MatrixMultiply: "@",
}
_UNARY: dict[type[cst.CSTNode], str] = {cst.Not: "not", cst.Minus: "-", cst.Plus: "+", cst.BitInvert: "~"}


def _binary(c: Cursor, node: cst.BinaryOperation) -> tree.Expr:
    first, base = c.at, c.depth
    spine = [node]
    inner: Any = node.left
    while type(inner) is cst.BinaryOperation and not inner.lpar:
        spine.append(inner)
        inner = inner.left
    spine.reverse()
    c.deeper(min(len(spine), LONGEST_CHAIN) - 1)
    lowered = expression(c, inner)
    if len(spine) > LONGEST_CHAIN:
        lowered = _long_chain(c, lowered, spine)
    else:
        for step in spine:
            c.at += 1
            right = expression(c, step.right)
            lowered = tree.BinOp(c.span(first), lowered, _BINARY[type(step.operator)], right)
            c.depth -= 1
    c.depth = base
    return lowered


def _long_chain(c: Cursor, left: tree.Expr, spine: list[cst.BinaryOperation]) -> tree.Expr:
    terms, ops = [left], []
    for step in spine:
        c.at += 1
        terms.append(expression(c, step.right))
        ops.append(_BINARY[type(step.operator)])
    while len(terms) > 1:
        pairs = zip(terms[::2], ops[::2], terms[1::2], strict=False)
        rest = terms[-1:] if len(terms) % 2 else []
        terms = [tree.BinOp((*a.at[:2], *b.at[2:]), a, op, b) for a, op, b in pairs] + rest
        ops = ops[1::2]
    return terms[0]


def _boolean(c: Cursor, node: cst.BooleanOperation) -> tree.Expr:
    first, op = c.at, type(node.operator)
    rights = [node.right]
    inner: Any = node.left
    while type(inner) is cst.BooleanOperation and type(inner.operator) is op and not inner.lpar:
        rights.append(inner.right)
        inner = inner.left
    values = [expression(c, inner)]
    for right in reversed(rights):
        c.at += 1
        values.append(expression(c, right))
    return tree.BoolOp(c.span(first), "and" if op is cst.And else "or", tuple(values))


def _comparison(c: Cursor, node: cst.Comparison) -> tree.Expr:
    first = c.at
    left = expression(c, node.left)
    ops, comparators = [], []
    for target in node.comparisons:
        op = _COMPARISONS[type(target.operator)]
        c.at += 2 if op in ("not in", "is not") else 1
        ops.append(op)
        comparators.append(expression(c, target.comparator))
    return tree.Compare(c.span(first), left, tuple(ops), tuple(comparators))


def _unary(c: Cursor, node: cst.UnaryOperation) -> tree.Expr:
    first = c.at
    op = _UNARY[type(node.operator)]
    c.expect(op)
    operand = expression(c, node.expression)
    return tree.UnaryOp(c.span(first), op, operand)


def _conditional(c: Cursor, node: cst.IfExp) -> tree.Expr:
    first = c.at
    body = expression(c, node.body)
    c.expect("if")
    test = expression(c, node.test)
    c.expect("else")
    orelse = expression(c, node.orelse)
    return tree.Conditional(c.span(first), test, body, orelse)


def _walrus(c: Cursor, node: cst.NamedExpr) -> tree.Expr:
    first = c.at
    target = expression(c, node.target)
    c.expect(":=")
    value = expression(c, node.value)
    return tree.Walrus(c.span(first), target, value)


def _await(c: Cursor, node: cst.Await) -> tree.Expr:
    first = c.at
    c.expect("await")
    value = expression(c, node.expression)
    return tree.Await(c.span(first), value)


def _yield(c: Cursor, node: cst.Yield) -> tree.Expr:
    first = c.at
    c.expect("yield")
    if node.value is None:
        return tree.Yield(c.span(first), None, False)
    if isinstance(node.value, cst.From):
        c.expect("from")
        value = expression(c, node.value.item)
        return tree.Yield(c.span(first), value, True)
    value = expression(c, node.value)
    return tree.Yield(c.span(first), value, False)


LOWER |= {
    cst.BinaryOperation: _binary,
    cst.BooleanOperation: _boolean,
    cst.Comparison: _comparison,
    cst.UnaryOperation: _unary,
    cst.IfExp: _conditional,
    cst.NamedExpr: _walrus,
    cst.Await: _await,
    cst.Yield: _yield,
}
