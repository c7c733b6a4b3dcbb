"""Lowers the statements that have no body."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dl_lint.facts import tree
from dl_lint.facts.blocks import SIMPLE
from dl_lint.facts.expressions import by_kind, expression

if TYPE_CHECKING:
    import ast

    from dl_lint.facts.cursor import Cursor


def _assign(c: Cursor, node: ast.Assign) -> list[tree.Stmt]:
    first = c.at
    targets = []
    for target in node.targets:
        targets.append(expression(c, target))
        c.expect("=")
    value = expression(c, node.value)
    return [tree.Assign(c.span(first), tuple(targets), value, None)]


def _annotated(c: Cursor, node: ast.AnnAssign) -> list[tree.Stmt]:
    first = c.at
    target = expression(c, node.target)
    c.expect(":")
    annotation = expression(c, node.annotation)
    value = None
    if node.value is not None:
        c.expect("=")
        value = expression(c, node.value)
    return [tree.Assign(c.span(first), (target,), value, annotation)]


def _augmented(c: Cursor, node: ast.AugAssign) -> list[tree.Stmt]:
    first = c.at
    target = expression(c, node.target)
    op = c.texts[c.at]
    c.at += 1
    value = expression(c, node.value)
    return [tree.AugAssign(c.span(first), target, op[:-1], value)]


def _expression_statement(c: Cursor, node: ast.Expr) -> list[tree.Stmt]:
    """A string that stands alone does nothing, so it is kept as ``pass``: docstrings would be half of the facts."""
    value = expression(c, node.value)
    if type(value) is tree.Constant and value.kind == "str":
        return [tree.Jump(value.at, "pass")]
    return [tree.ExprStmt(value.at, value)]


def _return(c: Cursor, node: ast.Return) -> list[tree.Stmt]:
    first = c.at
    c.expect("return")
    value = expression(c, node.value) if node.value is not None else None
    return [tree.Return(c.span(first), value)]


def _raise(c: Cursor, node: ast.Raise) -> list[tree.Stmt]:
    first = c.at
    c.expect("raise")
    exc = expression(c, node.exc) if node.exc is not None else None
    if node.cause is not None:
        c.expect("from")
        expression(c, node.cause)
    return [tree.Raise(c.span(first), exc)]


def _assert(c: Cursor, node: ast.Assert) -> list[tree.Stmt]:
    first = c.at
    c.expect("assert")
    test = expression(c, node.test)
    if node.msg is not None:
        c.expect(",")
        expression(c, node.msg)
    return [tree.Assert(c.span(first), test)]


def _delete(c: Cursor, node: ast.Delete) -> list[tree.Stmt]:
    """The items of a lone tuple or list are what is deleted, but not those of ``del (a, b),``."""
    first = c.at
    c.expect("del")
    targets, commas = [], 0
    for target in node.targets:
        targets.append(expression(c, target))
        commas += c.passes(",")
    if len(targets) == 1 and not commas and isinstance(targets[0], tree.Sequence):
        return [tree.Delete(c.span(first), targets[0].items)]
    return [tree.Delete(c.span(first), tuple(targets))]


def _jump(c: Cursor, node: ast.Pass | ast.Break | ast.Continue) -> list[tree.Stmt]:
    kind = type(node).__name__.lower()
    c.expect(kind)
    return [tree.Jump(c.spans[c.at - 1], kind)]


def _scope(c: Cursor, node: ast.Global | ast.Nonlocal) -> list[tree.Stmt]:
    first = c.at
    kind = type(node).__name__.lower()
    c.expect(kind)
    for name in node.names:
        c.name(name)
        c.passes(",")
    return [tree.Scope(c.span(first), kind, tuple(node.names))]


def type_alias(c: Cursor, node: Any) -> list[tree.Stmt]:
    """``type X = …`` binds X as an assignment does."""
    first = c.at
    c.expect("type")
    target = expression(c, node.name)
    c.skip_to("=")  # over the type parameters
    c.expect("=")
    value = expression(c, node.value)
    return [tree.Assign(c.span(first), (target,), value, None)]


# --- imports ---------------------------------------------------------------------------


def _aliases(c: Cursor, nodes: list[ast.alias]) -> None:
    for alias in nodes:
        c.dotted(alias.name)
        if alias.asname is not None:
            c.expect("as")
            c.name(alias.asname)
        c.passes(",")


def _import(c: Cursor, node: ast.Import) -> list[tree.Stmt]:
    first = c.at
    c.passes("lazy")
    c.expect("import")
    _aliases(c, node.names)
    at = c.span(first)
    return [
        tree.Import(at, alias.name, alias.asname or alias.name.split(".")[0], alias.asname is not None)
        for alias in node.names
    ]


def _import_from(c: Cursor, node: ast.ImportFrom) -> list[tree.Stmt]:
    first = c.at
    c.passes("lazy")
    c.expect("from")
    dots = 0
    while dots < node.level:
        dots += len(c.texts[c.at])  # three dots are one token
        c.at += 1
    if node.module:
        c.dotted(node.module)
    c.expect("import")
    bracketed = c.passes("(")
    if node.names[0].name == "*":
        c.expect("*")
    else:
        _aliases(c, node.names)
    if bracketed:
        c.expect(")")
    at = c.span(first)
    module = node.module or ""
    return [tree.ImportFrom(at, node.level, module, alias.name, alias.asname or alias.name) for alias in node.names]


SIMPLE |= by_kind(
    {
        "Assign": _assign,
        "AnnAssign": _annotated,
        "AugAssign": _augmented,
        "Expr": _expression_statement,
        "Return": _return,
        "Raise": _raise,
        "Assert": _assert,
        "Delete": _delete,
        "Pass": _jump,
        "Break": _jump,
        "Continue": _jump,
        "Global": _scope,
        "Nonlocal": _scope,
        "TypeAlias": type_alias,
        "Import": _import,
        "ImportFrom": _import_from,
    }
)
