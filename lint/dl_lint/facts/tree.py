"""The syntax that facts keep of a file: a small tree of plain values, without white space or comments.

Every node starts with ``at``, its span (line, column, end line, end column; lines from 1,
columns from 0, in characters), own parentheses included; that of a statement with a body covers
its header from the first keyword (not the decorators) up to the colon. The tree holds what rules
can ask about and nothing else, so it is cheap to store and to walk; it is made by ``lower`` and
read by the project. No path down from the root is longer than ``MAX_DEPTH`` nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

Span = tuple[int, int, int, int]
_T = TypeVar("_T")


@dataclass_transform(eq_default=False, frozen_default=True)
def _node(cls: type[_T]) -> type[_T]:
    """A slotted dataclass that type checkers hold to be frozen.

    At run time it is not: a file has thousands of nodes per 1,000 lines, and freezing makes each
    three times as dear (309 ns for three fields, 97 without). Where a class has no docstring, ``dataclass`` would
    take a third of its own time to make one from the signature.
    """
    cls.__doc__ = cls.__doc__ or cls.__name__
    return dataclass(slots=True, eq=False, repr=False)(cls)


@_node
class Node:
    at: Span

    def __repr__(self) -> str:
        values = (f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
        return f"{type(self).__name__}({', '.join(values)})"


# Readers of the tree recurse over it with up to four frames a level, and the interpreter stops at 1,000.
MAX_DEPTH = 200


class Expr(Node):
    __slots__ = ()


class Stmt(Node):
    __slots__ = ()


# --- expressions -----------------------------------------------------------------------


@_node
class Name(Expr):
    id: str


@_node
class Constant(Expr):
    """A literal; ``kind`` is one of int, float, str, bytes, bool, none, ellipsis, complex.

    The value of bytes, complex and ellipsis is None, and that of a number or text that Python cannot hold.
    Strings side by side are one constant. A string that stands alone as a statement is kept as ``pass``.
    """

    value: int | float | str | bool | None
    kind: str


@_node
class FString(Expr):
    """An f-string (or t-string); ``values`` are its expressions, each with the span of the string that it stands in."""

    values: tuple[Expr, ...]


@_node
class Attribute(Expr):
    value: Expr
    attr: str


@_node
class Subscript(Expr):
    """``value[index]``; several indices come as one Tuple."""

    value: Expr
    index: Expr


@_node
class Slice(Expr):
    lower: Expr | None
    upper: Expr | None
    step: Expr | None


@_node
class Keyword(Node):
    """``name=value`` of a call or class; ``**value`` has no name."""

    name: str | None
    value: Expr


@_node
class Call(Expr):
    func: Expr
    args: tuple[Expr, ...]
    keywords: tuple[Keyword, ...]


@_node
class Starred(Expr):
    value: Expr


@_node
class Sequence(Expr):
    """``kind`` is tuple, list or set."""

    kind: str
    items: tuple[Expr, ...]


@_node
class Mapping(Expr):
    """A dict display; a ``**other`` item has the key None."""

    items: tuple[tuple[Expr | None, Expr], ...]


@_node
class Generator(Node):
    """One ``for target in iter if …`` clause of a comprehension."""

    target: Expr
    iter: Expr
    ifs: tuple[Expr, ...]


@_node
class Comprehension(Expr):
    """``kind`` is list, set, dict or generator; ``key`` only for dict, and not in ``{**d for d in ds}``."""

    kind: str
    key: Expr | None
    element: Expr
    generators: tuple[Generator, ...]


@_node
class Conditional(Expr):
    test: Expr
    body: Expr
    orelse: Expr


@_node
class BoolOp(Expr):
    """``op`` is and / or; a chain of one operator is flat."""

    op: str
    values: tuple[Expr, ...]


@_node
class Compare(Expr):
    left: Expr
    ops: tuple[str, ...]
    comparators: tuple[Expr, ...]


@_node
class BinOp(Expr):
    """A chain ``a + b + c`` is nested to the left; one of more than 50 operators is halved again and again instead."""

    left: Expr
    op: str
    right: Expr


@_node
class UnaryOp(Expr):
    """``op`` is one of - + ~ not."""

    op: str
    operand: Expr


@_node
class Param(Node):
    """``kind`` is positional (before /), plain, keyword (after *), args or kwargs."""

    name: str
    kind: str
    default: Expr | None
    annotation: Expr | None


@_node
class Lambda(Expr):
    params: tuple[Param, ...]
    body: Expr


@_node
class Walrus(Expr):
    target: Expr
    value: Expr


@_node
class Await(Expr):
    value: Expr


@_node
class Yield(Expr):
    """``yield value`` or, with ``is_from``, ``yield from value``."""

    value: Expr | None
    is_from: bool


# --- statements ------------------------------------------------------------------------


@_node
class Assign(Stmt):
    """``a = b = value``; annotated ones too (``annotation`` set; value None when only declared) and ``type X = …``."""

    targets: tuple[Expr, ...]
    value: Expr | None
    annotation: Expr | None


@_node
class AugAssign(Stmt):
    """``target op= value``; ``op`` is as in BinOp."""

    target: Expr
    op: str
    value: Expr


@_node
class ExprStmt(Stmt):
    value: Expr


@_node
class Return(Stmt):
    value: Expr | None


@_node
class Raise(Stmt):
    exc: Expr | None


@_node
class Assert(Stmt):
    test: Expr


@_node
class Delete(Stmt):
    targets: tuple[Expr, ...]


@_node
class Jump(Stmt):
    """``kind`` is break, continue or pass."""

    kind: str


@_node
class Scope(Stmt):
    """``kind`` is global or nonlocal."""

    kind: str
    names: tuple[str, ...]


@_node
class Import(Stmt):
    """``import module as name``, one alias each, all with the span of the statement.

    Binds ``name`` to ``module``; without ``as``, ``name`` is the first part of ``module`` and bound to that.
    """

    module: str
    name: str
    has_alias: bool


@_node
class ImportFrom(Stmt):
    """``from ..module import attr as name``, one alias each, all with the span of the statement.

    A star has attr and name ``*``.
    """

    level: int
    module: str
    attr: str
    name: str


@_node
class If(Stmt):
    test: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...]


@_node
class For(Stmt):
    target: Expr
    iter: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...]


@_node
class While(Stmt):
    test: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...]


@_node
class WithItem(Node):
    value: Expr
    target: Expr | None


@_node
class With(Stmt):
    items: tuple[WithItem, ...]
    body: tuple[Stmt, ...]


@_node
class Handler(Node):
    type: Expr | None
    name: str | None
    body: tuple[Stmt, ...]


@_node
class Try(Stmt):
    body: tuple[Stmt, ...]
    handlers: tuple[Handler, ...]
    orelse: tuple[Stmt, ...]
    final: tuple[Stmt, ...]


@_node
class Case(Node):
    """One arm of a match statement: the names that its pattern binds, its guard and its body."""

    names: tuple[str, ...]
    guard: Expr | None
    body: tuple[Stmt, ...]


@_node
class Match(Stmt):
    subject: Expr
    cases: tuple[Case, ...]


@_node
class FunctionDef(Stmt):
    name: str
    params: tuple[Param, ...]
    body: tuple[Stmt, ...]
    decorators: tuple[Expr, ...]
    returns: Expr | None
    end_line: int


@_node
class ClassDef(Stmt):
    name: str
    bases: tuple[Expr, ...]
    keywords: tuple[Keyword, ...]
    body: tuple[Stmt, ...]
    decorators: tuple[Expr, ...]
    end_line: int
