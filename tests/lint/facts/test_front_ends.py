"""Python's parser and libcst's are lowered to the same tree, so that nobody can tell which one read a file."""

from __future__ import annotations

import ast
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesmith
import pytest
from dl_lint.facts import lower, native, read
from dl_lint.facts.cursor import TooDeep
from dl_lint.facts.lex import lex
from dl_lint.facts.native import NativeCursor
from dl_lint.source import Source, SourceError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Callable

TESTS = Path(__file__).parents[2]

ODD = """
with (a): pass
with (a, b): pass
with (a, b,): pass
with ((a, b)): pass
with (a, b) as c: pass
with (a, b).c: pass
with (a), (b): pass
with (a) as b, (c) as d: pass
with (a as b, (c) as d): pass
with (a := b): pass
with ((a := b)): pass
with ((yield)): pass
with (yield), a: pass
with (yield a), b: pass
with (x for x in y): pass
with (*a, b): pass
with (a)[0], b: pass
with a, (b, c): pass
async def f():
    async with (a as b, c): pass
x = (1), (2)
x = (1), 2
x = ((1), (2))
x = (((1)), ((2)),)
x = (), ((),)
x = ((a), *(b))
x = ((((a))))
x = (a).b, (a.b).c(), ((a).b)[c], (a, b)[0], (a for a in b).c, [a][0], {a: b}[c]
x = f((a)), f((a), (b)), f(((a))), f((a, b)), f((a), b)
x = f(a for a in b), f((a) for a in b), f((a for a in b)), f(((a) for a in b)), f((a for a in b),)
x = f(a, *b, c=1, *d, **e, g=2), f(*a, **b), f(**a, b=1), f(a=1, *b), f(*(a), b)
x = y[1, 2], y[(1, 2)], y[(1), (2)], y[1:2, 3], y[*a], y[*a, b], y[a,], y[::], y[:, (a):(b)], y[(a for a in b)]
x = a < b <= c != d is not e not in f in g is h == i
x = not a or not (b and c) and (d or e) or f, (a or b) or c, a or (b or c)
x = (a + b) + c, a + (b + c), (a) + b, -(-a) ** -b, ~a @ b // c % d << e >> f & g | h ^ i, ((a) + (b)) * c
x = a if b else c if d else e, (a if b else c) if d else e
x = lambda: a, lambda a, b=(1), /, *c, d, e=(2), **f: (a), lambda *, a: a, lambda *a: (yield), lambda: (a, b)
x = [a for (a) in (b) if (c) if d for e, f in g], {a for a in b}, {a: b for a, b in c}, [(a, b) for a in b]
x = [*a, *(b)], {*a, b}, {**a, 'b': c, **(d)}, {}, [], {(a): (b)}
x = (yield), (await a), (yield (a)), (yield a, b), (yield from (a))
x = y = (z) = (a, b) = c,
x.y: int
x[0]: (a, b) = (a, b)
x += (1,)
x **= yield
del a, b
del (a, b)
del (a, b),
del (a), b
del (a)
del [a, b]
del (a), (b)
del (a), (b),
del ((a, b)), c
a; b; (c); 'd'; "e";
a; \\
b
a; b; \\
\\
c
a; # \\
b
'a'
'b' 'c'
('d')
'e' ; 'f'
("g"
 'h'), 'i'
'j' \\
'k'
f'{a}' 'l'
'm'
x = 'a' f'{b}{c:{d}}' "e" rf'{f!r:>{g}}' 'h' f'{i=}', f'' f"", f'{{}}' f'{a}', rf'\\N{a}' f'\\N{BULLET}{b}'
x = f'{(a)}', f'{a, b}', f'{(a, b)}', f'{(a for a in b)}', f'{lambda_(c=1, *d)}', f'{a[1, 2]}'
x = f'{a.b(c)[d]}', f'{"a" "b"}'
x = f'''
{a
 + b} {c}
''' 'd'
x = b'a' b"b", u'a', 'é' "ü" 'ß', ('é'
'ü'); é = naïve.ça(ü='é', *ß), (ö), ('ä', (ë))
x = 1_0, 0xF, 1., .5e3, 2j, 1_0.5J, ..., None, True, (False), 1if a else 2
if a: b; c
elif d: e
else:
    if f: g
    else: h
if a: pass
else: pass
for (a, b), *c in d, e: pass
else: pass
for a, in (b): pass
async def f():
    async for a in b: pass
    return [a async for a in b], await (c)
while (a): pass
else: pass
try: a
except (B, C) as d: e
except: f
else: g
finally: h
try: a
except* (B): c
@a
@(b)
@c(d)[e]
class A((B), *c, metaclass=(d), **e): 'f'
class A: pass
class A(): pass
def f(a, /, b: (c) = (1), *d: *e, g: h, i=2, **j: k) -> (l): return
def f(*, a): return (a)
def f(a, b,): return a,
raise
raise a from (b)
assert a, (b)
assert (a, b)
global x, y
import a.b . c as d, e
from . import a
from ... .b import (c as d, e,)
from a import *
match (a), b:
    case [1, *c] | {'d': c, **e} if (f): pass
    case A(b, c=d) as e: pass
    case (1 | -1.5 | 'a' 'b'), (f): pass
    case None | a.b: pass
match = case = type = _ = 1
match(a)[b].c; case(d)
type(x)
print((a), file=(b))
x = a  # type: ignore
""".strip("\n")

WHOLE = {
    "nothing": "",
    "a comment": "# a",
    "no line end": "x = 'a'",
    "form feeds": "a\n\x0cb = (c)\n\x0c\nif a:\n\x0c    (b)\n",
    "form feeds within": "x\x0c=\x0c(\x0cy\x0c)\n",
    "tabs": "if a:\n\t(b); (c)\n\tif d:\n\t \t(e)\n",
    "carriage returns": "a = (b)\rif c:\r  'd'\r  'e'\r",
    "CRLF": "a = (b\r\n)\r\nc = '''\r\nd\r\n''' 'e'\r\n'f'\r\na; \\\r\n(b)\r\n",
    "mixed line ends": "a\r\nb\r(c)\nd\r",
    "byte order mark": "\ufeffa = ('é')\n",
    "beyond the BMP": "x = '🙂', ('🙂' '🙂'), (\U0001d431)\n'🙂'\n'🙂'\n",
    "other spaces": "x = '\u2028\x85' , ('\x1c')\n(y)\n",
    "NFKC": "\ufb01 = (\uff58).\uff59(\uff5a=1)\nimport \uff4f\uff53.path\ndef \uff46(\uff41): global \uff43\n",
    "decorators": "def f():\n  @a\n  class B:\n    @c\n    async def d(self): ...\n  return (B)\n",
    "semicolons at the end": "if a: b;\nelse: c;\nd;",
    "brackets over comments": "x = ( # ((\n (a) # )\n , (b))\n",
    "a long chain": "x = " + " + ".join(f"(a{n})" for n in range(120)) + "\n",
    "a chain in a chain": "x = (" + " - ".join(["a"] * 60) + ") - " + " * ".join(["b"] * 70) + "\n",
    "a long chain in an f-string": "x = f'{" + " + ".join(["a"] * 90) + "}'\n",
    "the deepest": "x = a" + ".b" * 190 + "\n",
}


@pytest.fixture(autouse=True)
def _warnings_are_errors() -> Any:
    """What Python warns of in the code of others must not come out, whatever is done with warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.parametrize("text", WHOLE.values(), ids=WHOLE)
def test_odd_files_have_one_tree(compared: Callable[[Source], str], text: str) -> None:
    assert compared(Source.of("a.py", text.encode())) == "same"


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_odd_statements_have_one_tree(compared: Callable[[Source], str], newline: str) -> None:
    assert compared(Source.of("a.py", ODD.replace("\n", newline).encode())) == "same"


def test_a_file_in_an_encoding_of_its_own_has_one_tree(compared: Callable[[Source], str]) -> None:
    assert compared(Source.of("a.py", "# coding: latin-1\nx = 'é' 'ü', (y)\n'é'\n".encode("latin-1"))) == "same"


@pytest.mark.slow
def test_the_cases_of_all_rules_have_one_tree(compared: Callable[[Source], str]) -> None:
    paths = sorted((TESTS / "lint" / "cases").rglob("*.py"))
    found = {str(path): compared(Source.read(str(path))) for path in paths}
    assert len(found) > 60
    assert {path: said for path, said in found.items() if said != "same"} == {}


# Deferred: reading the grammar takes a second and a half.
GENERATED = st.one_of(st.deferred(hypothesmith.from_grammar), st.deferred(hypothesmith.from_node))


@pytest.mark.slow
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(GENERATED)
def test_generated_modules_have_one_tree(compared: Callable[[Source], str], text: str) -> None:
    try:
        data = text.encode()
        source = Source.of("a.py", data)
    except (SourceError, UnicodeEncodeError):
        return
    assert compared(source) in ("same", "neither", "refused", "libcst only", "python only")


@pytest.mark.parametrize(
    ("text", "known_since"),
    [
        ("type A[T] = dict[T, (int)]\n", (3, 12)),
        ("def f[T: (int, str), *Ts, **P](a: T) -> T: return (a)\nclass A[T](B): pass\n", (3, 12)),
        ("x = f'{a['b']}' f\"{c[\"d\"]}\"\n", (3, 12)),
        ("x = f'{\n(a) # b\n}'\n", (3, 12)),
        ("try: a\nexcept B, C: (d)\n", (3, 14)),
        ("x = t'{(a)}'\n", (3, 14)),
    ],
)
def test_newer_syntax_has_one_tree_where_python_knows_it(
    compared: Callable[[Source], str], text: str, known_since: tuple[int, int]
) -> None:
    said = compared(Source.of("a.py", text.encode()))
    assert said in (("same",) if sys.version_info >= known_since else ("libcst only", "neither"))


def test_what_libcst_wrongly_refuses_is_read(compared: Callable[[Source], str]) -> None:
    assert compared(Source.of("a.py", b"(x): (int) = (1)\n")) == "python only"


def test_what_libcst_breaks_down_on_is_refused() -> None:
    with pytest.raises(SourceError, match=r"libcst broke down on it|syntax error"):
        lower.by_libcst(Source.of("a.py", b"x = t'a' t'b'\n"), lex("x = t'a' t'b'\n"))


def test_a_tree_is_refused_at_the_same_depth_whoever_parsed_it() -> None:
    """A name is a node too, wherever it comes from."""
    for levels in range(195, 204):
        source = Source.of("a.py", b"x = a" + b".b" * levels + b"\n")
        tokens = lex(source.code)
        refused = []
        for front_end in (lower.by_python, lower.by_libcst):
            try:
                refused.append(front_end(source, tokens) is None)
            except TooDeep:
                refused.append(True)
        assert refused == [levels > 198] * 2


def test_a_difference_would_be_seen(compared: Callable[[Source], str], monkeypatch: pytest.MonkeyPatch) -> None:
    source = Source.of("a.py", b"x = ((a), (b))\nwith (c): pass\n")
    monkeypatch.setattr(NativeCursor, "has_brackets", lambda _self, _node: False)
    assert compared(source) == "DIFFERENT"
    monkeypatch.setattr(NativeCursor, "encloses", lambda _self, _node: False)
    assert compared(source) == "LOST"


def test_what_our_walk_does_not_fit_is_read_by_libcst(monkeypatch: pytest.MonkeyPatch) -> None:
    source = Source.of("a.py", b"x = ((a), (b))\n")
    expected = repr(read(source))
    monkeypatch.setattr(NativeCursor, "encloses", lambda _self, _node: False)
    assert repr(read(source)) == expected


@pytest.mark.parametrize("error", [SyntaxError, ValueError, RecursionError, MemoryError])
def test_what_python_cannot_parse_is_read_by_libcst(monkeypatch: pytest.MonkeyPatch, error: type[Exception]) -> None:
    source = Source.of("a.py", b"x = ((a), (b))\n")
    expected = repr(read(source))

    def fails(*_arguments: Any, **_keywords: Any) -> Any:
        raise error

    monkeypatch.setattr(native.ast, "parse", fails)  # type: ignore[attr-defined]
    assert repr(read(source)) == expected


@pytest.mark.parametrize("text", ["x = '\\d'\n", "x = b'\\d'\n", "x = '\\777'\n", "x = [0if y else 1]\n"])
def test_warnings_about_the_code_that_is_read_are_not_ours_to_say(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SyntaxError):  # what the parser makes of a warning where warnings are errors
        ast.parse(text)
    assert read(Source.of("a.py", text.encode())).body
    assert capsys.readouterr() == ("", "")
