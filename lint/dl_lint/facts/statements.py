"""Lowers the statements that have no body."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import libcst as cst

from dl_lint.facts import tree
from dl_lint.facts.blocks import SIMPLE, dotted_name
from dl_lint.facts.expressions import by_kind, expression

if TYPE_CHECKING:
    from dl_lint.facts.cursor import Cursor


def _assign(c: Cursor, node: cst.Assign) -> list[tree.Stmt]:
    first = c.at
    targets = []
    for target in node.targets:
        targets.append(expression(c, target.target))
        c.expect("=")
    value = expression(c, node.value)
    return [tree.Assign(c.span(first), tuple(targets), value, None)]


def _annotated(c: Cursor, node: cst.AnnAssign) -> list[tree.Stmt]:
    first = c.at
    target = expression(c, node.target)
    c.expect(":")
    annotation = expression(c, node.annotation.annotation)
    value = None
    if node.value is not None:
        c.expect("=")
        value = expression(c, node.value)
    return [tree.Assign(c.span(first), (target,), value, annotation)]


def _augmented(c: Cursor, node: cst.AugAssign) -> list[tree.Stmt]:
    first = c.at
    target = expression(c, node.target)
    op = c.texts[c.at]
    c.at += 1
    value = expression(c, node.value)
    return [tree.AugAssign(c.span(first), target, op[:-1], value)]


def _expression_statement(c: Cursor, node: cst.Expr) -> list[tree.Stmt]:
    """A string that stands alone does nothing, so it is kept as ``pass``: docstrings would be half of the facts."""
    value = expression(c, node.value)
    if type(value) is tree.Constant and value.kind == "str":
        return [tree.Jump(value.at, "pass")]
    return [tree.ExprStmt(value.at, value)]


def _return(c: Cursor, node: cst.Return) -> list[tree.Stmt]:
    first = c.at
    c.expect("return")
    value = expression(c, node.value) if node.value is not None else None
    return [tree.Return(c.span(first), value)]


def _raise(c: Cursor, node: cst.Raise) -> list[tree.Stmt]:
    first = c.at
    c.expect("raise")
    exc = expression(c, node.exc) if node.exc is not None else None
    if node.cause is not None:
        c.expect("from")
        expression(c, node.cause.item)
    return [tree.Raise(c.span(first), exc)]


def _assert(c: Cursor, node: cst.Assert) -> list[tree.Stmt]:
    first = c.at
    c.expect("assert")
    test = expression(c, node.test)
    if node.msg is not None:
        c.expect(",")
        expression(c, node.msg)
    return [tree.Assert(c.span(first), test)]


def _delete(c: Cursor, node: cst.Del) -> list[tree.Stmt]:
    first = c.at
    c.expect("del")
    target = expression(c, node.target)
    targets = target.items if isinstance(target, tree.Sequence) else (target,)
    return [tree.Delete(c.span(first), targets)]


def _jump(c: Cursor, node: cst.Pass | cst.Break | cst.Continue) -> list[tree.Stmt]:
    kind = type(node).__name__.lower()
    c.expect(kind)
    return [tree.Jump(c.spans[c.at - 1], kind)]


def _scope(c: Cursor, node: cst.Global | cst.Nonlocal) -> list[tree.Stmt]:
    first = c.at
    kind = type(node).__name__.lower()
    c.expect(kind)
    names = []
    for item in node.names:
        names.append(c.name(item.name.value))
        if type(item.comma) is cst.Comma:
            c.at += 1
    return [tree.Scope(c.span(first), kind, tuple(names))]


def _type_alias(c: Cursor, node: cst.TypeAlias) -> list[tree.Stmt]:
    """``type X = …`` binds X as an assignment does."""
    first = c.at
    c.expect("type")
    target = expression(c, node.name)
    if node.type_parameters is not None:
        c.skip_to("=")
    c.expect("=")
    value = expression(c, node.value)
    return [tree.Assign(c.span(first), (target,), value, None)]


# --- imports ---------------------------------------------------------------------------


def _aliases(c: Cursor, nodes: Any) -> list[tuple[str, str | None]]:
    found = []
    for alias in nodes:
        imported, name = dotted_name(c, alias.name), None
        if alias.asname is not None:
            c.expect("as")
            name = dotted_name(c, alias.asname.name)
        found.append((imported, name))
        if type(alias.comma) is cst.Comma:
            c.at += 1
    return found


def _import(c: Cursor, node: Any) -> list[tree.Stmt]:
    first = c.at
    c.passes("lazy")
    c.expect("import")
    aliases = _aliases(c, node.names)
    at = c.span(first)
    return [tree.Import(at, module, name or module.split(".")[0], name is not None) for module, name in aliases]


def _import_from(c: Cursor, node: Any) -> list[tree.Stmt]:
    first = c.at
    c.passes("lazy")
    c.expect("from")
    level, dots = len(node.relative), 0
    while dots < level:
        dots += len(c.texts[c.at])  # three dots are one token
        c.at += 1
    module = dotted_name(c, node.module) if node.module is not None else ""
    c.expect("import")
    if isinstance(node.names, cst.ImportStar):
        c.expect("*")
        aliases: list[tuple[str, str | None]] = [("*", None)]
    else:
        bracketed = c.passes("(")
        aliases = _aliases(c, node.names)
        if bracketed:
            c.expect(")")
    at = c.span(first)
    return [tree.ImportFrom(at, level, module, attr, name or attr) for attr, name in aliases]


SIMPLE |= by_kind(
    {
        "Assign": _assign,
        "AnnAssign": _annotated,
        "AugAssign": _augmented,
        "Expr": _expression_statement,
        "Return": _return,
        "Raise": _raise,
        "Assert": _assert,
        "Del": _delete,
        "Pass": _jump,
        "Break": _jump,
        "Continue": _jump,
        "Global": _scope,
        "Nonlocal": _scope,
        "TypeAlias": _type_alias,
        "Import": _import,
        "LazyImport": _import,
        "ImportFrom": _import_from,
        "LazyImportFrom": _import_from,
    }
)
