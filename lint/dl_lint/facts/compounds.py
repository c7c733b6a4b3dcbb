"""Lowers the statements that have a body."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import libcst as cst

from dl_lint.facts import tree
from dl_lint.facts.blocks import COMPOUND, Body, dotted_name, note_range, suite
from dl_lint.facts.calls import arguments, parameters
from dl_lint.facts.expressions import by_kind, expression
from dl_lint.facts.patterns import bound_names

if TYPE_CHECKING:
    from dl_lint.facts.cursor import Cursor


def _header(c: Cursor, first: int) -> tree.Span:
    """Pass the colon; the span of the header that began with the token ``first``."""
    c.expect(":")
    span = c.span(first)
    note_range(c, span)
    return span


def _else(c: Cursor, node: cst.Else | cst.Finally | None, keyword: str = "else") -> Body:
    if node is None:
        return ()
    c.expect(keyword)
    c.expect(":")
    return suite(c, node.body)


def _if(c: Cursor, node: cst.If) -> tree.Stmt:
    """``elif`` is an If in the orelse of the If before it; a chain is followed without recursion."""
    base = c.depth
    arms: list[tuple[tree.Span, tree.Expr, Body]] = []
    rest: Any = node
    keyword = "if"
    while isinstance(rest, cst.If):
        first = c.at
        c.expect(keyword)
        test = expression(c, rest.test)
        arms.append((_header(c, first), test, suite(c, rest.body)))
        c.deeper()
        rest, keyword = rest.orelse, "elif"
    orelse = _else(c, rest)
    for at, test, body in reversed(arms):
        orelse = (tree.If(at, test, body, orelse),)
    c.depth = base
    return orelse[0]


def _for(c: Cursor, node: cst.For) -> tree.Stmt:
    first = c.at
    if node.asynchronous is not None:
        c.expect("async")
    c.expect("for")
    target = expression(c, node.target)
    c.expect("in")
    iterated = expression(c, node.iter)
    at = _header(c, first)
    body = suite(c, node.body)
    return tree.For(at, target, iterated, body, _else(c, node.orelse))


def _while(c: Cursor, node: cst.While) -> tree.Stmt:
    first = c.at
    c.expect("while")
    test = expression(c, node.test)
    at = _header(c, first)
    body = suite(c, node.body)
    return tree.While(at, test, body, _else(c, node.orelse))


def _with(c: Cursor, node: cst.With) -> tree.Stmt:
    first = c.at
    if node.asynchronous is not None:
        c.expect("async")
    c.expect("with")
    bracketed = type(node.lpar) is cst.LeftParen
    c.at += bracketed
    items = []
    for item in node.items:
        start = c.at
        value = expression(c, item.item)
        target = None
        if item.asname is not None:
            c.expect("as")
            target = expression(c, item.asname.name)
        items.append(tree.WithItem(c.span(start), value, target))
        if type(item.comma) is cst.Comma:
            c.at += 1
    c.at += bracketed
    at = _header(c, first)
    return tree.With(at, tuple(items), suite(c, node.body))


def _try(c: Cursor, node: cst.Try | cst.TryStar) -> tree.Stmt:
    first = c.at
    c.expect("try")
    at = _header(c, first)
    body = suite(c, node.body)
    handlers = tuple(_handler(c, handler) for handler in node.handlers)
    orelse = _else(c, node.orelse)
    return tree.Try(at, body, handlers, orelse, _else(c, node.finalbody, "finally"))


def _handler(c: Cursor, node: cst.ExceptHandler | cst.ExceptStarHandler) -> tree.Handler:
    first = c.at
    c.expect("except")
    if isinstance(node, cst.ExceptStarHandler):
        c.expect("*")
    kind = expression(c, node.type) if node.type is not None else None
    name = None
    if node.name is not None:
        c.expect("as")
        name = dotted_name(c, node.name.name)
    at = _header(c, first)
    return tree.Handler(at, kind, name, suite(c, node.body))


def _match(c: Cursor, node: cst.Match) -> tree.Stmt:
    first = c.at
    c.expect("match")
    subject = expression(c, node.subject)
    at = _header(c, first)
    c.deeper()
    cases = tuple(_case(c, case) for case in node.cases)
    c.depth -= 1
    return tree.Match(at, subject, cases)


def _case(c: Cursor, node: cst.MatchCase) -> tree.Case:
    """The pattern is passed by its brackets: it can hold no colon and no ``if`` outside of them."""
    first = c.at
    c.expect("case")
    c.skip_to(":", "if")
    guard = None
    if node.guard is not None:
        c.expect("if")
        guard = expression(c, node.guard)
    at = _header(c, first)
    return tree.Case(at, bound_names(node.pattern), guard, suite(c, node.body))


def _decorators(c: Cursor, nodes: Any) -> tuple[tree.Expr, ...]:
    decorators = []
    for node in nodes:
        first = c.at
        c.expect("@")
        decorators.append(expression(c, node.decorator))
        note_range(c, c.span(first))
    return tuple(decorators)


def _function(c: Cursor, node: cst.FunctionDef) -> tree.Stmt:
    decorators = _decorators(c, node.decorators)
    first = c.at
    if node.asynchronous is not None:
        c.expect("async")
    c.expect("def")
    name = c.name(node.name.value)
    if node.type_parameters is not None:
        c.skip_to("(")
    c.expect("(")
    params = parameters(c, node.params)
    c.expect(")")
    returns = None
    if node.returns is not None:
        c.expect("->")
        returns = expression(c, node.returns.annotation)
    at = _header(c, first)
    body = suite(c, node.body)
    return tree.FunctionDef(at, name, params, body, decorators, returns, c.spans[c.at - 1][2])


def _class(c: Cursor, node: cst.ClassDef) -> tree.Stmt:
    decorators = _decorators(c, node.decorators)
    first = c.at
    c.expect("class")
    name = c.name(node.name.value)
    if node.type_parameters is not None:
        c.skip_to("(", ":")
    bases: tuple[tree.Expr, ...] = ()
    keywords: tuple[tree.Keyword, ...] = ()
    if type(node.lpar) is cst.LeftParen:
        c.expect("(")
        bases, keywords = arguments(c, (*node.bases, *node.keywords))
        c.expect(")")
    at = _header(c, first)
    body = suite(c, node.body)
    return tree.ClassDef(at, name, bases, keywords, body, decorators, c.spans[c.at - 1][2])


COMPOUND |= by_kind(
    {
        "If": _if,
        "For": _for,
        "While": _while,
        "With": _with,
        "Try": _try,
        "TryStar": _try,
        "Match": _match,
        "FunctionDef": _function,
        "ClassDef": _class,
    }
)
