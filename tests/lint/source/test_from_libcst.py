"""What libcst read, held against what ``ast.parse`` gives for the same text: fields, values and positions."""

from __future__ import annotations

import ast
import itertools
import os
import random
import re
import sys
import sysconfig
import tokenize
import warnings
import zlib
from pathlib import Path

import hypothesmith
import libcst as cst
import pytest
from dl_lint.source.from_libcst import module
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.variants import named

CASES = Path(__file__).parents[1] / "cases"
NAMES = sorted(str(path.relative_to(CASES)) for path in CASES.rglob("*.py"))
EVERYTHING = os.environ.get("LIBCST_CORPUS") == "all"
"""All 5 million lines instead of a share, which takes most of an hour."""


def dumped(tree: ast.AST) -> str:
    """Without what Python's own parser gets wrong in f-strings: positions in 3.11, empty texts in 3.12."""
    for string in [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]:
        string.values = [part for part in string.values if not isinstance(part, ast.Constant) or part.value]
        if sys.version_info < (3, 12):
            for part in itertools.islice(ast.walk(string), 1, None):
                for name in part._attributes:
                    setattr(part, name, 0)
    return ast.dump(tree, include_attributes=True, indent=1)


def parsed(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def lowered(text: str) -> ast.Module:
    return module(text, cst.parse_module(text))


def compared(text: str) -> str:
    """Which of the two can read the text and, if both can, where they first differ."""
    try:
        expected = parsed(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "not Python"
    try:
        concrete = cst.parse_module(text)
        _ = concrete.code  # its printer, which lowering needs, recurses deeper than its parser
    except (cst.ParserSyntaxError, cst.CSTLogicError, RecursionError):
        return "not for libcst"
    for ours, theirs in itertools.zip_longest(dumped(module(text, concrete)).split("\n"), dumped(expected).split("\n")):
        if ours != theirs:
            return f"{ours} instead of {theirs}"
    return "equal"


def compared_file(path: Path) -> str:
    try:
        with path.open("rb") as file:
            encoding, _ = tokenize.detect_encoding(file.readline)
        text = path.read_bytes().decode(encoding)
    except (SyntaxError, UnicodeDecodeError):
        return "not text"
    return compared(text)


# --- constructs ------------------------------------------------------------------------

TABLE = Path(__file__).with_name("constructs.txt").read_text()
CONSTRUCTS = {
    **dict(re.findall(r"^=== (.+)\n((?s:.*?))(?=^===|\Z)", TABLE, re.MULTILINE)),
    "an empty module": "",
    "no newline at the end": "a",
    "blank characters": "a\n\f\nif a:\n\tb\n\tif c:\n\t\td\n\t\f\n  \nif a:\n        b\n#\f\nclass A:\n\n\f  x = 1\n",
    "form feeds before statements": '\n\fpass#\n\f\fx = """a\n\fb"""\n\fdef f():\n\f    return x\n\f\n\fif x:\n    y\n',
    "deep indentation": "".join(f"{' ' * level}if a:\n" for level in range(20)) + " " * 20 + "b;\n",
    "a long chain": "a" + ".b(c)" * 30 + "\nx = 1" + " + 1" * 60 + "\n",
    "a long number": "9" * 400 + "\n",
}
ENDS = {"as written": "\n", "CRLF": "\r\n", "CR": "\r"}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
@pytest.mark.parametrize("name", CONSTRUCTS)
def test_a_construct_is_lowered_to_what_python_makes_of_it(name: str, end: str) -> None:
    assert compared(CONSTRUCTS[name].replace("\n", end)) == "equal"


def test_a_byte_order_mark_moves_nothing() -> None:
    assert dumped(lowered("\ufeffa = 'é'\n")) == dumped(parsed("a = 'é'\n"))


def test_what_follows_a_text_in_an_f_string_is_not_taken_for_line_ends() -> None:
    assert compared("f'{a}\\r\\n', f'\\r{a}', f'''\r\n{a}\r'''\n") == "equal"


# --- files -----------------------------------------------------------------------------


def installed(every: int = 1) -> list[Path]:
    """The standard library and what is installed. Of each ``every`` files one, the same ones on every machine."""
    roots = [Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib")]
    found = {path: path.relative_to(root) for root in roots for path in root.rglob("*.py")}
    return sorted(path for path, name in found.items() if zlib.crc32(bytes(name)) % every == 0)


def unequal(paths: list[Path]) -> dict[str, str]:
    said = {str(path): compared_file(path) for path in paths}
    assert list(said.values()).count("equal") > len(said) * 0.9
    return {path: one for path, one in said.items() if one != "equal" and not one.startswith("not ")}


@pytest.mark.parametrize("case", named(NAMES, NAMES[::8]))
def test_the_cases_of_a_rule_are_equal(case: str) -> None:
    assert compared_file(CASES / case) == "equal"


def test_a_sample_of_what_others_wrote_is_equal() -> None:
    small = [path for path in installed() if path.stat().st_size < 12_000]
    assert unequal(random.Random(1).sample(small, 30)) == {}


@pytest.mark.slow
def test_what_others_wrote_is_equal() -> None:
    """Each 40th file, a minute's worth; all of them where the environment says so."""
    assert unequal(installed(every=1 if EVERYTHING else 40)) == {}


# Deferred: reading the grammar takes a second and a half.
GENERATED = st.one_of(st.deferred(hypothesmith.from_grammar), st.deferred(hypothesmith.from_node))


@pytest.mark.slow
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(GENERATED)
def test_generated_modules_are_equal(text: str) -> None:
    assert compared(text) in ("equal", "not Python", "not for libcst")


# --- syntax that is newer than Python 3.11 ---------------------------------------------

NEWER = {
    "a type alias": ("type X = int | (str)\n", "X = int | (str)\n", (3, 12)),
    "a generic type alias": ("type X[T: int, *Ts, **P] = (T)\n", "X = (T)\n", (3, 12)),
    "a generic function": ("def f[T: (int, str), *Ts, **P](a: T) -> T: a\n", "def f(a: T) -> T: a\n", (3, 12)),
    "a generic class": ("class A[T](B): pass\nclass C[T]: pass\n", "class A(B): pass\nclass C: pass\n", (3, 12)),
    "defaults of type parameters": (
        "def f[T: a = (b), *Ts = *(c), **P = [d]](): pass\n",
        "def f(): pass\n",
        (3, 13),
    ),
    "quotes of the same kind": ("f'{a['b']}' f\"{c[\"d\"]}\"\n", "f'{a[\"b\"]}' f\"{c['d']}\"\n", (3, 12)),
    "nested f-strings": ("f'{f'{f'{a}'}'}'\n", 'f\'{f"""{f"{a}"}"""}\'\n', (3, 12)),
    "escapes in an f-string's expression": ("f'{'\\n'.join(a)}'\n", "f'''{\"\"\"\n\"\"\".join(a)}'''\n", (3, 12)),
    "comments in f-strings": ("f'{\n a # b\n}c'\n", "f'{a}c'\n", (3, 12)),
    "exceptions without parentheses": (
        "try: a\nexcept B, C: d\nexcept E, F: g\n",
        "try: a\nexcept (B, C): d\nexcept (E, F): g\n",
        (3, 14),
    ),
    "template strings": ("t'a{b!r:>{c}}{{', rt'\\d{e=}'\n", "f'a{b!r:>{c}}{{', rf'\\d{e=}'\n", (3, 14)),
    "merging comprehensions": ("{**a for a in b}\n", "{a: a for a in b}\n", (3, 15)),
    "lazy imports": ("lazy import a.b as c\nlazy from a import b\n", "import a.b as c\nfrom a import b\n", (3, 15)),
}


@pytest.mark.parametrize(("text", "older", "known_since"), NEWER.values(), ids=NEWER)
def test_newer_syntax_becomes_the_nearest_that_this_python_knows(
    text: str, older: str, known_since: tuple[int, int]
) -> None:
    try:
        found = lowered(text)
    except cst.ParserSyntaxError as error:
        pytest.skip(f"this libcst does not know it: {error}")
    if sys.version_info >= known_since:
        assert dumped(found) == dumped(parsed(text))
    else:
        assert ast.dump(found) == ast.dump(parsed(older))
        assert compile(found, "newer.py", "exec")


def segments(text: str) -> list[str | None]:
    """The text of every expression and statement, without those that are the whole of a line."""
    lines = text.splitlines()
    nodes = [node for node in ast.walk(lowered(text)) if isinstance(node, ast.expr | ast.stmt)]
    found = [ast.get_source_segment(text, node) for node in nodes]
    return [one for one in found if one not in lines]


def test_what_is_newer_stands_where_it_is_written() -> None:
    assert segments("type Xé[T] = int\n")[:2] == ["Xé", "int"]
    assert "Bé, C" in segments("try: a\nexcept Bé, C: d\n")


def test_the_parts_of_an_f_string_stand_where_they_are_written() -> None:
    assert segments("'é', f'é{ a + b !r:>{c}}d' 'e'\n") == [
        "'é'",
        "f'é{ a + b !r:>{c}}d' 'e'",
        "é",
        "{ a + b !r:>{c}}",
        "d' 'e'",
        "a + b",
        ":>{c}",
        "a",
        "b",
        ">",
        "{c}",
        "c",
    ]


@pytest.mark.parametrize("literal", ["'\\N{no such}'", "f'\\N{no such}{a}'", "'a' '\\N{no such}'"])
def test_a_literal_without_a_value_is_a_syntax_error_where_it_stands(literal: str) -> None:
    with pytest.raises(SyntaxError, match="unknown Unicode character name") as raised:
        lowered(f"a = 1\nb = é, {literal}\n")
    assert raised.value.lineno == 2
