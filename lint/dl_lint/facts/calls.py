"""Lowers what calls are made of: attributes, indices, arguments, parameters, lambdas."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from dl_lint.facts import tree
from dl_lint.facts.cursor import Misaligned, normalized
from dl_lint.facts.expressions import LOWER, expression

if TYPE_CHECKING:
    from collections.abc import Callable

    from dl_lint.facts.cursor import Cursor


def _postfix(c: Cursor, node: Any) -> tree.Expr:
    """``a.b(c)[d].e``: down to the first value without recursion, then up again."""
    first, base = c.at, c.depth
    spine = [node]
    inner: Any = node.func if type(node) is ast.Call else node.value
    while (step := type(inner)) in _STEPS and c.is_bare(inner, node):
        spine.append(inner)
        inner = inner.func if step is ast.Call else inner.value
    c.deeper(len(spine) - 1)
    lowered = expression(c, inner)
    for step_node in reversed(spine):
        lowered = _STEPS[type(step_node)](c, step_node, lowered, first)
        c.depth -= 1
    c.depth = base
    return lowered


def _attribute(c: Cursor, node: ast.Attribute, value: tree.Expr, first: int) -> tree.Expr:
    text = c.texts[c.at + 1]
    if text != node.attr and normalized(text) != node.attr:
        raise Misaligned
    c.at += 2
    return tree.Attribute(c.span(first), value, node.attr)


def _subscript(c: Cursor, node: ast.Subscript, value: tree.Expr, first: int) -> tree.Expr:
    c.expect("[")
    index = expression(c, node.slice)
    c.expect("]")
    return tree.Subscript(c.span(first), value, index)


def _slice(c: Cursor, node: ast.Slice) -> tree.Expr:
    first = c.at
    lower = expression(c, node.lower) if node.lower else None
    c.expect(":")
    upper = expression(c, node.upper) if node.upper else None
    c.passes(":")
    step = expression(c, node.step) if node.step else None
    return tree.Slice(c.span(first), lower, upper, step)


def _call(c: Cursor, node: ast.Call, func: tree.Expr, first: int) -> tree.Expr:
    c.expect("(")
    args, keywords = arguments(c, node.args, node.keywords)
    c.expect(")")
    return tree.Call(c.span(first), func, args, keywords)


def arguments(
    c: Cursor, args: list[ast.expr], keywords: list[ast.keyword]
) -> tuple[tuple[tree.Expr, ...], tuple[tree.Keyword, ...]]:
    """Arguments of a call or a class. Behind a keyword, only starred ones can come without a name."""
    lowered: list[tree.Expr] = []
    named: list[tree.Keyword] = []
    for arg in args:
        while type(arg) is ast.Starred and c.texts[c.at] != "*":
            named.append(_keyword(c, keywords[len(named)]))
        lowered.append(expression(c, arg))
        c.passes(",")
    named += [_keyword(c, keyword) for keyword in keywords[len(named) :]]
    return tuple(lowered), tuple(named)


def _keyword(c: Cursor, node: ast.keyword) -> tree.Keyword:
    first = c.at
    if node.arg is None:
        c.expect("**")
    else:
        c.name(node.arg)
        c.expect("=")
    value = expression(c, node.value)
    lowered = tree.Keyword(c.span(first), node.arg, value)
    c.passes(",")
    return lowered


_STEPS: dict[type[ast.expr], Callable[[Cursor, Any, tree.Expr, int], tree.Expr]] = {
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Call: _call,
}


# --- parameters ------------------------------------------------------------------------


def parameters(c: Cursor, node: ast.arguments) -> tuple[tree.Param, ...]:
    """The parameters of a function or lambda, with the marks and commas between them."""
    positional = len(node.posonlyargs)
    plain = [*node.posonlyargs, *node.args]
    defaults = [*[None] * (len(plain) - len(node.defaults)), *node.defaults]
    lowered = []
    for number, (arg, default) in enumerate(zip(plain, defaults, strict=True), start=1):
        lowered.append(_parameter(c, arg, "positional" if number <= positional else "plain", default))
        if number == positional:
            c.expect("/")
            c.passes(",")
    if node.vararg is not None:
        c.expect("*")
        lowered.append(_parameter(c, node.vararg, "args"))
    elif node.kwonlyargs:
        c.expect("*")
        c.expect(",")
    for arg, default in zip(node.kwonlyargs, node.kw_defaults, strict=True):
        lowered.append(_parameter(c, arg, "keyword", default))
    if node.kwarg is not None:
        c.expect("**")
        lowered.append(_parameter(c, node.kwarg, "kwargs"))
    return tuple(lowered)


def _parameter(c: Cursor, node: ast.arg, kind: str, default: ast.expr | None = None) -> tree.Param:
    """Of ``*args`` the star was passed before."""
    first = c.at - (kind in ("args", "kwargs"))
    c.name(node.arg)
    annotation = value = None
    if node.annotation is not None:
        c.expect(":")
        annotation = expression(c, node.annotation)
    if default is not None:
        c.expect("=")
        value = expression(c, default)
    lowered = tree.Param(c.span(first), node.arg, kind, value, annotation)
    c.passes(",")
    return lowered


def _lambda(c: Cursor, node: ast.Lambda) -> tree.Expr:
    first = c.at
    c.expect("lambda")
    params = parameters(c, node.args)
    c.expect(":")
    body = expression(c, node.body)
    return tree.Lambda(c.span(first), params, body)


LOWER |= {
    ast.Attribute: _postfix,
    ast.Subscript: _postfix,
    ast.Call: _postfix,
    ast.Slice: _slice,
    ast.Lambda: _lambda,
}
