"""Monstrous syntax is refused without harm to the process, and big but flat files are read."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pytest
from dl_lint.engine.reading import Reading
from dl_lint.source.file import Source
from dl_lint.source.nesting import MAX_DEPTH
from dl_lint.source.parser import Syntax, parse
from dl_lint.source.text import SourceError

if TYPE_CHECKING:
    from collections.abc import Callable

MONSTERS: dict[str, Callable[[int], str]] = {
    "parentheses": lambda n: "(" * n + "a" + ")" * n,
    "lists": lambda n: "[" * n + "a" + "]" * n,
    "dicts": lambda n: "{1:" * n + "a" + "}" * n,
    "calls": lambda n: "f(" * n + "a" + ")" * n,
    "indices": lambda n: "f[" * n + "a" + "]" * n,
    "walruses": lambda n: "(a:=" * n + "b" + ")" * n,
    "stars": lambda n: "[*" * n + "a" + "]" * n,
    "yields": lambda n: "def f(): " + "(yield " * n + "a" + ")" * n,
    "generators": lambda n: "f(a for a in " * n + "b" + ")" * n,
    "sums": lambda n: "+".join(["a"] * n),
    "sums over lines": lambda n: "x = \\\n" + "+ \\\n".join(["a"] * n),
    "sums in brackets": lambda n: "x = (\n" + "+ # more\n".join(["a"] * n) + ")",
    "sums of calls": lambda n: "x = " + " + ".join(["f(a, b)"] * n),
    "powers": lambda n: "**".join(["a"] * n),
    "attributes": lambda n: "a" + ".b" * n,
    "chained calls": lambda n: "a" + ".b(\n)" * n,
    "negations": lambda n: "not " * n + "a",
    "minuses": lambda n: "x = [1, " + "-" * n + "a]",
    "conditions": lambda n: "a if b else " * n + "c",
    "lambdas": lambda n: "lambda: " * n + "c",
    "f-strings": lambda n: nested_fstring(n),
    "brackets in an f-string": lambda n: "f'{" + "(" * n + "a" + ")" * n + "}'",
    "attributes in an f-string": lambda n: "f'{a" + ".b" * n + "}'",
    "f-strings in formats": lambda n: "f'" + "{a:" * n + "}" * n + "'",
    "patterns": lambda n: "match a:\n case " + "[" * n + "1" + "]" * n + ": pass",
    "class patterns": lambda n: "match a:\n case 0: pass\n case " + "A(b=" * n + "1" + ")" * n + " if c: pass",
    "elifs": lambda n: "if a: pass\n" + "elif b: pass\n" * n,
}


def nested_fstring(levels: int) -> str:
    text = "a"
    for _ in range(levels):
        text = f'f"{{{text}}}"'
    return text


def read(text: str) -> Syntax:
    return parse(Source.of("a.py", text.encode()))


@pytest.mark.parametrize("kind", MONSTERS)
@pytest.mark.parametrize("size", [3_000, pytest.param(50_000, marks=pytest.mark.slow)])
def test_a_monster_is_refused_and_the_process_lives(kind: str, size: int) -> None:
    found = Reading({"a.py": (MONSTERS[kind](size) + "\n").encode()}, {}).of("a.py")
    if isinstance(found, Syntax):  # from Python 3.12 on, sums of any length can be read, and are halved
        assert kind.startswith("sums")
    else:
        assert found.message.startswith("not analysed: ")


@pytest.mark.parametrize(
    "text",
    [
        "x = [" + "a, " * 30_000 + "]\n",
        "x = {" + "1: 'a',\n" * 20_000 + "}\n",
        "f(" + "a=b(c), " * 10_000 + ")\n",
        "a = b\n" * 30_000,
        "a; " * 30_000 + "\n",
        "@a\n" * 5_000 + "def f(): pass\n",
        "try: a\n" + "except A: b\n" * 5_000,
        "with " + "a as b, " * 5_000 + "c: pass\n",
        "global a" + ", a" * 10_000 + "\n",
        "x = '" + "a" * 1_000_000 + "'\n",
        "x = [\n" + ("[" + "1.5, " * 30 + "],\n") * 3_000 + "]\n",
        "# " + "(" * 5_000 + "\n",
        "x = '''" + "(" * 5_000 + "'''\n",
        "x = ('''a\n'''" + "'a'\n" * 3_000 + ")\n",
        "[a " + "for x in y " * 3_000 + "]\n",
    ],
    ids=lambda text: text[:12],
)
def test_a_big_flat_file_is_read(text: str) -> None:
    assert isinstance(read(text), Syntax)


def depth(node: ast.AST) -> int:
    return 1 + max(map(depth, ast.iter_child_nodes(node)), default=0)


@pytest.mark.parametrize("operators", [60, 400, 800])
def test_a_long_chain_of_operators_is_no_deep_tree(operators: int) -> None:
    syntax = read("x = " + " + ".join(f"a{number}" for number in range(operators + 1)) + "\n")
    assert depth(syntax.module) < 20
    names = [node for node in ast.walk(syntax.module) if isinstance(node, ast.Name) and node.id != "x"]
    assert sorted(names, key=lambda name: name.col_offset) == sorted(names, key=lambda name: int(name.id[1:]))
    [stmt] = syntax.module.body
    assert isinstance(stmt, ast.Assign)
    text = ast.get_source_segment(syntax.code, stmt.value)
    assert text is not None
    assert text.count("+") == operators


def test_a_short_chain_keeps_its_shape() -> None:
    text = "a + b * c - d"
    assert ast.dump(read(text).module) == ast.dump(ast.parse(text))


def test_a_tree_that_parses_but_is_too_deep_for_its_readers_is_refused_with_its_line() -> None:
    with pytest.raises(SourceError, match="nested too deeply") as caught:
        read("a\nx = b" + ".c" * (MAX_DEPTH + 100) + "\n")
    assert caught.value.line == 2
    read("x = a" + ".b" * (MAX_DEPTH - 10) + "\n")


def test_python_s_own_limit_of_blocks_is_told() -> None:
    text = "".join(" " * level + "if a:\n" for level in range(150)) + " " * 150 + "pass\n"
    with pytest.raises(SourceError, match="nested too deeply"):
        read(text)
