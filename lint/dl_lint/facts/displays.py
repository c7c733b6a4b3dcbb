"""Lowers tuples, lists, sets and dicts, as displays and as comprehensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import libcst as cst

from dl_lint.facts import tree
from dl_lint.facts.expressions import LOWER, by_kind, expression

if TYPE_CHECKING:
    from dl_lint.facts.cursor import Cursor


def items(c: Cursor, elements: Any) -> tuple[tree.Expr, ...]:
    """The elements of a display with the commas between them."""
    lowered = []
    for element in elements:
        starred = type(element) is cst.StarredElement
        lowered.append(expression(c, element if starred else element.value))
        if type(element.comma) is cst.Comma:
            c.at += 1
    return tuple(lowered)


def _tuple(c: Cursor, node: cst.Tuple) -> tree.Expr:
    first = c.at
    elements = items(c, node.elements)
    return tree.Sequence(c.span(first) if elements else c.spans[first - 1], "tuple", elements)


def _list(c: Cursor, node: cst.List) -> tree.Expr:
    first = c.at
    c.expect("[")
    elements = items(c, node.elements)
    c.expect("]")
    return tree.Sequence(c.span(first), "list", elements)


def _set(c: Cursor, node: cst.Set) -> tree.Expr:
    first = c.at
    c.expect("{")
    elements = items(c, node.elements)
    c.expect("}")
    return tree.Sequence(c.span(first), "set", elements)


def _starred(c: Cursor, node: cst.StarredElement) -> tree.Expr:
    first = c.at
    c.expect("*")
    value = expression(c, node.value)
    return tree.Starred(c.span(first), value)


def _dict(c: Cursor, node: cst.Dict) -> tree.Expr:
    first = c.at
    c.expect("{")
    pairs: list[tuple[tree.Expr | None, tree.Expr]] = []
    for element in node.elements:
        if isinstance(element, cst.DictElement):
            key = expression(c, element.key)
            c.expect(":")
        else:
            key = None
            c.expect("**")
        pairs.append((key, expression(c, element.value)))
        if type(element.comma) is cst.Comma:
            c.at += 1
    c.expect("}")
    return tree.Mapping(c.span(first), tuple(pairs))


def _generators(c: Cursor, node: cst.CompFor | None) -> tuple[tree.Generator, ...]:
    generators = []
    while node is not None:
        first = c.at
        c.at += 1 if node.asynchronous is None else 2
        target = expression(c, node.target)
        c.expect("in")
        iterated = expression(c, node.iter)
        ifs = []
        for condition in node.ifs:
            c.expect("if")
            ifs.append(expression(c, condition.test))
        generators.append(tree.Generator(c.span(first), target, iterated, tuple(ifs)))
        node = node.inner_for_in
    return tuple(generators)


_COMPREHENSIONS: dict[type[cst.CSTNode], str] = {
    cst.ListComp: "list",
    cst.SetComp: "set",
    cst.GeneratorExp: "generator",
}


def _comprehension(c: Cursor, node: Any) -> tree.Expr:
    kind = _COMPREHENSIONS[type(node)]
    first = c.at
    if kind != "generator":
        c.at += 1
    element = expression(c, node.elt)
    generators = _generators(c, node.for_in)
    if kind != "generator":
        c.at += 1
    return tree.Comprehension(c.span(first), kind, None, element, generators)


def _dict_comprehension(c: Cursor, node: Any) -> tree.Expr:
    """``{k: v for …}``, or ``{**v for …}`` without a key (PEP 798)."""
    first = c.at
    c.expect("{")
    key = None
    if isinstance(node, cst.DictComp):
        key = expression(c, node.key)
        c.expect(":")
    else:
        c.expect("**")
    element = expression(c, node.value)
    generators = _generators(c, node.for_in)
    c.expect("}")
    return tree.Comprehension(c.span(first), "dict", key, element, generators)


LOWER |= by_kind(
    {
        "Tuple": _tuple,
        "List": _list,
        "Set": _set,
        "StarredElement": _starred,
        "Dict": _dict,
        "ListComp": _comprehension,
        "SetComp": _comprehension,
        "GeneratorExp": _comprehension,
        "DictComp": _dict_comprehension,
        "StarredDictComp": _dict_comprehension,
    }
)
