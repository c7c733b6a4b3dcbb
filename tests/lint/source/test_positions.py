"""What a finding about a node points at."""

from __future__ import annotations

import ast

import pytest
from dl_lint.source.file import Source
from dl_lint.source.parser import Syntax, parse


def read(text: str) -> Syntax:
    return parse(Source.of("a.py", text.encode()))


def shown(text: str, kind: type[ast.AST]) -> list[str]:
    """What the places of all nodes of a kind hold."""
    syntax = read(text)
    lines = text.split("\n")
    found = []
    for node in ast.walk(syntax.module):
        if isinstance(node, kind):
            line, column, end_line, end_column = syntax.place(node)
            rows = lines[line - 1 : end_line]
            rows[-1] = rows[-1][:end_column]
            rows[0] = rows[0][column:]
            found.append("\n".join(rows))
    return found


@pytest.mark.parametrize(
    ("text", "kind", "places"),
    [
        ("x = (a.b)(c)", ast.Call, ["(a.b)(c)"]),
        ("x = (a)", ast.Name, ["x", "a"]),
        ("x = ä.b(ö, ü)  # ß", ast.Call, ["ä.b(ö, ü)"]),
        ("ä = 'ö'; x = 1", ast.Assign, ["ä = 'ö'", "x = 1"]),
        ("if a: b", ast.If, ["if a:"]),
        ("if (a  # why: so\n    ): b\nelif c: d", ast.If, ["if (a  # why: so\n    ):", "elif c:"]),
        ("while a:\n  b\nelse: c", ast.While, ["while a:"]),
        ("async def f():\n  async for x in y: z", ast.AsyncFor, ["async for x in y:"]),
        ("with a as b, c[d:e]: f", ast.With, ["with a as b, c[d:e]:"]),
        ("with (a as b,\n      c): f", ast.With, ["with (a as b,\n      c):"]),
        ("@a\ndef f(b: int = {1: 2}, *c, d=lambda: 0) -> e[f:g]: h", ast.FunctionDef,
         ["def f(b: int = {1: 2}, *c, d=lambda: 0) -> e[f:g]:"]),
        ("def f(\n  a, /, *,\n  b): c", ast.FunctionDef, ["def f(\n  a, /, *,\n  b):"]),
        ("class A(B, c=d): e", ast.ClassDef, ["class A(B, c=d):"]),
        ("class A: e", ast.ClassDef, ["class A:"]),
        ("try: a\nexcept (B, C) as d: e\nfinally: f", ast.Try, ["try:"]),
        ("try: a\nexcept (B, C) as d: e", ast.ExceptHandler, ["except (B, C) as d:"]),
        ("match a:\n  case {'b': c} if d: e", ast.Match, ["match a:"]),
        ("x = [a for b in c if d for e in (f)]", ast.comprehension, ["for b in c if d", "for e in (f"]),
        ("x = [a\n     for\n     b in c]", ast.comprehension, ["for\n     b in c"]),
    ],
)  # fmt: skip
def test_a_place_holds(text: str, kind: type[ast.AST], places: list[str]) -> None:
    assert sorted(shown(text, kind)) == sorted(places)


def test_what_stands_in_an_fstring_stands_in_it() -> None:
    text = 'x = "é" f"{a} {b!r:{c}}"\n'
    syntax = read(text)
    for node in ast.walk(syntax.module):
        if isinstance(node, ast.Name) and node.id != "x":
            line, column, end_line, end_column = syntax.place(node)
            assert (line, end_line) == (1, 1)
            assert 4 <= column < end_column <= len(text)
