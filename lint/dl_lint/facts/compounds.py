"""Lowers the statements that have a body."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dl_lint.facts import tree
from dl_lint.facts.blocks import COMPOUND, block, note_range
from dl_lint.facts.calls import arguments, parameters
from dl_lint.facts.expressions import by_kind, expression
from dl_lint.facts.patterns import bound_names

if TYPE_CHECKING:
    import ast

    from dl_lint.facts.blocks import Body
    from dl_lint.facts.cursor import Cursor


def _header(c: Cursor, first: int) -> tree.Span:
    """Pass the colon; the span of the header that began with the token ``first``."""
    c.expect(":")
    span = c.span(first)
    note_range(c, span)
    return span


def _else(c: Cursor, body: list[ast.stmt], keyword: str = "else") -> Body:
    if not body:
        return ()
    c.expect(keyword)
    c.expect(":")
    return block(c, body)


def _if(c: Cursor, node: ast.If) -> tree.Stmt:
    """``elif`` is an If in the orelse of the If before it; a chain is followed without recursion."""
    base = c.depth
    arms: list[tuple[tree.Span, tree.Expr, Body]] = []
    rest: list[Any] = [node]
    keyword = "if"
    while rest and c.texts[c.at] == keyword:
        first = c.at
        c.at += 1
        test = expression(c, rest[0].test)
        arms.append((_header(c, first), test, block(c, rest[0].body)))
        c.deeper()
        rest, keyword = rest[0].orelse, "elif"
    orelse = _else(c, rest)
    for at, test, body in reversed(arms):
        orelse = (tree.If(at, test, body, orelse),)
    c.depth = base
    return orelse[0]


def _for(c: Cursor, node: ast.For | ast.AsyncFor) -> tree.Stmt:
    first = c.at
    c.passes("async")
    c.expect("for")
    target = expression(c, node.target)
    c.expect("in")
    iterated = expression(c, node.iter)
    at = _header(c, first)
    body = block(c, node.body)
    return tree.For(at, target, iterated, body, _else(c, node.orelse))


def _while(c: Cursor, node: ast.While) -> tree.Stmt:
    first = c.at
    c.expect("while")
    test = expression(c, node.test)
    at = _header(c, first)
    body = block(c, node.body)
    return tree.While(at, test, body, _else(c, node.orelse))


def _with(c: Cursor, node: ast.With | ast.AsyncWith) -> tree.Stmt:
    first = c.at
    c.passes("async")
    c.expect("with")
    bracketed = c.texts[c.at] == "(" and c.has_brackets(node)
    c.at += bracketed
    items = []
    for item in node.items:
        start = c.at
        value = expression(c, item.context_expr)
        target = None
        if item.optional_vars is not None:
            c.expect("as")
            target = expression(c, item.optional_vars)
        items.append(tree.WithItem(c.span(start), value, target))
        c.passes(",")
    if bracketed:
        c.expect(")")
    at = _header(c, first)
    return tree.With(at, tuple(items), block(c, node.body))


def _try(c: Cursor, node: ast.Try | ast.TryStar) -> tree.Stmt:
    first = c.at
    c.expect("try")
    at = _header(c, first)
    body = block(c, node.body)
    handlers = tuple([_handler(c, handler) for handler in node.handlers])
    orelse = _else(c, node.orelse)
    return tree.Try(at, body, handlers, orelse, _else(c, node.finalbody, "finally"))


def _handler(c: Cursor, node: ast.ExceptHandler) -> tree.Handler:
    first = c.at
    c.expect("except")
    c.passes("*")
    kind = expression(c, node.type) if node.type is not None else None
    if node.name is not None:
        c.expect("as")
        c.name(node.name)
    at = _header(c, first)
    return tree.Handler(at, kind, node.name, block(c, node.body))


def _match(c: Cursor, node: ast.Match) -> tree.Stmt:
    first = c.at
    c.expect("match")
    subject = expression(c, node.subject)
    at = _header(c, first)
    c.deeper()
    cases = tuple([_case(c, case) for case in node.cases])
    c.depth -= 1
    return tree.Match(at, subject, cases)


def _case(c: Cursor, node: ast.match_case) -> tree.Case:
    """The pattern is passed by its brackets: it can hold no colon and no ``if`` outside of them."""
    first = c.at
    c.expect("case")
    c.skip_to(":", "if")
    guard = None
    if node.guard is not None:
        c.expect("if")
        guard = expression(c, node.guard)
    at = _header(c, first)
    return tree.Case(at, bound_names(node.pattern), guard, block(c, node.body))


def _decorators(c: Cursor, nodes: list[ast.expr]) -> tuple[tree.Expr, ...]:
    decorators = []
    for node in nodes:
        first = c.at
        c.expect("@")
        decorators.append(expression(c, node))
        note_range(c, c.span(first))
    return tuple(decorators)


def _function(c: Cursor, node: ast.FunctionDef | ast.AsyncFunctionDef) -> tree.Stmt:
    decorators = _decorators(c, node.decorator_list)
    first = c.at
    c.passes("async")
    c.expect("def")
    c.name(node.name)
    c.skip_to("(")  # over the type parameters
    c.expect("(")
    params = parameters(c, node.args)
    c.expect(")")
    returns = None
    if node.returns is not None:
        c.expect("->")
        returns = expression(c, node.returns)
    at = _header(c, first)
    body = block(c, node.body)
    return tree.FunctionDef(at, node.name, params, body, decorators, returns, c.spans[c.at - 1][2])


def _class(c: Cursor, node: ast.ClassDef) -> tree.Stmt:
    decorators = _decorators(c, node.decorator_list)
    first = c.at
    c.expect("class")
    c.name(node.name)
    c.skip_to("(", ":")
    bases: tuple[tree.Expr, ...] = ()
    keywords: tuple[tree.Keyword, ...] = ()
    if c.passes("("):
        bases, keywords = arguments(c, node.bases, node.keywords)
        c.expect(")")
    at = _header(c, first)
    body = block(c, node.body)
    return tree.ClassDef(at, node.name, bases, keywords, body, decorators, c.spans[c.at - 1][2])


COMPOUND |= by_kind(
    {
        "If": _if,
        "For": _for,
        "AsyncFor": _for,
        "While": _while,
        "With": _with,
        "AsyncWith": _with,
        "Try": _try,
        "TryStar": _try,
        "Match": _match,
        "FunctionDef": _function,
        "AsyncFunctionDef": _function,
        "ClassDef": _class,
    }
)
