"""Lowers statements: libcst nodes to ``tree`` nodes, in source order, along the tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import libcst as cst

from dl_lint.facts import tree
from dl_lint.facts.cursor import Cursor, Misaligned
from dl_lint.facts.expressions import arguments, expression, parameters
from dl_lint.facts.patterns import bound_names

if TYPE_CHECKING:
    from collections.abc import Callable

Body = tuple[tree.Stmt, ...]


def block(c: Cursor, statements: Any) -> Body:
    """The statements of a module or an indented block."""
    lowered: list[tree.Stmt] = []
    c.deeper()
    for statement in statements:
        if type(statement) is cst.SimpleStatementLine:
            _line(c, statement, lowered)
        else:
            lowered.append(_COMPOUND[type(statement)](c, statement))
    c.depth -= 1
    return tuple(lowered)


def _line(c: Cursor, node: cst.SimpleStatementLine | cst.SimpleStatementSuite, into: list[tree.Stmt]) -> None:
    first = c.at
    for small in node.body:
        into += _SIMPLE[type(small)](c, small)
        if type(small.semicolon) is cst.Semicolon:
            c.expect(";")
    _note_range(c, c.span(first))


def _note_range(c: Cursor, span: tree.Span) -> None:
    if span[0] != span[2]:
        c.ranges.append((span[0], span[2]))


def _body(c: Cursor, node: cst.BaseSuite) -> Body:
    if isinstance(node, cst.IndentedBlock):
        return block(c, node.body)
    lowered: list[tree.Stmt] = []
    c.deeper()
    _line(c, node, lowered)  # type: ignore[arg-type]  # the only other suite is SimpleStatementSuite
    c.depth -= 1
    return tuple(lowered)


def _header(c: Cursor, first: int) -> tree.Span:
    """Pass the colon; the span of the header that began with the token ``first``."""
    c.expect(":")
    span = c.span(first)
    _note_range(c, span)
    return span


def _else(c: Cursor, node: cst.Else | cst.Finally | None, keyword: str = "else") -> Body:
    if node is None:
        return ()
    c.expect(keyword)
    c.expect(":")
    return _body(c, node.body)


# --- simple statements -----------------------------------------------------------------


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
        c.expect(item.name.value)
        names.append(item.name.value)
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


def _dotted(c: Cursor, node: Any) -> str:
    parts = []
    while isinstance(node, cst.Attribute):
        parts.append(node.attr.value)
        node = node.value
    parts.append(node.value)
    parts.reverse()
    for place, part in enumerate(parts):
        if place:
            c.expect(".")
        c.expect(part)
    return ".".join(parts)


def _aliases(c: Cursor, nodes: Any) -> list[tuple[str, str | None]]:
    found = []
    for alias in nodes:
        imported, name = _dotted(c, alias.name), None
        if alias.asname is not None:
            c.expect("as")
            name = _dotted(c, alias.asname.name)
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
    module = _dotted(c, node.module) if node.module is not None else ""
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


# --- compound statements ---------------------------------------------------------------


def _if(c: Cursor, node: cst.If) -> tree.Stmt:
    """``elif`` is an If in the orelse of the If before it; a chain is followed without recursion."""
    base = c.depth
    arms: list[tuple[tree.Span, tree.Expr, Body]] = []
    rest: Any = node
    keyword = "if"
    while isinstance(rest, cst.If):
        first = c.at
        c.expect(keyword)
        test = expression(c, rest.test)
        arms.append((_header(c, first), test, _body(c, rest.body)))
        c.deeper()
        rest, keyword = rest.orelse, "elif"
    orelse = _else(c, rest)
    for at, test, body in reversed(arms):
        orelse = (tree.If(at, test, body, orelse),)
    c.depth = base
    return orelse[0]


def _for(c: Cursor, node: cst.For) -> tree.Stmt:
    first = c.at
    if node.asynchronous is not None:
        c.expect("async")
    c.expect("for")
    target = expression(c, node.target)
    c.expect("in")
    iterated = expression(c, node.iter)
    at = _header(c, first)
    body = _body(c, node.body)
    return tree.For(at, target, iterated, body, _else(c, node.orelse))


def _while(c: Cursor, node: cst.While) -> tree.Stmt:
    first = c.at
    c.expect("while")
    test = expression(c, node.test)
    at = _header(c, first)
    body = _body(c, node.body)
    return tree.While(at, test, body, _else(c, node.orelse))


def _with(c: Cursor, node: cst.With) -> tree.Stmt:
    first = c.at
    if node.asynchronous is not None:
        c.expect("async")
    c.expect("with")
    bracketed = type(node.lpar) is cst.LeftParen
    c.at += bracketed
    items = []
    for item in node.items:
        start = c.at
        value = expression(c, item.item)
        target = None
        if item.asname is not None:
            c.expect("as")
            target = expression(c, item.asname.name)
        items.append(tree.WithItem(c.span(start), value, target))
        if type(item.comma) is cst.Comma:
            c.at += 1
    c.at += bracketed
    at = _header(c, first)
    return tree.With(at, tuple(items), _body(c, node.body))


def _try(c: Cursor, node: cst.Try | cst.TryStar) -> tree.Stmt:
    first = c.at
    c.expect("try")
    at = _header(c, first)
    body = _body(c, node.body)
    handlers = tuple(_handler(c, handler) for handler in node.handlers)
    orelse = _else(c, node.orelse)
    return tree.Try(at, body, handlers, orelse, _else(c, node.finalbody, "finally"))


def _handler(c: Cursor, node: cst.ExceptHandler | cst.ExceptStarHandler) -> tree.Handler:
    first = c.at
    c.expect("except")
    if isinstance(node, cst.ExceptStarHandler):
        c.expect("*")
    kind = expression(c, node.type) if node.type is not None else None
    name = None
    if node.name is not None:
        c.expect("as")
        name = _dotted(c, node.name.name)
    at = _header(c, first)
    return tree.Handler(at, kind, name, _body(c, node.body))


def _match(c: Cursor, node: cst.Match) -> tree.Stmt:
    first = c.at
    c.expect("match")
    subject = expression(c, node.subject)
    at = _header(c, first)
    c.deeper()
    cases = tuple(_case(c, case) for case in node.cases)
    c.depth -= 1
    return tree.Match(at, subject, cases)


def _case(c: Cursor, node: cst.MatchCase) -> tree.Case:
    """The pattern is passed by its brackets: it can hold no colon and no ``if`` outside of them."""
    first = c.at
    c.expect("case")
    c.skip_to(":", "if")
    guard = None
    if node.guard is not None:
        c.expect("if")
        guard = expression(c, node.guard)
    at = _header(c, first)
    return tree.Case(at, bound_names(node.pattern), guard, _body(c, node.body))


def _decorators(c: Cursor, nodes: Any) -> tuple[tree.Expr, ...]:
    decorators = []
    for node in nodes:
        first = c.at
        c.expect("@")
        decorators.append(expression(c, node.decorator))
        _note_range(c, c.span(first))
    return tuple(decorators)


def _function(c: Cursor, node: cst.FunctionDef) -> tree.Stmt:
    decorators = _decorators(c, node.decorators)
    first = c.at
    if node.asynchronous is not None:
        c.expect("async")
    c.expect("def")
    c.expect(node.name.value)
    if node.type_parameters is not None:
        c.skip_to("(")
    c.expect("(")
    params = parameters(c, node.params)
    c.expect(")")
    returns = None
    if node.returns is not None:
        c.expect("->")
        returns = expression(c, node.returns.annotation)
    at = _header(c, first)
    body = _body(c, node.body)
    return tree.FunctionDef(at, node.name.value, params, body, decorators, returns, c.spans[c.at - 1][2])


def _class(c: Cursor, node: cst.ClassDef) -> tree.Stmt:
    decorators = _decorators(c, node.decorators)
    first = c.at
    c.expect("class")
    c.expect(node.name.value)
    if node.type_parameters is not None:
        c.skip_to("(", ":")
    bases: tuple[tree.Expr, ...] = ()
    keywords: tuple[tree.Keyword, ...] = ()
    if type(node.lpar) is cst.LeftParen:
        c.expect("(")
        bases, keywords = arguments(c, (*node.bases, *node.keywords))
        c.expect(")")
    at = _header(c, first)
    body = _body(c, node.body)
    return tree.ClassDef(at, node.name.value, bases, keywords, body, decorators, c.spans[c.at - 1][2])


def _present(by_name: dict[str, Any]) -> dict[type[cst.CSTNode], Any]:
    """By type of node; the newest kinds of nodes are absent from older versions of libcst."""
    return {getattr(cst, kind): lower for kind, lower in by_name.items() if hasattr(cst, kind)}


_SIMPLE: dict[type[cst.CSTNode], Callable[[Cursor, Any], list[tree.Stmt]]] = _present(
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
_COMPOUND: dict[type[cst.CSTNode], Callable[[Cursor, Any], tree.Stmt]] = _present(
    {
        "If": _if,
        "For": _for,
        "While": _while,
        "With": _with,
        "Try": _try,
        "TryStar": _try,
        "Match": _match,
        "FunctionDef": _function,
        "ClassDef": _class,
    }
)


def finished(c: Cursor) -> None:
    """Every token must have been passed."""
    if c.at != len(c.texts):
        raise Misaligned
