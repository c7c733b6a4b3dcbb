"""Lowers what calls are made of: attributes, indices, arguments, parameters, lambdas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import libcst as cst

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
    inner: Any = node.func if type(node) is cst.Call else node.value
    while (step := type(inner)) in _STEPS and not inner.lpar:
        spine.append(inner)
        inner = inner.func if step is cst.Call else inner.value
    c.deeper(len(spine) - 1)
    lowered = expression(c, inner)
    for step_node in reversed(spine):
        lowered = _STEPS[type(step_node)](c, step_node, lowered, first)
        c.depth -= 1
    c.depth = base
    return lowered


def _attribute(c: Cursor, node: cst.Attribute, value: tree.Expr, first: int) -> tree.Expr:
    attr = node.attr.value
    if c.texts[c.at + 1] != attr:
        raise Misaligned
    c.at += 2
    return tree.Attribute(c.span(first), value, normalized(attr))


def _subscript(c: Cursor, node: cst.Subscript, value: tree.Expr, first: int) -> tree.Expr:
    c.at += 1
    start = c.at
    items = []
    for element in node.slice:
        items.append(_index(c, element.slice))
        if type(element.comma) is cst.Comma:
            c.at += 1
    alone = len(items) == 1 and type(items[0]) is not tree.Starred and type(node.slice[0].comma) is not cst.Comma
    index = items[0] if alone else tree.Sequence(c.span(start), "tuple", tuple(items))
    c.expect("]")
    return tree.Subscript(c.span(first), value, index)


def _index(c: Cursor, node: Any) -> tree.Expr:
    first = c.at
    if type(node) is cst.Index:
        if not node.star:
            return expression(c, node.value)
        c.at += 1
        value = expression(c, node.value)
        return tree.Starred(c.span(first), value)
    lower = expression(c, node.lower) if node.lower else None
    c.expect(":")
    upper = expression(c, node.upper) if node.upper else None
    if type(node.second_colon) is cst.Colon:
        c.at += 1
    step = expression(c, node.step) if node.step else None
    return tree.Slice(c.span(first), lower, upper, step)


def _call(c: Cursor, node: cst.Call, func: tree.Expr, first: int) -> tree.Expr:
    c.expect("(")
    args, keywords = arguments(c, node.args)
    c.expect(")")
    return tree.Call(c.span(first), func, args, keywords)


def arguments(c: Cursor, nodes: Any) -> tuple[tuple[tree.Expr, ...], tuple[tree.Keyword, ...]]:
    """Arguments of a call or a class."""
    args: list[tree.Expr] = []
    keywords: list[tree.Keyword] = []
    for arg in nodes:
        first = c.at
        if arg.keyword is not None:
            name = c.name(arg.keyword.value)
            c.expect("=")
            value = expression(c, arg.value)
            keywords.append(tree.Keyword(c.span(first), name, value))
        elif not arg.star:
            args.append(expression(c, arg.value))
        else:
            c.at += 1
            value = expression(c, arg.value)
            if arg.star == "*":
                args.append(tree.Starred(c.span(first), value))
            else:
                keywords.append(tree.Keyword(c.span(first), None, value))
        if type(arg.comma) is cst.Comma:
            c.at += 1
    return tuple(args), tuple(keywords)


_STEPS: dict[type[cst.CSTNode], Callable[[Cursor, Any, tree.Expr, int], tree.Expr]] = {
    cst.Attribute: _attribute,
    cst.Subscript: _subscript,
    cst.Call: _call,
}


# --- parameters ------------------------------------------------------------------------


def parameters(c: Cursor, node: cst.Parameters) -> tuple[tree.Param, ...]:
    """The parameters of a function or lambda, with the marks and commas between them."""
    lowered = [_parameter(c, param, "positional") for param in node.posonly_params]
    if lowered:
        c.expect("/")
        c.passes(",")
    lowered += [_parameter(c, param, "plain") for param in node.params]
    if isinstance(node.star_arg, cst.ParamStar):
        c.expect("*")
        c.expect(",")
    elif isinstance(node.star_arg, cst.Param):
        lowered.append(_parameter(c, node.star_arg, "args"))
    lowered += [_parameter(c, param, "keyword") for param in node.kwonly_params]
    if node.star_kwarg is not None:
        lowered.append(_parameter(c, node.star_kwarg, "kwargs"))
    return tuple(lowered)


def _parameter(c: Cursor, node: cst.Param, kind: str) -> tree.Param:
    first = c.at
    if kind in ("args", "kwargs"):
        c.at += 1
    name = c.name(node.name.value)
    annotation = default = None
    if node.annotation is not None:
        c.expect(":")
        annotation = expression(c, node.annotation.annotation)
    if node.default is not None:
        c.expect("=")
        default = expression(c, node.default)
    lowered = tree.Param(c.span(first), name, kind, default, annotation)
    if type(node.comma) is cst.Comma:
        c.at += 1
    return lowered


def _lambda(c: Cursor, node: cst.Lambda) -> tree.Expr:
    first = c.at
    c.expect("lambda")
    params = parameters(c, node.params)
    c.expect(":")
    body = expression(c, node.body)
    return tree.Lambda(c.span(first), params, body)


LOWER |= {cst.Attribute: _postfix, cst.Subscript: _postfix, cst.Call: _postfix, cst.Lambda: _lambda}
