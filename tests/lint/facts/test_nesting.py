"""Monstrous syntax is refused before libcst's parser can bring the process down, and big but flat files are not."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from dl_lint.facts import read
from dl_lint.facts.lex import lex
from dl_lint.facts.nesting import nested_too_deeply
from dl_lint.source import Source, SourceError

if TYPE_CHECKING:
    from collections.abc import Callable

# Reads the text from standard input; the exit status tells a refusal (3) from success (0) and from a crash (negative).
READ = """
import resource, sys
limit = int(sys.argv[1])
if limit:
    resource.setrlimit(resource.RLIMIT_STACK, (limit, limit))
from dl_lint.facts import read
from dl_lint.source import Source, SourceError
try:
    read(Source.of("a.py", sys.stdin.buffer.read()))
except SourceError as error:
    print(error)
    sys.exit(3)
"""

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
    "strings": lambda n: "x = ('''a\n'''" + "'a'\n" * n + ")",
    "conditions": lambda n: "a if b else " * n + "c",
    "lambdas": lambda n: "lambda: " * n + "c",
    "clauses": lambda n: "[a " + "for x in y " * n + "]",
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


def status_of(text: str, stack_bytes: int = 0) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-c", READ, str(stack_bytes)],
        input=text.encode(),
        capture_output=True,
        timeout=300,
        check=False,
    )
    return done.returncode, done.stdout.decode() + done.stderr.decode()


@pytest.mark.parametrize("kind", MONSTERS)
@pytest.mark.parametrize("size", [3_000, pytest.param(50_000, marks=pytest.mark.slow)])
def test_a_monster_is_refused_and_the_process_lives(kind: str, size: int) -> None:
    text = MONSTERS[kind](size) + "\n"
    with pytest.raises(SourceError) as caught:
        read(Source.of("a.py", text.encode()))
    assert caught.value.message == "not analysed: nested too deeply"
    assert caught.value.line is not None


@pytest.mark.slow
@pytest.mark.parametrize("kind", MONSTERS)
def test_what_is_just_allowed_through_fits_a_stack_of_a_quarter_of_the_usual_size(kind: str) -> None:
    largest = 1
    for size in sorted({round(10 ** (step / 10)) for step in range(5, 36)}):
        text = MONSTERS[kind](size) + "\n"
        if nested_too_deeply(text, lex(text)) is None:
            largest = size
    status, said = status_of(MONSTERS[kind](largest) + "\n", stack_bytes=2 * 2**20)
    assert status in (0, 3), said


@pytest.mark.slow
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
        "x = [\n" + "[" + "1.5, " * 30 + "],\n" * 3_000 + "]\n",
        "# " + "(" * 5_000 + "\n",
        "x = '''" + "(" * 5_000 + "'''\n",
    ],
    ids=lambda text: text[:12],
)
def test_a_big_flat_file_is_read(text: str) -> None:
    status, said = status_of(text)
    assert status == 0 or "syntax error" in said, said
    assert nested_too_deeply(text, lex(text)) is None


@pytest.mark.parametrize(
    "text",
    [
        'x = f"{d["(("]}"\n' * 200 + "a = b\n" * 2_000,
        'print(f"{x["#a"]}")\n' * 200 + "a = b\n" * 2_000,
    ],
    ids=["brackets in cut strings", "comments in cut strings"],
)
def test_brackets_in_fstrings_that_are_cut_do_not_count_against_a_file(text: str) -> None:
    assert len(read(Source.of("a.py", text.encode())).body) == 2_200


def test_the_line_is_that_of_the_monster() -> None:
    text = "a\nb = (\n" + "+ ".join(["c"] * 3_000) + ")\n"
    with pytest.raises(SourceError) as caught:
        read(Source.of("a.py", text.encode()))
    assert caught.value.line == 3


def test_python_s_own_limit_of_blocks_is_a_syntax_error() -> None:
    text = "".join(" " * level + "if a:\n" for level in range(150)) + " " * 150 + "pass\n"
    with pytest.raises(SourceError, match="indentation"):
        read(Source.of("a.py", text.encode()))


def test_a_tree_that_parses_but_is_too_deep_for_its_readers_is_refused() -> None:
    with pytest.raises(SourceError, match="nested too deeply"):
        read(Source.of("a.py", b"x = a" + b".b" * 300 + b"\n"))
    read(Source.of("a.py", b"x = a" + b".b" * 150 + b"\n"))
