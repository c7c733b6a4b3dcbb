"""Every kind of syntax is lowered, with exact places, whatever version of Python it needs."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from dl_lint.facts import FileFacts, read, tree
from dl_lint.facts.lex import lex
from dl_lint.source import Source, SourceError
from hypothesis import given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def facts(text: str) -> FileFacts:
    return read(Source.of("a.py", text.encode()))


def walk(body: Any) -> Iterator[tree.Node]:
    stack: list[Any] = [body]
    while stack:
        node = stack.pop()
        if isinstance(node, tuple):
            stack += reversed(node)
        elif isinstance(node, tree.Node):
            yield node
            stack += [getattr(node, name) for name in reversed(node.__match_args__)]


def stretch(text: str, at: tree.Span) -> str:
    """What stands at a span."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    first, start, last, end = at
    if first == last:
        return lines[first - 1][start:end]
    return "\n".join([lines[first - 1][start:], *lines[first : last - 1], lines[last - 1][:end]])


def only(text: str, kind: type[tree.Node]) -> list[str]:
    """What stands where the nodes of a kind are, in source order."""
    return [stretch(text, node.at) for node in walk(facts(text).body) if type(node) is kind]


# --- places that two libraries do not settle -------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind", "places"),
    [
        ("x = ((a) + (b))\n", tree.BinOp, ["((a) + (b))"]),
        ("x = ( # (\n  (a)  )\n", tree.Name, ["x", "( # (\n  (a)  )"]),
        ("x = a, b,\n", tree.Sequence, ["a, b,"]),
        ("x = ()\n", tree.Sequence, ["()"]),
        ("x = (a),\n", tree.Sequence, ["(a),"]),
        ("f(x for x in y)\n", tree.Comprehension, ["x for x in y"]),
        ("f((x for x in y), 1)\n", tree.Comprehension, ["(x for x in y)"]),
        ("f(a=1, **b, )\n", tree.Keyword, ["a=1", "**b"]),
        ("f(*a, *(b))\n", tree.Starred, ["*a", "*(b)"]),
        ("x[a:b, ::c, :, *d]\n", tree.Slice, ["a:b", "::c", ":"]),
        ("x[a,]\n", tree.Sequence, ["a,"]),
        ("lambda a, /, b=(1), *c, d=2, **e: (a)\n", tree.Param, ["a", "b=(1)", "*c", "d=2", "**e"]),
        ("def f(a: int = 1, *, b, **c: str): pass\n", tree.Param, ["a: int = 1", "b", "**c: str"]),
        ("def f(*args: *Ts): pass\n", tree.Starred, ["*Ts"]),
        (
            "[a async for (a) in b if c if d for e in f]\n",
            tree.Generator,
            ["async for (a) in b if c if d", "for e in f"],
        ),
        ("with (a as b, c): pass\n", tree.WithItem, ["a as b", "c"]),
        ("with (a): pass\n", tree.WithItem, ["a"]),
        ("with (a) as b, (c): pass\n", tree.WithItem, ["(a) as b", "(c)"]),
        ("with (yield): pass\n", tree.Yield, ["(yield)"]),
        ("if a: pass\nelif b: pass\nelse: pass\n", tree.If, ["if a:", "elif b:"]),
        ("@d(\n)\nasync def f(a,\n  b) -> c :\n  pass\n", tree.FunctionDef, ["async def f(a,\n  b) -> c :"]),
        ("@d\nclass A[T: (int, str)](B[T], m=c): pass\n", tree.ClassDef, ["class A[T: (int, str)](B[T], m=c):"]),
        ("try: a\nexcept* (B, C) as e: d\nelse: f\nfinally: g\n", tree.Handler, ["except* (B, C) as e:"]),
        (
            "match a, b:\n  case {'x': [1, *_]} if c: pass\n  case _: pass\n",
            tree.Case,
            ["case {'x': [1, *_]} if c:", "case _:"],
        ),
        ("match (a):\n  case 1: pass\n", tree.Match, ["match (a):"]),
        ("a = b = c; d\n", tree.Assign, ["a = b = c"]),
        ("a; b ;\n", tree.ExprStmt, ["a", "b"]),
        ("from .... import (\n  a as b,\n  c,\n)\n", tree.ImportFrom, ["from .... import (\n  a as b,\n  c,\n)"] * 2),
        ("from . . import a\n", tree.ImportFrom, ["from . . import a"]),
        ("x = a if (b) else not c\n", tree.Conditional, ["a if (b) else not c"]),
        ("x = 'a' f'{b}' \\\n  'c'\n", tree.FString, ["'a' f'{b}' \\\n  'c'"]),
        ("é = 'ü'; naïve.ça\n", tree.Attribute, ["naïve.ça"]),
        ("℘ = ªª\n", tree.Name, ["℘", "ªª"]),
        ("a\x0c = b\n", tree.Assign, ["a\x0c = b"]),
        ("if a:\r\n  b.c(\r\n  d)\r\n", tree.Call, ["b.c(\n  d)"]),
        ("x = '''\r\na\r\n'''; y = b\r\n", tree.Assign, ["x = '''\na\n'''", "y = b"]),
        ("x = 1if y else 0x1for z\n", tree.Constant, ["y", "1", "0x1f"]),
        ("x = 1..real, 1.e3.imag, 1_0.5e-1_0j\n", tree.Constant, ["1.", "1.e3", "1_0.5e-1_0j"]),
    ],
)
def test_a_node_stands_where_its_first_and_last_token_are(text: str, kind: type[tree.Node], places: list[str]) -> None:
    if "y else" in text:
        places = places[1:]
    assert only(text, kind) == places


# --- syntax newer than the running Python ----------------------------------------------------


def test_type_parameters_and_aliases_of_python_3_12_are_passed() -> None:
    text = "type A[*Ts, **P, T: int = str] = dict[T, Ts]\ndef f[T](a: T) -> T: return a.b(c)\nclass B[T]: x = a.b\n"
    alias, function, cls = facts(text).body
    assert isinstance(alias, tree.Assign)
    assert [stretch(text, target.at) for target in alias.targets] == ["A"]
    assert stretch(text, alias.at) == text.split("\n")[0]
    assert isinstance(function, tree.FunctionDef)
    assert [param.name for param in function.params] == ["a"]
    assert isinstance(cls, tree.ClassDef)
    assert only(text, tree.Call) == ["a.b(c)"]


@pytest.mark.parametrize(
    "string",
    [
        'f"{x["a"]}"',
        "f'{x['a']} {y}'",
        'f"{f"{f"{x}"}"}"',
        'f"{", ".join(x)}"',
        'f"{x["#"]}"',
        'f"{x["(("]}"',
        'f"{x["}"]}"',
        'f"{d[\'}\']}{x["a"]}"',
        'f"{{{x["a"]}}}"',
        'f"{x:{y["w"]}}"',
        'f"{x!r:>{y}}"',
        'f"{x = }"',
        'f"""{x["""a"""]}"""',
        'f"{\n  x  # it\'s a comment\n}"',
        'f"{ {1: 2}[x] }"',
        'rf"\\{x}"',
        'f"{x}" "}" f\'{y["a"]}\'',
        "f'{lambda_(\"a\")}{x}'",
    ],
)
def test_an_fstring_is_one_place_however_its_quotes_nest(string: str) -> None:
    text = f"a = {string} + b\nc = d.e\n# noqa\n"
    found = facts(text)
    assert only(text, tree.FString)[0] == string
    assert only(text, tree.Attribute)[-1] == "d.e"
    assert [one.at[0] for one in found.suppressions] == [text.count("\n")]
    outermost = next(node for node in walk(found.body) if isinstance(node, tree.FString))
    inside = list(walk(outermost.values))
    assert "x" in {node.id for node in inside if isinstance(node, tree.Name)}
    assert {stretch(text, node.at) for node in inside} <= set(re.split(" (?=f')| (?=\"})", string))


@pytest.mark.slow
def test_many_cut_fstrings_do_not_slow_the_lexer_down() -> None:
    """Each is passed at the border between tokens where it ends, without reading the rest of the file anew."""
    line = 'print(f"{x["a"]}", y.z)\n'
    text = line * 3_000
    assert only(text, tree.Attribute) == ["y.z"] * 3_000


def test_an_fstring_that_looks_whole_but_is_cut_is_found_out() -> None:
    text = 'x = f"{f(\'}\')["a"]}"; y = z.w\n'
    assert only(text, tree.FString) == ['f"{f(\'}\')["a"]}"']
    assert only(text, tree.Attribute) == ["z.w"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('x = t"{a}"\n', "FString"),
        ("try: a\nexcept B, C: d\n", "Try"),
        ("[*a for a in b]\n", "Comprehension"),
        ("{**a for a in b}\n", "Comprehension"),
        ("lazy import a\n", "Import"),
        ("lazy from a import b\n", "ImportFrom"),
    ],
)
def test_the_newest_syntax_is_lowered_if_libcst_knows_it(text: str, kind: str) -> None:
    import libcst

    text += "e = f.g\n"
    try:
        libcst.parse_module(text)
    except libcst.ParserSyntaxError:
        pytest.skip("unknown to this libcst")
    assert kind in {type(node).__name__ for node in walk(facts(text).body)}
    assert only(text, tree.Attribute) == ["f.g"]


# --- values ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("literal", "value", "kind"),
    [
        ("'a'", "a", "str"),
        ('"""a\r\nb\rc"""', "a\nb\nc", "str"),
        ("'\\x41\\N{BULLET}'", "A•", "str"),
        ("'\\d'", "\\d", "str"),
        ("r'\\d\\''", "\\d\\'", "str"),
        ("Rb'\\d'", None, "bytes"),
        ("b'a' b'b'", None, "bytes"),
        ("'a' \"b\" '''c'''", "abc", "str"),
        ("u'a'", "a", "str"),
        ("''", "", "str"),
        ('""""a"""', '"a', "str"),
        ("''''''", "", "str"),
        ("'\\ud800'", None, "str"),
        ("1_000", 1000, "int"),
        ("0XfF", 255, "int"),
        ("0b1_0", 2, "int"),
        ("00", 0, "int"),
        ("1e3", 1000.0, "float"),
        ("1_0.", 10.0, "float"),
        ("2j", None, "complex"),
        ("True", True, "bool"),
        ("None", None, "none"),
        ("...", None, "ellipsis"),
        ("9" * 5_000, None, "int"),
        ("0x" + "f" * 5_000, None, "int"),
    ],
)
def test_a_literal_has_its_value(literal: str, value: object, kind: str) -> None:
    (statement,) = facts(f"x = {literal}\n").body
    assert isinstance(statement, tree.Assign)
    constant = statement.value
    assert isinstance(constant, tree.Constant)
    assert (constant.value, type(constant.value), constant.kind) == (value, type(value), kind)


def test_names_are_those_that_python_takes_them_for() -> None:
    """Python normalises identifiers (NFKC); their places are those of the text."""
    text = "import \uff4f\uff53.path\n\uff58.\uff59(\uff5a=1)\ndef \uff46(\uff41): global \uff42\n"
    text += "match c:\n  case \uff44: pass\n"
    imported, called, function, match = facts(text).body
    assert isinstance(imported, tree.Import)
    assert isinstance(called, tree.ExprStmt)
    assert isinstance(function, tree.FunctionDef)
    assert isinstance(match, tree.Match)
    names = [node.id for node in walk(called) if isinstance(node, tree.Name)]
    assert (imported.module, names, function.name) == ("os.path", ["x"], "f")
    assert (function.params[0].name, match.cases[0].names) == ("a", ("d",))
    assert only(text, tree.Attribute) == ["\uff58.\uff59"]


def test_a_string_alone_is_a_pass_and_its_text_is_not_kept() -> None:
    first, second, third = facts('"""Doc."""\n"a" "b"\nb"c"\n').body
    assert isinstance(first, tree.Jump)
    assert isinstance(second, tree.Jump)
    assert (first.kind, second.kind) == ("pass", "pass")
    assert isinstance(third, tree.ExprStmt)


def test_a_long_chain_of_operators_is_no_deep_tree() -> None:
    terms = [f"a{number}" for number in range(400)]
    (statement,) = facts(" + ".join(terms) + "\n").body
    assert isinstance(statement, tree.ExprStmt)
    depth, names = 0, []
    stack: list[tuple[tree.Expr, int]] = [(statement.value, 1)]
    while stack:
        node, level = stack.pop()
        depth = max(depth, level)
        if isinstance(node, tree.BinOp):
            assert node.op == "+"
            stack += [(node.right, level + 1), (node.left, level + 1)]
        elif isinstance(node, tree.Name):
            names.append(node.id)
    assert names == terms
    assert depth < 12


# --- anything ----------------------------------------------------------------------------------

NAMES = st.sampled_from(["a", "b", "loader", "é", "_", "None", "self", "match", "type", "lazy"])
ATOMS = NAMES | st.sampled_from(
    ["1", "2.5", "3j", "'s'", 'b"t"', "...", "True", "f'{a}'", "f'{a:{b}}' 's'", "r'\\d'", "'''m\nn'''"]
)


def _expressions(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    two, three = st.tuples(inner, inner), st.tuples(inner, inner, inner)
    forms = [
        "({} + {})",
        "({} < {})",
        "({} not in {})",
        "({} is not {})",
        "({} and {} )",
        "(not {} or {})",
        "[{}, *({})]",
    ]
    forms += [
        "({}, {},)",
        "{{{}: {}, **a}}",
        "{{{}, {}}}",
        "({})[{}]",
        "({})[{}:, ::2]",
        "f({}, *({}))",
        "f(a=({}), **({}))",
    ]
    forms += [
        "[a for a in {} if {}]",
        "{{a: {} async for b, c in {}}}",
        "(lambda a, *b, c=({}), **d: {})",
        "(a := ({}) - ~({}))",
    ]
    forms += [
        "({} ** -{})",
        "f'{{({})}}' f'{{({})!r}}'",
        "({}  # (\n  @ {})",
        "((\n{}\n) if {} else b)",
        "(yield {}, ({}))",
    ]
    pairs = st.tuples(st.sampled_from(forms), two).map(lambda drawn: drawn[0].format(*drawn[1]))
    singles = st.tuples(
        st.sampled_from(["({}).b.c()", "(await ({}))", "-({})", "(({}))", "(yield from {})", "f(b for b in {})"]), inner
    )
    triples = three.map(lambda drawn: "({} if {} else {})".format(*drawn))
    return pairs | singles.map(lambda drawn: drawn[0].format(drawn[1])) | triples


EXPRESSIONS = st.recursive(ATOMS, _expressions, max_leaves=10)
SIMPLE = [
    "{}",
    "x = {}",
    "x, *y = z[0] = {}",
    "x: {} = 1",
    "x.y: {}",
    "x += {}",
    "x //= {}",
    "return {}",
    "raise E from {}",
]
SIMPLE += [
    "assert {}, 'm'",
    "del x, y[{}]",
    "global x, y",
    "import a.b as c, d",
    "from .a import (b as c, d)",
    "pass; x = {};",
]
SIMPLE += ["type x[*T] = {}", "# dl-lint: ignore", "return", "def f(a, *, b={}): ..."]

Line = tuple[int, str]
"""A level of indentation and a logical line, which may go on inside of brackets."""

BODY = object()
BLOCKS: list[tuple[object, ...]] = [
    ("if {}:", BODY, "elif {}:", BODY, "else:", BODY),
    ("async for i, j in {}:", BODY, "else:", BODY),
    ("while {}:", BODY),
    ("with {} as k, (m):", BODY),
    ("try:", BODY, "except (E, F) as e:", BODY, "except:", BODY, "else:", BODY, "finally:", BODY),
    ("try:", BODY, "except* {}:", BODY),
    ("@d({})", "@e", "async def f(a, /, b=1, *c, d: int, **e) -> {}:", BODY),
    ("class A(B, metaclass={}):", BODY),
    ("class A[T: int]:", BODY),
    ("match {}:", [("case [1, *r] | {'k': r} if a:", BODY, "case K(x=-1.5, y=(p.q)) as z:", BODY, "case _:", BODY)]),
]


def _filled(form: str) -> st.SearchStrategy[str]:
    return EXPRESSIONS.map(lambda drawn: form.replace("{}", drawn)) if "{}" in form else st.just(form)


SIMPLE_LINES = st.sampled_from(SIMPLE).flatmap(_filled).map(lambda line: [(0, line)])


def _compound(inner: st.SearchStrategy[list[Line]]) -> st.SearchStrategy[list[Line]]:
    @st.composite
    def block(draw: st.DrawFn) -> list[Line]:
        def written(parts: tuple[object, ...], level: int) -> Iterator[Line]:
            for part in parts:
                if isinstance(part, str):
                    yield level, draw(_filled(part))
                elif isinstance(part, list):
                    for nested in part:
                        yield from written(nested, level + 1)
                else:
                    yield from ((level + 1 + deeper, line) for deeper, line in [*draw(inner), (0, "pass")])

        return list(written(draw(st.sampled_from(BLOCKS)), 0))

    return block() | st.lists(inner, min_size=1, max_size=3).map(
        lambda parts: [line for part in parts for line in part]
    )


PROGRAMS = st.tuples(
    st.recursive(SIMPLE_LINES, _compound, max_leaves=8), st.sampled_from(["  ", "\t"]), st.sampled_from(["\n", "\r\n"])
).map(lambda drawn: "".join(level * drawn[1] + line + "\n" for level, line in drawn[0]).replace("\n", drawn[2]))


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(PROGRAMS)
def test_any_program_is_lowered_to_what_python_sees(
    against_ast: Callable[[bytes], list[str] | None], compared: Callable[[Source], str], text: str
) -> None:
    assert against_ast(text.encode()) in ([], None)  # None: syntax of Python 3.12
    assert compared(Source.of("a.py", text.encode())) in ("same", "libcst only")
    body = facts(text).body
    for node in walk(body):
        if isinstance(node, tree.Name):
            assert node.id in stretch(text, node.at)  # NFKC leaves the names here alone
        if isinstance(node, tree.Call):
            assert node.func.at[:2] <= node.func.at[2:] <= node.at[2:]


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet=st.sampled_from("ab1 .,:;=()[]{}'\"\\\n\r\t#fr+-*@\x0cé\u00b7"), max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(SourceError):
        facts(text)


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet=st.sampled_from("ab1 .,:;=()[]{}'\"\\\n\r\t#fr+-*@\x0cé\u00b7"), max_size=60))
def test_tokens_are_the_text_without_space_and_comments(text: str) -> None:
    tokens = lex(text)
    at = 0
    for token, start, stop, span in zip(tokens.texts, tokens.starts, tokens.stops, tokens.spans, strict=True):
        assert at <= start < stop
        assert text[start:stop] == token
        assert stretch(text, span).replace("\n", "") == token.replace("\r", "").replace("\n", "")
        at = stop
    for span, comment in tokens.comments:
        assert stretch(text, span) == comment
