"""The syntax that facts keep of a file: a small tree of plain values, without white space or comments.

Every node starts with ``at``, its span (line, column, end line, end column; lines from 1,
columns from 0, in characters), own parentheses included; that of a statement with a body covers
its header from the first keyword (not the decorators) up to the colon. The tree holds what rules
can ask about and nothing else, so it is cheap to store and to walk; it is made by ``lower`` and
read by the project. No path down from the root is longer than ``MAX_DEPTH`` nodes.
"""

from __future__ import annotations

from dataclasses import dataclass

Span = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    at: Span


# Readers of the tree recurse over it with up to four frames a level, and the interpreter stops at 1,000.
MAX_DEPTH = 200


class Expr(Node):
    __slots__ = ()


class Stmt(Node):
    __slots__ = ()


# --- expressions -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Name(Expr):
    id: str


@dataclass(frozen=True, slots=True, eq=False)
class Constant(Expr):
    """A literal; ``kind`` is one of int, float, str, bytes, bool, none, ellipsis, complex.

    The value of bytes, complex and ellipsis is None, and that of a number or text that Python cannot hold.
    Strings side by side are one constant. A string that stands alone as a statement is kept as ``pass``.
    """

    value: int | float | str | bool | None
    kind: str


@dataclass(frozen=True, slots=True, eq=False)
class FString(Expr):
    """An f-string (or t-string); ``values`` are its replaced expressions, all spanning the whole string."""

    values: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Attribute(Expr):
    value: Expr
    attr: str


@dataclass(frozen=True, slots=True, eq=False)
class Subscript(Expr):
    """``value[index]``; several indices come as one Tuple."""

    value: Expr
    index: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Slice(Expr):
    lower: Expr | None
    upper: Expr | None
    step: Expr | None


@dataclass(frozen=True, slots=True, eq=False)
class Keyword(Node):
    """``name=value`` of a call or class; ``**value`` has no name."""

    name: str | None
    value: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Call(Expr):
    func: Expr
    args: tuple[Expr, ...]
    keywords: tuple[Keyword, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Starred(Expr):
    value: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Sequence(Expr):
    """``kind`` is tuple, list or set."""

    kind: str
    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Mapping(Expr):
    """A dict display; a ``**other`` item has the key None."""

    items: tuple[tuple[Expr | None, Expr], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Generator(Node):
    """One ``for target in iter if …`` clause of a comprehension."""

    target: Expr
    iter: Expr
    ifs: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Comprehension(Expr):
    """``kind`` is list, set, dict or generator; ``key`` only for dict, and not in ``{**d for d in ds}``."""

    kind: str
    key: Expr | None
    element: Expr
    generators: tuple[Generator, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Conditional(Expr):
    test: Expr
    body: Expr
    orelse: Expr


@dataclass(frozen=True, slots=True, eq=False)
class BoolOp(Expr):
    """``op`` is and / or; a chain of one operator is flat."""

    op: str
    values: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Compare(Expr):
    left: Expr
    ops: tuple[str, ...]
    comparators: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, eq=False)
class BinOp(Expr):
    """A chain ``a + b + c`` is nested to the left; one of more than 50 operators is halved again and again instead."""

    left: Expr
    op: str
    right: Expr


@dataclass(frozen=True, slots=True, eq=False)
class UnaryOp(Expr):
    """``op`` is one of - + ~ not."""

    op: str
    operand: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Param(Node):
    """``kind`` is positional (before /), plain, keyword (after *), args or kwargs."""

    name: str
    kind: str
    default: Expr | None
    annotation: Expr | None


@dataclass(frozen=True, slots=True, eq=False)
class Lambda(Expr):
    params: tuple[Param, ...]
    body: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Walrus(Expr):
    target: Expr
    value: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Await(Expr):
    value: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Yield(Expr):
    """``yield value`` or, with ``is_from``, ``yield from value``."""

    value: Expr | None
    is_from: bool


# --- statements ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Assign(Stmt):
    """``a = b = value``; annotated ones too (``annotation`` set; value None when only declared) and ``type X = …``."""

    targets: tuple[Expr, ...]
    value: Expr | None
    annotation: Expr | None


@dataclass(frozen=True, slots=True, eq=False)
class AugAssign(Stmt):
    """``target op= value``; ``op`` is as in BinOp."""

    target: Expr
    op: str
    value: Expr


@dataclass(frozen=True, slots=True, eq=False)
class ExprStmt(Stmt):
    value: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Return(Stmt):
    value: Expr | None


@dataclass(frozen=True, slots=True, eq=False)
class Raise(Stmt):
    exc: Expr | None


@dataclass(frozen=True, slots=True, eq=False)
class Assert(Stmt):
    test: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Delete(Stmt):
    targets: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Jump(Stmt):
    """``kind`` is break, continue or pass."""

    kind: str


@dataclass(frozen=True, slots=True, eq=False)
class Scope(Stmt):
    """``kind`` is global or nonlocal."""

    kind: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Import(Stmt):
    """``import module as name``, one alias each, all with the span of the statement.

    Binds ``name`` to ``module``; without ``as``, ``name`` is the first part of ``module`` and bound to that.
    """

    module: str
    name: str
    has_alias: bool


@dataclass(frozen=True, slots=True, eq=False)
class ImportFrom(Stmt):
    """``from ..module import attr as name``, one alias each, all with the span of the statement.

    A star has attr and name ``*``.
    """

    level: int
    module: str
    attr: str
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class If(Stmt):
    test: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True, eq=False)
class For(Stmt):
    target: Expr
    iter: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True, eq=False)
class While(Stmt):
    test: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True, eq=False)
class WithItem(Node):
    value: Expr
    target: Expr | None


@dataclass(frozen=True, slots=True, eq=False)
class With(Stmt):
    items: tuple[WithItem, ...]
    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Handler(Node):
    type: Expr | None
    name: str | None
    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Try(Stmt):
    body: tuple[Stmt, ...]
    handlers: tuple[Handler, ...]
    orelse: tuple[Stmt, ...]
    final: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Case(Node):
    """One arm of a match statement: the names that its pattern binds, its guard and its body."""

    names: tuple[str, ...]
    guard: Expr | None
    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Match(Stmt):
    subject: Expr
    cases: tuple[Case, ...]


@dataclass(frozen=True, slots=True, eq=False)
class FunctionDef(Stmt):
    name: str
    params: tuple[Param, ...]
    body: tuple[Stmt, ...]
    decorators: tuple[Expr, ...]
    returns: Expr | None
    end_line: int


@dataclass(frozen=True, slots=True, eq=False)
class ClassDef(Stmt):
    name: str
    bases: tuple[Expr, ...]
    keywords: tuple[Keyword, ...]
    body: tuple[Stmt, ...]
    decorators: tuple[Expr, ...]
    end_line: int
