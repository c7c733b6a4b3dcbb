"""Source changed with libcst: what is added is shaped as what was there, and comments stay with what they are on."""

from __future__ import annotations

import ast

import pytest
from dl_lint import rewriting
from hypothesis import given
from hypothesis import strategies as st

ADDED = [
    ("f()", "f(k=1)"),
    ("f(a)", "f(a, k=1)"),
    ("f(a,)", "f(a, k=1,)"),
    ("f(a, b )", "f(a, b, k=1 )"),
    ("f(a, b=2)", "f(a, b=2, k=1)"),
    ("f(*a)", "f(*a, k=1)"),
    ("f(a, **b)", "f(a, **b, k=1)"),
    ("f(a := 1)", "f(a := 1, k=1)"),
    ("f(lambda: a)", "f(lambda: a, k=1)"),
    ("f((a))", "f((a), k=1)"),
    ("(f(a))", "(f(a, k=1))"),
    ("f(await a)", "f(await a, k=1)"),
    ("f(a for a in b)", "f((a for a in b), k=1)"),
    ("f((a for a in b))", "f((a for a in b), k=1)"),
    ("f(g(a), h(b))", "f(g(a), h(b), k=1)"),
    ("f(g(\n    a,\n))", "f(g(\n    a,\n), k=1)"),
    ('f("""a\n\tb""")', 'f("""a\n\tb""", k=1)'),
    ("a[0].f(b)(c)", "a[0].f(b)(c, k=1)"),
    ("a\n    .f(b)\n    .g(c)", "a\n    .f(b)\n    .g(c, k=1)"),
    ("é.f('ü')", "é.f('ü', k=1)"),
    # one argument a line
    ("f(\n    a,\n    b,\n)", "f(\n    a,\n    b,\n    k=1,\n)"),
    ("f(\n    a,\n    b\n)", "f(\n    a,\n    b,\n    k=1\n)"),
    ("f(\n    a,\n    b)", "f(\n    a,\n    b,\n    k=1)"),
    ("f(\n    a\n)", "f(\n    a,\n    k=1\n)"),
    ("f(a,\n  b)", "f(a,\n  b,\n  k=1)"),
    ("f(a,\n  b,)", "f(a,\n  b,\n  k=1,)"),
    ("f(\n\t\ta,\n\t\tb,\n\t)", "f(\n\t\ta,\n\t\tb,\n\t\tk=1,\n\t)"),
    ("f(\n    *a,\n    **b,\n)", "f(\n    *a,\n    **b,\n    k=1,\n)"),
    ("f(\n    a,\n    b,  # why\n)", "f(\n    a,\n    b,  # why\n    k=1,\n)"),
    ("f(\n    a,\n    b  # why\n)", "f(\n    a,\n    b,  # why\n    k=1\n)"),
    ("f(\n    a,  # this\n    # that\n    b)", "f(\n    a,  # this\n    # that\n    b,\n    k=1)"),
    ("f(\n    a,\n    b,\n    # c,\n)", "f(\n    a,\n    b,\n    k=1,\n    # c,\n)"),
    ("f(\n    a,\n\n    b,\n)", "f(\n    a,\n\n    b,\n    k=1,\n)"),
    # several
    ("f(\n    a, b,\n)", "f(\n    a, b, k=1,\n)"),
    ("f(a, b,\n  c)", "f(a, b,\n  c, k=1)"),
    ("f(a, b,  # why\n)", "f(a, b, k=1,  # why\n)"),
    ("f(a\n  )", "f(a, k=1\n  )"),
    ("f(  # why\n)", "f(  # why\nk=1)"),
]


@pytest.mark.parametrize(("before", "after"), ADDED)
def test_an_argument_is_added_behind_the_last(before: str, after: str) -> None:
    assert rewriting.with_argument(before, "k=1") == after
    ast.parse(f"({after})")


@pytest.mark.parametrize(
    "text", ["a", "a[0]", "(a, b)", "class A(b)", "f(", "f(a) + 1", "", "f'{f(a)}'", f"f({'-' * 900}a)"]
)
def test_what_is_no_call_takes_no_argument(text: str) -> None:
    assert rewriting.with_argument(text, "k=1") is None
    assert rewriting.without_argument(text, "k") is None


REMOVED = [
    ("f(k=1)", "f()"),
    ("f(k=1,)", "f()"),
    ("f(\n    k=1,\n)", "f()"),
    ("f(\n    k=1\n)", "f()"),
    ("f(k=1\n)", "f()"),
    ("f(a, k=1)", "f(a)"),
    ("f(a, k=1,)", "f(a,)"),
    ("f(a, k=1 )", "f(a )"),
    ("f(k=1, b=2)", "f(b=2)"),
    ("f(a, k=1, b=2)", "f(a, b=2)"),
    ("f(a, k=1, **b)", "f(a, **b)"),
    ("f((a for a in b), k=1)", "f((a for a in b))"),
    # one argument a line
    ("f(\n    a,\n    k=1,\n    b=2,\n)", "f(\n    a,\n    b=2,\n)"),
    ("f(\n    k=1,\n    b=2,\n)", "f(\n    b=2,\n)"),
    ("f(\n    a,\n    k=1,\n)", "f(\n    a,\n)"),
    ("f(\n    a,\n    k=1\n)", "f(\n    a\n)"),
    ("f(a,\n  k=1,\n  b=2)", "f(a,\n  b=2)"),
    ("f(a,\n  k=1)", "f(a)"),
    ("f(k=1,\n  b=2)", "f(b=2)"),
    # comments: that on the argument goes, all others stay
    ("f(\n    a,  # this\n    k=1,  # that\n    b=2,\n)", "f(\n    a,  # this\n    b=2,\n)"),
    ("f(\n    a,  # this\n    k=1,  # that\n)", "f(\n    a,  # this\n)"),
    ("f(\n    a,  # this\n    k=1  # that\n)", "f(\n    a  # this\n)"),
    ("f(\n    a,\n    # this\n    k=1,\n    # that\n    b=2,\n)", "f(\n    a,\n    # this\n    # that\n    b=2,\n)"),
    ("f(a,  # this\n  k=1)", "f(a  # this\n  )"),
    ("f(  # this\n    k=1,\n)", "f(  # this\n)"),
    ("f(k=1,  # this\n  b=2)", "f(  # this\n  b=2)"),
    # several
    ("f(\n    a, k=1,\n    b=2,\n)", "f(\n    a,\n    b=2,\n)"),
    ("f(\n    a,\n    k=1, b=2,\n)", "f(\n    a,\n    b=2,\n)"),
    ("f(\n    k=1, b=2,\n)", "f(\n    b=2,\n)"),
    ("f(a, k=1,  # this\n  b=2)", "f(a,  # this\n  b=2)"),
]


@pytest.mark.parametrize(("before", "after"), REMOVED)
def test_an_argument_is_taken_out_with_its_comma(before: str, after: str) -> None:
    assert rewriting.without_argument(before, "k") == after
    ast.parse(f"({after})")


def test_an_argument_that_is_not_there_is_not_taken_out() -> None:
    assert rewriting.without_argument("f(k, **k)", "k") is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a", "a % 2"),
        ("a.b[0](c)", "a.b[0](c) % 2"),
        ("await a", "await a % 2"),
        ("3", "3 % 2"),
        ("a + b", "(a + b) % 2"),
        ("(a + b)", "(a + b) % 2"),
        ("(a) + (b)", "((a) + (b)) % 2"),
        ("-a", "(-a) % 2"),
        ("a if b else c", "(a if b else c) % 2"),
        ("a or\n b", "(a or\n b) % 2"),
    ],
)
def test_an_operator_takes_the_whole_expression(before: str, after: str) -> None:
    assert rewriting.with_operator(before, "% 2") == after


@pytest.mark.parametrize(
    ("opening", "indentation", "after"),
    [
        ("for a in b:\n    ", "", "for a in b:\n    if c:\n        d()\n    "),
        ("for a in b:\n  ", "", "for a in b:\n  if c:\n    d()\n  "),
        ("for a in b:\n\t", "", "for a in b:\n\tif c:\n\t\td()\n\t"),
        ("for a in b:\n        ", "    ", "for a in b:\n        if c:\n            d()\n        "),
        ("for a in b:\n    ", "  ", "for a in b:\n    if c:\n      d()\n    "),
        ("for a in b:\n\t\t", "\t", "for a in b:\n\t\tif c:\n\t\t\td()\n\t\t"),
        ("for a in b(\n    c,\n):  # d\n    # e\n\n    ", "",
         "for a in b(\n    c,\n):  # d\n    if c:\n        d()\n    # e\n\n    "),
        ("for a in b:\n# e\n    ", "", "for a in b:\n    if c:\n        d()\n# e\n    "),
        ("for a in b: ", "", "for a in b:\n    if c:\n        d()\n    "),
        ("for a in b: ", "\t", "for a in b:\n\t\tif c:\n\t\t\td()\n\t\t"),
        ("async for a in b:\n    ", "", "async for a in b:\n    if c:\n        d()\n    "),
    ],
)  # fmt: skip
def test_a_loop_gets_another_first_statement(opening: str, indentation: str, after: str) -> None:
    assert rewriting.with_first_statement(opening, indentation, "if c:\n    d()") == after


@pytest.mark.parametrize("opening", ["for a in b:\n    @c\n    ", "if a:\n    ", "for a in", ""])
def test_what_is_no_opening_of_a_loop_gets_no_statement(opening: str) -> None:
    assert rewriting.with_first_statement(opening, "", "d()") is None


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("f(a)", "f(a, k=1)", (3, 3, ", k=1")),
        ("f(a, k=1)", "f(a)", (3, 8, "")),
        ("f(k_1=1, k=1)", "f(k=1)", (2, 9, "")),
        ("f(\n    a,\n)", "f(\n    a,\n    k=1,\n)", (10, 10, "    k=1,\n")),
        ("a", "b", (0, 1, "b")),
        ("a", "a", (1, 1, "")),
    ],
)
def test_a_difference_is_small_and_cuts_no_word(before: str, after: str, expected: tuple[int, int, str]) -> None:
    assert rewriting.difference(before, after) == expected


@given(st.text("ab, (\n"), st.text("ab, (\n"))
def test_a_difference_makes_the_one_of_the_other(before: str, after: str) -> None:
    start, stop, text = rewriting.difference(before, after)
    assert before[:start] + text + before[stop:] == after
