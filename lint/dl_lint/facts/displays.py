"""Lowers tuples, lists, sets and dicts, as displays and as comprehensions."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from dl_lint.facts import tree
from dl_lint.facts.expressions import LOWER, expression

if TYPE_CHECKING:
    from dl_lint.facts.cursor import Cursor


def _items(c: Cursor, elements: list[ast.expr]) -> tuple[tree.Expr, ...]:
    """The elements of a display with the commas between them."""
    lowered = []
    for element in elements:
        lowered.append(expression(c, element))
        c.passes(",")
    return tuple(lowered)


def _tuple(c: Cursor, node: ast.Tuple) -> tree.Expr:
    first = c.at
    if c.texts[first] == "(" and c.encloses(node):
        c.at += 1
        elements = _items(c, node.elts)
        c.expect(")")
    else:
        elements = _items(c, node.elts)
    return tree.Sequence(c.span(first), "tuple", elements)


def _list(c: Cursor, node: ast.List) -> tree.Expr:
    first = c.at
    c.expect("[")
    elements = _items(c, node.elts)
    c.expect("]")
    return tree.Sequence(c.span(first), "list", elements)


def _set(c: Cursor, node: ast.Set) -> tree.Expr:
    first = c.at
    c.expect("{")
    elements = _items(c, node.elts)
    c.expect("}")
    return tree.Sequence(c.span(first), "set", elements)


def _starred(c: Cursor, node: ast.Starred) -> tree.Expr:
    first = c.at
    c.expect("*")
    value = expression(c, node.value)
    return tree.Starred(c.span(first), value)


def _dict(c: Cursor, node: ast.Dict) -> tree.Expr:
    first = c.at
    c.expect("{")
    pairs: list[tuple[tree.Expr | None, tree.Expr]] = []
    for key, value in zip(node.keys, node.values, strict=True):
        lowered = None
        if key is None:
            c.expect("**")
        else:
            lowered = expression(c, key)
            c.expect(":")
        pairs.append((lowered, expression(c, value)))
        c.passes(",")
    c.expect("}")
    return tree.Mapping(c.span(first), tuple(pairs))


def _generators(c: Cursor, nodes: list[ast.comprehension]) -> tuple[tree.Generator, ...]:
    generators = []
    for node in nodes:
        first = c.at
        if node.is_async:
            c.expect("async")
        c.expect("for")
        target = expression(c, node.target)
        c.expect("in")
        iterated = expression(c, node.iter)
        ifs = []
        for condition in node.ifs:
            c.expect("if")
            ifs.append(expression(c, condition))
        generators.append(tree.Generator(c.span(first), target, iterated, tuple(ifs)))
    return tuple(generators)


def _comprehension(c: Cursor, node: Any, kind: str, opening: str, closing: str) -> tree.Expr:
    first = c.at
    if opening:
        c.expect(opening)
    element = expression(c, node.elt)
    generators = _generators(c, node.generators)
    if closing:
        c.expect(closing)
    return tree.Comprehension(c.span(first), kind, None, element, generators)


def _list_comprehension(c: Cursor, node: ast.ListComp) -> tree.Expr:
    return _comprehension(c, node, "list", "[", "]")


def _set_comprehension(c: Cursor, node: ast.SetComp) -> tree.Expr:
    return _comprehension(c, node, "set", "{", "}")


def _generator(c: Cursor, node: ast.GeneratorExp) -> tree.Expr:
    """As the only argument of a call, it has no brackets of its own."""
    if c.texts[c.at] == "(" and c.encloses(node):
        return _comprehension(c, node, "generator", "(", ")")
    return _comprehension(c, node, "generator", "", "")


def _dict_comprehension(c: Cursor, node: Any) -> tree.Expr:
    """``{k: v for …}``, or ``{**v for …}`` without a key (PEP 798)."""
    first = c.at
    c.expect("{")
    key, value = node.key, node.value
    lowered = None
    if key is None or value is None:
        c.expect("**")
    else:
        lowered = expression(c, key)
        c.expect(":")
    element = expression(c, key if value is None else value)
    generators = _generators(c, node.generators)
    c.expect("}")
    return tree.Comprehension(c.span(first), "dict", lowered, element, generators)


LOWER |= {
    ast.Tuple: _tuple,
    ast.List: _list,
    ast.Set: _set,
    ast.Starred: _starred,
    ast.Dict: _dict,
    ast.ListComp: _list_comprehension,
    ast.SetComp: _set_comprehension,
    ast.GeneratorExp: _generator,
    ast.DictComp: _dict_comprehension,
}
