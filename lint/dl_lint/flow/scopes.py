"""What the index keeps of one file: scopes, blocks, bindings, loops and stores, each with its place in the flow."""

from __future__ import annotations

import ast
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar, dataclass_transform

from dl_lint.source.syntax import Comprehension, ForStatement, FunctionDefinition, Param, dotted

if TYPE_CHECKING:
    from dl_lint.source.parser import Syntax


_T = TypeVar("_T")

Path = tuple[int | None, ...]
"""How a target is unpacked: indices from outside in, negative ones after a star; None is the starred rest."""


@dataclass_transform(frozen_default=True)
def _record(cls: type[_T]) -> type[_T]:
    """A slotted dataclass, frozen to type checkers only: at run time that would make each three times as dear."""
    return dataclass(slots=True, eq=False)(cls)


@dataclass(slots=True, eq=False, repr=False)
class Block:
    """A run of statements that are executed together.

    ``kind`` is body (of a module, function or class), if, else, for, while, loop-else, try, try-else, except or case.
    ``owner`` is the statement that opens it and ``arm`` which of its arms it is. ``exits`` says how it always ends:
    leave (return, raise), break, continue, or "" when it falls through. A ``with`` and a ``finally`` open no block.
    """

    kind: str
    scope: Scope
    parent: Block | None = None
    owner: ast.AST | None = None
    arm: int = 0
    exits: str = ""


@_record
class Site:
    """Where a node stands: its scope, its block and its place in the file's order of evaluation."""

    scope: Scope
    block: Block
    order: int


@_record
class Binding:
    """One place that gives ``name`` a value.

    ``kind`` is assign, augment, for, with, import, from, def, class, param, except, case or delete. ``value`` is the
    expression that is unpacked by ``path``: what is assigned, iterated (for) or entered (with). Dotted names such as
    ``self.loader`` are bound too, so that the newest store in a function wins.
    """

    name: str
    kind: str
    site: Site
    node: ast.AST
    value: ast.expr | None = None
    path: Path = ()
    alias: ast.alias | None = None
    """Of an import, what it binds."""


@_record
class Store:
    """An assignment to an attribute or an item; ``op`` is set for augmented ones and for ``del``."""

    node: ast.stmt
    target: ast.Attribute | ast.Subscript
    value: ast.expr | None
    path: Path
    site: Site
    op: str = ""


@_record
class Change:
    """A container held under ``name`` is changed in place.

    ``kind`` is item (stored), delete, the method called (append, update…), or inner for one called on an item of it.
    """

    name: str
    kind: str
    node: ast.AST
    key: ast.expr | None
    value: ast.expr | None
    site: Site


@_record
class Loop:
    """A for or while statement, or one clause of a comprehension. ``site`` is that of its header."""

    node: ForStatement | ast.While | ast.comprehension
    site: Site
    block: Block


@dataclass(slots=True, eq=False, repr=False)
class Scope:
    """A module, function, class, lambda or comprehension. Lists are in source order."""

    kind: str
    node: FunctionDefinition | ast.ClassDef | ast.Lambda | Comprehension | None
    file: FileIndex
    site: Site | None
    parent: Scope | None
    name: str = field(init=False)
    is_method: bool = field(init=False)
    body: Block = field(init=False)
    params: tuple[Param, ...] = ()
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    remote: dict[str, list[Binding]] = field(default_factory=dict)
    """Bindings made by inner functions through ``global`` and ``nonlocal``."""
    loads: defaultdict[str, list[ast.Name]] = field(default_factory=lambda: defaultdict(list))
    changes: defaultdict[str, list[Change]] = field(default_factory=lambda: defaultdict(list))
    outer: dict[str, str] = field(default_factory=dict)
    """Names declared ``global`` or ``nonlocal`` here."""
    calls: list[ast.Call] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    stores: list[Store] = field(default_factory=list)
    returns: list[ast.Return] = field(default_factory=list)
    yields: list[ast.Yield | ast.YieldFrom] = field(default_factory=list)
    children: list[Scope] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.name = self.node.name if isinstance(self.node, FunctionDefinition | ast.ClassDef) else f"<{self.kind}>"
        self.is_method = self.kind == "function" and self.parent is not None and self.parent.kind == "class"

    def __repr__(self) -> str:
        return f"{self.file.path}:{self.name}"

    @property
    def receiver(self) -> str | None:
        """The parameter of a method that its object is bound to, ``self``; static methods have none."""
        bound = self.is_method and bool(self.params) and "staticmethod" not in decorators(self)
        return self.params[0].name if bound else None

    @property
    def positions(self) -> tuple[str, ...]:
        """The parameters that a call passes by position, without the receiver of a method."""
        names = tuple(one.name for one in self.params if one.kind in ("plain", "positional"))
        return names[1:] if self.receiver is not None else names

    @property
    def function(self) -> Scope:
        """The function, class, lambda or module that this scope's code runs in (itself, but for comprehensions)."""
        scope = self
        while scope.kind == "comprehension" and scope.parent is not None:
            scope = scope.parent
        return scope


@dataclass(slots=True, eq=False, repr=False)
class FileIndex:
    """One file, indexed. ``linted`` is False for a file that is read only to resolve names."""

    path: str
    linted: bool
    syntax: Syntax
    module: Scope = field(init=False)
    scopes: list[Scope] = field(default_factory=list)
    arms: dict[ast.AST, list[Block]] = field(default_factory=dict)
    """The blocks of each branching statement."""
    methods: defaultdict[str, list[ast.Call]] = field(default_factory=lambda: defaultdict(list))
    """Calls by the last part of what is called: ``a.b.c()`` under ``c``, ``a[b]()`` under ``PICKED``."""
    stores: defaultdict[str, list[Store]] = field(default_factory=lambda: defaultdict(list))
    """Attribute stores by attribute."""
    renamed: defaultdict[str, dict[str, None]] = field(default_factory=lambda: defaultdict(dict))
    """By name, the other ones that ``from … import name as other`` gives it."""


PICKED = "[]"
"""In place of a name, for what is called where a dict or a list holds it, or a function returns it."""

Sites = dict[ast.AST, Site]
Parents = dict[ast.AST, ast.AST]


def decorators(scope: Scope) -> frozenset[str]:
    """The last parts of the names of a definition's decorators: property, staticmethod, dataclass…"""
    if not isinstance(scope.node, FunctionDefinition | ast.ClassDef):
        return frozenset()
    found = (dotted(d.func if isinstance(d, ast.Call) else d) for d in scope.node.decorator_list)
    return frozenset(name.rpartition(".")[2] for name in found if name)
