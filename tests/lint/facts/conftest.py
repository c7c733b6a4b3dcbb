"""The tree held against the standard library's own: the same structure, the same values, the same places."""

from __future__ import annotations

import ast
import re
import runpy
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from dl_lint.facts import read, tree
from dl_lint.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable


def _spelt(written: str, form: str, get: Callable[[Any], Any]) -> dict[type[ast.AST], str]:
    """Each operator by the class that ast has for it, as ast itself reads it."""
    return {type(get(ast.parse(form.format(op), mode="eval").body)): op for op in written.split(",")}


BINARY = _spelt("+,-,*,/,//,%,**,<<,>>,&,|,^,@", "a {} b", lambda body: body.op)
UNARY = _spelt("not,-,+,~", "{} a", lambda body: body.op)
COMPARE = _spelt("==,!=,<,<=,>,>=,in,not in,is,is not", "a {} b", lambda body: body.ops[0])
KINDS = {bool: "bool", int: "int", float: "float", complex: "complex", bytes: "bytes", str: "str"}
OPENING = re.compile(r"(?:\(|\s|\\|#[^\n]*\n)*")
CLOSING = re.compile(r"(?:\)|,|\s|\\|#[^\n]*\n)*")


class Oracle:
    """Walks a tree and an ast side by side and keeps what differs."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.split("\n")
        self.encoded = [line.isascii() for line in self.lines]
        self.offsets = [0]
        for line in self.lines:
            self.offsets.append(self.offsets[-1] + len(line) + 1)
        self.differences: list[str] = []
        self.seen = 0
        self.opaque = False

    def differ(self, what: str, ours: Any, theirs: Any) -> None:
        line = getattr(theirs, "lineno", None) or (ours.at[0] if isinstance(ours, tree.Node) else "?")
        shown = ast.dump(theirs)[:200] if isinstance(theirs, ast.AST) else theirs
        self.differences.append(f"line {line}: {what}: {ours} != {shown}")

    def equal(self, what: str, ours: Any, theirs: Any) -> None:
        if ours != theirs:
            self.differ(what, ours, theirs)

    def offset(self, line: int, column: int) -> int:
        return self.offsets[line - 1] + column

    def theirs(self, line: int, byte: int) -> int:
        """Offset in characters of a place that ast counts in bytes."""
        if self.encoded[line - 1]:
            return self.offset(line, byte)
        return self.offset(line, len(self.lines[line - 1].encode()[:byte].decode()))

    def place(self, ours: tree.Node, theirs: Any) -> None:
        """Our span is theirs, or theirs in brackets; ast leaves brackets out."""
        self.seen += 1
        if self.opaque:
            return
        start, stop = self.offset(*ours.at[:2]), self.offset(*ours.at[2:])
        inner, outer = (
            self.theirs(theirs.lineno, theirs.col_offset),
            self.theirs(theirs.end_lineno, theirs.end_col_offset),
        )
        if (start, stop) == (inner, outer):
            return
        before, behind = self.text[start:inner], self.text[outer:stop]
        enclosed = start < inner and self.text[start] == "(" and self.text[stop - 1] == ")"
        if not (enclosed and OPENING.fullmatch(before) and CLOSING.fullmatch(behind)):
            self.differ("place", ours, theirs)

    # --- expressions -------------------------------------------------------------------

    def exprs(self, ours: Any, theirs: Any) -> None:
        self.equal("length", len(ours), len(theirs))
        for one, other in zip(ours, theirs, strict=False):
            self.expr(one, other)

    def optional(self, ours: tree.Expr | None, theirs: ast.expr | None) -> None:
        if ours is None or theirs is None:
            self.equal("presence", ours, theirs)
        else:
            self.expr(ours, theirs)

    def expr(self, ours: tree.Expr, theirs: Any) -> None:
        kind = type(theirs).__name__
        compare = getattr(self, f"on_{kind}")
        if kind not in ("JoinedStr", "GeneratorExp"):
            self.place(ours, theirs)
        try:
            compare(ours, theirs)
        except AttributeError as error:
            self.differ(f"kind ({error})", ours, theirs)

    def on_Name(self, ours: Any, theirs: ast.Name) -> None:
        self.equal("id", (type(ours), ours.id), (tree.Name, theirs.id))

    def on_Constant(self, ours: Any, theirs: ast.Constant) -> None:
        value = theirs.value
        kind = "none" if value is None else "ellipsis" if value is ... else KINDS[type(value)]
        self.equal("kind", ours.kind, kind)
        wanted = None if kind in ("bytes", "complex", "ellipsis") else value
        if isinstance(wanted, str) and not _encodable(wanted):
            wanted = None
        if isinstance(wanted, int) and wanted.bit_length() > 3300:  # 1,000 digits, of which we keep none
            wanted = None
        self.equal("value", repr(ours.value), repr(wanted))

    def on_JoinedStr(self, ours: Any, theirs: ast.JoinedStr) -> None:
        self.equal("f-string", type(ours), tree.FString)
        self.place(ours, theirs)
        before, self.opaque = self.opaque, True
        self.exprs(ours.values, _fields(theirs))
        self.opaque = before

    def on_Attribute(self, ours: Any, theirs: ast.Attribute) -> None:
        self.equal("attr", ours.attr, theirs.attr)
        self.expr(ours.value, theirs.value)

    def on_Subscript(self, ours: Any, theirs: ast.Subscript) -> None:
        self.expr(ours.value, theirs.value)
        self.expr(ours.index, theirs.slice)

    def on_Slice(self, ours: Any, theirs: ast.Slice) -> None:
        self.optional(ours.lower, theirs.lower)
        self.optional(ours.upper, theirs.upper)
        self.optional(ours.step, theirs.step)

    def on_Call(self, ours: Any, theirs: ast.Call) -> None:
        self.equal("call", type(ours), tree.Call)
        self.expr(ours.func, theirs.func)
        self.exprs(ours.args, theirs.args)
        self.keywords(ours.keywords, theirs.keywords)

    def keywords(self, ours: tuple[tree.Keyword, ...], theirs: list[ast.keyword]) -> None:
        self.equal("keywords", [k.name for k in ours], [k.arg for k in theirs])
        for one, other in zip(ours, theirs, strict=False):
            self.place(one, other)
            self.expr(one.value, other.value)

    def on_Starred(self, ours: Any, theirs: ast.Starred) -> None:
        self.equal("starred", type(ours), tree.Starred)
        self.expr(ours.value, theirs.value)

    def on_Tuple(self, ours: Any, theirs: Any) -> None:
        self.equal("kind", ours.kind, type(theirs).__name__.lower())
        self.exprs(ours.items, theirs.elts)

    on_List = on_Tuple
    on_Set = on_Tuple

    def on_Dict(self, ours: Any, theirs: ast.Dict) -> None:
        self.equal("length", len(ours.items), len(theirs.keys))
        for (key, value), other_key, other in zip(ours.items, theirs.keys, theirs.values, strict=False):
            self.optional(key, other_key)
            self.expr(value, other)

    def comprehension(self, ours: Any, theirs: Any, kind: str) -> None:
        self.equal("kind", ours.kind, kind)
        for one, other in zip(ours.generators, theirs.generators, strict=True):
            self.expr(one.target, other.target)
            self.expr(one.iter, other.iter)
            self.exprs(one.ifs, other.ifs)

    def on_ListComp(self, ours: Any, theirs: Any) -> None:
        self.comprehension(ours, theirs, type(theirs).__name__.removesuffix("Comp").lower())
        self.expr(ours.element, theirs.elt)

    on_SetComp = on_ListComp

    def on_GeneratorExp(self, ours: Any, theirs: ast.GeneratorExp) -> None:
        """As the only argument of a call it has no brackets of its own, but ast lends it those of the call."""
        self.seen += 1
        start, stop = self.offset(*ours.at[:2]), self.offset(*ours.at[2:])
        inner = self.theirs(theirs.lineno, theirs.col_offset)
        outer = self.theirs(theirs.end_lineno or 0, theirs.end_col_offset or 0)
        before, behind = (
            self.text[min(start, inner) : max(start, inner)],
            self.text[min(stop, outer) : max(stop, outer)],
        )
        if not self.opaque and not (OPENING.fullmatch(before) and CLOSING.fullmatch(behind)):
            self.differ("place", ours, theirs)
        self.comprehension(ours, theirs, "generator")
        self.expr(ours.element, theirs.elt)

    def on_DictComp(self, ours: Any, theirs: ast.DictComp) -> None:
        self.comprehension(ours, theirs, "dict")
        self.expr(ours.key, theirs.key)
        self.expr(ours.element, theirs.value)

    def on_IfExp(self, ours: Any, theirs: ast.IfExp) -> None:
        self.expr(ours.test, theirs.test)
        self.expr(ours.body, theirs.body)
        self.expr(ours.orelse, theirs.orelse)

    def on_BoolOp(self, ours: Any, theirs: ast.BoolOp) -> None:
        self.equal("op", ours.op, type(theirs.op).__name__.lower())
        self.exprs(ours.values, theirs.values)

    def on_Compare(self, ours: Any, theirs: ast.Compare) -> None:
        self.equal("ops", ours.ops, tuple(COMPARE[type(op)] for op in theirs.ops))
        self.expr(ours.left, theirs.left)
        self.exprs(ours.comparators, theirs.comparators)

    def on_BinOp(self, ours: Any, theirs: ast.BinOp) -> None:
        if _chain(theirs) > 50:
            self.equal("operators", _operators(ours), _operators(theirs))
            return
        self.equal("op", ours.op, BINARY[type(theirs.op)])
        self.expr(ours.left, theirs.left)
        self.expr(ours.right, theirs.right)

    def on_UnaryOp(self, ours: Any, theirs: ast.UnaryOp) -> None:
        self.equal("op", ours.op, UNARY[type(theirs.op)])
        self.expr(ours.operand, theirs.operand)

    def on_Lambda(self, ours: Any, theirs: ast.Lambda) -> None:
        self.equal("lambda", type(ours), tree.Lambda)
        self.params(ours.params, theirs.args)
        self.expr(ours.body, theirs.body)

    def on_NamedExpr(self, ours: Any, theirs: ast.NamedExpr) -> None:
        self.expr(ours.target, theirs.target)
        self.expr(ours.value, theirs.value)

    def on_Await(self, ours: Any, theirs: ast.Await) -> None:
        self.equal("await", type(ours), tree.Await)
        self.expr(ours.value, theirs.value)

    def on_Yield(self, ours: Any, theirs: ast.Yield | ast.YieldFrom) -> None:
        self.equal("from", ours.is_from, isinstance(theirs, ast.YieldFrom))
        self.optional(ours.value, theirs.value)

    on_YieldFrom = on_Yield

    def params(self, ours: tuple[tree.Param, ...], theirs: ast.arguments) -> None:
        plain = [*((arg, "positional") for arg in theirs.posonlyargs), *((arg, "plain") for arg in theirs.args)]
        missing: list[ast.expr | None] = [None] * (len(plain) - len(theirs.defaults))
        wanted: list[tuple[ast.arg, str, ast.expr | None]] = [
            (arg, kind, default) for (arg, kind), default in zip(plain, [*missing, *theirs.defaults], strict=True)
        ]
        wanted += [(theirs.vararg, "args", None)] if theirs.vararg else []
        wanted += [(arg, "keyword", d) for arg, d in zip(theirs.kwonlyargs, theirs.kw_defaults, strict=True)]
        wanted += [(theirs.kwarg, "kwargs", None)] if theirs.kwarg else []
        self.equal("params", [(p.name, p.kind) for p in ours], [(arg.arg, kind) for arg, kind, _ in wanted])
        for param, (arg, _, default) in zip(ours, wanted, strict=False):
            self.optional(param.annotation, arg.annotation)
            self.optional(param.default, default)

    # --- statements --------------------------------------------------------------------

    def body(self, ours: tuple[tree.Stmt, ...], theirs: list[ast.stmt]) -> None:
        expected: list[tuple[ast.stmt, Any]] = []
        for statement in theirs:
            if isinstance(statement, ast.Import | ast.ImportFrom):
                expected += [(statement, alias) for alias in statement.names]
            else:
                expected.append((statement, None))
        self.equal("statements", len(ours), len(expected))
        for one, (other, alias) in zip(ours, expected, strict=False):
            self.statement(one, other, alias)

    def statement(self, ours: Any, theirs: Any, alias: ast.alias | None) -> None:
        kind = type(theirs).__name__.removeprefix("Async")
        if alias is not None:
            self.place(ours, theirs)
            getattr(self, f"alias_{kind}")(ours, theirs, alias)
            return
        if isinstance(theirs, ast.Match):
            self.equal("start", self.offset(*ours.at[:2]), self.theirs(theirs.lineno, theirs.col_offset))
            self.equal("end", self.text[self.offset(*ours.at[2:]) - 1], ":")
        elif hasattr(theirs, "body"):
            self.header(ours, theirs)
        else:
            self.place(ours, theirs)
        try:
            getattr(self, f"stmt_{kind}")(ours, theirs)
        except AttributeError as error:
            self.differ(f"kind ({error})", ours, theirs)

    def header(self, ours: tree.Node, theirs: Any) -> None:
        """From where ast has the statement start, up to the colon before its body."""
        self.seen += 1
        self.equal("start", self.offset(*ours.at[:2]), self.theirs(theirs.lineno, theirs.col_offset))
        stop = self.offset(*ours.at[2:])
        first = theirs.body[0]
        first = min([first, *getattr(first, "decorator_list", [])], key=lambda node: node.lineno)
        begin = self.theirs(first.lineno, first.col_offset - (first is not theirs.body[0]))
        between = self.text[stop:begin]
        if self.text[stop - 1] != ":" or not re.fullmatch(r"(?:\s|\\|#[^\n]*\n|@|\()*", between):
            self.differ(f"header, then {between!r}", ours, theirs)

    def alias_Import(self, ours: Any, _theirs: ast.Import, alias: ast.alias) -> None:
        wanted = (alias.name, alias.asname or alias.name.split(".")[0], alias.asname is not None)
        self.equal("import", (ours.module, ours.name, ours.has_alias), wanted)

    def alias_ImportFrom(self, ours: Any, theirs: ast.ImportFrom, alias: ast.alias) -> None:
        wanted = (theirs.level, theirs.module or "", alias.name, alias.asname or alias.name)
        self.equal("from", (ours.level, ours.module, ours.attr, ours.name), wanted)

    def stmt_Assign(self, ours: Any, theirs: ast.Assign) -> None:
        self.equal("annotation", ours.annotation, None)
        self.exprs(ours.targets, theirs.targets)
        self.expr(ours.value, theirs.value)

    def stmt_AnnAssign(self, ours: Any, theirs: ast.AnnAssign) -> None:
        self.exprs(ours.targets, [theirs.target])
        self.expr(ours.annotation, theirs.annotation)
        self.optional(ours.value, theirs.value)

    def stmt_TypeAlias(self, ours: Any, theirs: Any) -> None:
        """``type X = …`` is lowered to the assignment that binds X; Python 3.11 has no such node."""
        self.equal("alias", (type(ours), ours.annotation), (tree.Assign, None))
        self.exprs(ours.targets, [theirs.name])
        self.expr(ours.value, theirs.value)

    def stmt_AugAssign(self, ours: Any, theirs: ast.AugAssign) -> None:
        self.equal("op", ours.op, BINARY[type(theirs.op)])
        self.expr(ours.target, theirs.target)
        self.expr(ours.value, theirs.value)

    def stmt_Expr(self, ours: Any, theirs: ast.Expr) -> None:
        if isinstance(theirs.value, ast.Constant) and isinstance(theirs.value.value, str):
            self.equal("docstring", ours.kind, "pass")
        else:
            self.expr(ours.value, theirs.value)

    def stmt_Return(self, ours: Any, theirs: ast.Return) -> None:
        self.equal("return", type(ours), tree.Return)
        self.optional(ours.value, theirs.value)

    def stmt_Raise(self, ours: Any, theirs: ast.Raise) -> None:
        self.optional(ours.exc, theirs.exc)

    def stmt_Assert(self, ours: Any, theirs: ast.Assert) -> None:
        self.expr(ours.test, theirs.test)

    def stmt_Delete(self, ours: Any, theirs: ast.Delete) -> None:
        targets = theirs.targets
        if len(targets) == 1 and isinstance(targets[0], ast.Tuple | ast.List):
            targets = targets[0].elts
        self.exprs(ours.targets, targets)

    def stmt_Pass(self, ours: Any, theirs: ast.stmt) -> None:
        self.equal("jump", ours.kind, type(theirs).__name__.lower())

    stmt_Break = stmt_Pass
    stmt_Continue = stmt_Pass

    def stmt_Global(self, ours: Any, theirs: ast.Global | ast.Nonlocal) -> None:
        self.equal("scope", (ours.kind, ours.names), (type(theirs).__name__.lower(), tuple(theirs.names)))

    stmt_Nonlocal = stmt_Global

    def stmt_If(self, ours: Any, theirs: ast.If) -> None:
        self.expr(ours.test, theirs.test)
        self.body(ours.body, theirs.body)
        self.body(ours.orelse, theirs.orelse)

    stmt_While = stmt_If

    def stmt_For(self, ours: Any, theirs: ast.For) -> None:
        self.expr(ours.target, theirs.target)
        self.expr(ours.iter, theirs.iter)
        self.body(ours.body, theirs.body)
        self.body(ours.orelse, theirs.orelse)

    def stmt_With(self, ours: Any, theirs: ast.With) -> None:
        self.equal("items", len(ours.items), len(theirs.items))
        for one, other in zip(ours.items, theirs.items, strict=False):
            self.expr(one.value, other.context_expr)
            self.optional(one.target, other.optional_vars)
        self.body(ours.body, theirs.body)

    def stmt_Try(self, ours: Any, theirs: ast.Try) -> None:
        self.body(ours.body, theirs.body)
        for one, other in zip(ours.handlers, theirs.handlers, strict=True):
            self.header(one, other)
            self.equal("name", one.name, other.name)
            self.optional(one.type, other.type)
            self.body(one.body, other.body)
        self.body(ours.orelse, theirs.orelse)
        self.body(ours.final, theirs.finalbody)

    stmt_TryStar = stmt_Try

    def stmt_Match(self, ours: Any, theirs: ast.Match) -> None:
        self.expr(ours.subject, theirs.subject)
        for one, other in zip(ours.cases, theirs.cases, strict=True):
            nodes = list(ast.walk(other.pattern))
            names = {getattr(node, "name", None) or getattr(node, "rest", None) for node in nodes} - {None}
            self.equal("names", set(one.names), names)
            self.optional(one.guard, other.guard)
            self.body(one.body, other.body)

    def stmt_FunctionDef(self, ours: Any, theirs: ast.FunctionDef) -> None:
        self.equal("def", (type(ours), ours.name), (tree.FunctionDef, theirs.name))
        self.equal("end", ours.end_line, theirs.end_lineno)
        self.exprs(ours.decorators, theirs.decorator_list)
        self.params(ours.params, theirs.args)
        self.optional(ours.returns, theirs.returns)
        self.body(ours.body, theirs.body)

    def stmt_ClassDef(self, ours: Any, theirs: ast.ClassDef) -> None:
        self.equal("class", (type(ours), ours.name), (tree.ClassDef, theirs.name))
        self.equal("end", ours.end_line, theirs.end_lineno)
        self.exprs(ours.decorators, theirs.decorator_list)
        self.exprs(ours.bases, theirs.bases)
        self.keywords(ours.keywords, theirs.keywords)
        self.body(ours.body, theirs.body)


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _fields(string: ast.JoinedStr) -> list[ast.expr]:
    found = []
    for value in string.values:
        if isinstance(value, ast.FormattedValue):
            found.append(value.value)
            found += _fields(value.format_spec) if isinstance(value.format_spec, ast.JoinedStr) else []
    return found


def _chain(node: ast.expr) -> int:
    length = 0
    while isinstance(node, ast.BinOp):
        length, node = length + 1, node.left
    return length


def _operators(node: Any) -> list[str]:
    """The operators of a chain from left to right, however it is grouped."""
    found, stack = [], [node]
    while stack:
        top = stack.pop()
        if isinstance(top, str):
            found.append(top)
        elif isinstance(top, tree.BinOp):
            stack += [top.right, top.op, top.left]
        elif isinstance(top, ast.BinOp):
            stack += [top.right, BINARY[type(top.op)], top.left]
    return found


@pytest.fixture(scope="session")
def compared() -> Callable[[Source], str]:
    """What Python's parser and libcst's make of a file: same, or what else ``benchmarks/lint_front_ends.py`` says."""
    script = Path(__file__).parents[3] / "benchmarks" / "lint_front_ends.py"
    compared: Callable[[Source], str] = runpy.run_path(str(script))["compared"]
    return compared


@pytest.fixture(scope="session")
def against_ast() -> Callable[[bytes], list[str] | None]:
    """What our tree of a file has different from ast's; None where this interpreter cannot parse the file."""

    def differences(data: bytes) -> list[str] | None:
        source = Source.of("a.py", data.replace(b"\r\n", b"\n"))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                theirs = ast.parse(source.text)
        except (SyntaxError, ValueError, RecursionError):
            return None
        oracle = Oracle(source.text)
        oracle.body(read(source).body, theirs.body)
        assert oracle.seen or not theirs.body
        return oracle.differences

    return differences
