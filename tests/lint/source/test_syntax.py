"""What is read off nodes alone."""

from __future__ import annotations

import ast

import pytest
from dl_lint.source.syntax import are_alike, captures, children, fields, parameters, targets


def expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def statement(text: str) -> ast.stmt:
    return ast.parse(text).body[0]


def test_parameters_come_with_kind_and_default_in_source_order() -> None:
    function = statement("def f(a, b=1, /, c=2, *d, e, f=3, **g): pass")
    assert isinstance(function, ast.FunctionDef)
    found = [(one.name, one.kind, one.default and ast.unparse(one.default)) for one in parameters(function.args)]
    assert found == [
        ("a", "positional", None),
        ("b", "positional", "1"),
        ("c", "plain", "2"),
        ("d", "args", None),
        ("e", "keyword", None),
        ("f", "keyword", "3"),
        ("g", "kwargs", None),
    ]


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("1", ()),
        ("_", ()),
        ("a", ("a",)),
        ("[a, *b]", ("a", "b")),
        ("[*_]", ()),
        ("{'k': a, **rest}", ("a", "rest")),
        ("A(b, c=d) as e", ("b", "d", "e")),
        ("(1 | 2) as a", ("a",)),
        ("[a, 1] | [1, a]", ("a",)),
        ("(a, (b, c))", ("a", "b", "c")),
    ],
)
def test_the_names_that_a_pattern_binds(pattern: str, names: tuple[str, ...]) -> None:
    match = statement(f"match x:\n case {pattern}: pass")
    assert isinstance(match, ast.Match)
    assert captures(match.cases[0].pattern) == names


@pytest.mark.parametrize(
    ("text", "found"),
    [("a = b = 1", ["a", "b"]), ("a: int = 1", ["a"]), ("a: int", []), ("a += 1", []), ("f()", [])],
)
def test_what_a_statement_gives_a_value(text: str, found: list[str]) -> None:
    assert [ast.unparse(one) for one in targets(statement(text))] == found


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("a.b[c]", "a . b[ c ]", True),
        ("a.b", "a.c", False),
        ("f(a, b=1)", "f(a, b=1)", True),
        ("f(a, b=1)", "f(a, c=1)", False),
        ("a + b", "a - b", False),
        ("a < b", "a <= b", False),
        ("1", "1.0", False),
        ("1", "True", False),
        ("[a]", "(a,)", False),
        ("[a, b]", "[a]", False),
        ("'x' 'y'", "'xy'", True),
        ("(a)", "a", True),
    ],
)
def test_whether_two_expressions_read_the_same(one: str, other: str, alike: bool) -> None:
    assert are_alike(expression(one), expression(other)) is alike


def test_a_target_reads_as_what_is_loaded() -> None:
    [target] = targets(statement("a[b] = 1"))
    assert are_alike(target, expression("a[b]"))


def test_the_parts_of_an_expression_come_in_the_order_of_evaluation() -> None:
    parts = children(expression("{a: b, **c, d: e}"))
    assert [ast.unparse(one) for one in parts] == ["a", "b", "c", "d", "e"]


def test_the_expressions_in_an_fstring() -> None:
    assert [ast.unparse(one) for one in fields(expression("f'{a}b{c:{d}}' 'e'"))] == ["a", "c", "d"]
