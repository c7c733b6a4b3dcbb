"""Exception handlers around the fetching of a sample, and what they give in its place."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dl_lint.flow import call_graph, enclosing
from dl_lint.flow.values import External, alternatives
from dl_lint.pipeline import datasets
from dl_lint.source.syntax import (
    Assignment,
    Display,
    FunctionDefinition,
    TryStatement,
    called,
    children,
    dotted,
    is_none,
    targets,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import Scope
    from dl_lint.pipeline.datasets import DatasetClass


BROAD = frozenset({"Exception", "BaseException"})

FILLERS = frozenset(
    {"zeros", "ones", "empty", "full", "rand", "randn", "zeros_like", "ones_like", "empty_like", "list", "dict"}
)
"""Functions whose result holds nothing of the sample; ``Image.new`` is told by its qualified name."""

CHOOSING = frozenset({"randint", "randrange", "choice", "random", "sample", "uniform", "len", "int", "item"})
"""Functions that choose another index."""


@dataclass(frozen=True, slots=True)
class Swallowed:
    """``handler`` catches every error of fetching a sample, tells nobody, and gives ``instead``; ``endless`` where that
    is got in the same way, so that nothing ends it where no sample can be read."""

    handler: ast.ExceptHandler
    instead: str
    endless: bool


def swallowed(program: Program, dataset: DatasetClass) -> Iterator[Swallowed]:
    """The handlers around the fetching of samples that neither raise, log nor count.

    Whatever else a handler does is not known to be silent, and it is left out.
    """
    functions = tuple(f for f in datasets.fetching(program, dataset.cls) if f.name not in ("__iter__", "__next__"))
    for function in functions:
        for owner in function.file.arms:
            if isinstance(owner, TryStatement) and enclosing.function_of(program, owner) is function:
                if not _fetches(program, owner, function):
                    continue
                for handler in owner.handlers:
                    instead = _instead(program, owner, handler, function) if _is_broad(handler) else None
                    if instead is not None:
                        yield Swallowed(handler, instead, instead in (ANOTHER, AGAIN))


def _is_broad(handler: ast.ExceptHandler) -> bool:
    caught = handler.type.elts if isinstance(handler.type, Display) else (handler.type,)
    return any(one is None or dotted(one) in BROAD for one in caught)


def _fetches(program: Program, node: TryStatement, function: Scope) -> bool:
    """Whether the body of a ``try`` reads a file, directly or in a function that it calls, or takes the sample that
    was asked for from what the dataset wraps."""
    index = function.params[1].name if function.name == "__getitem__" and len(function.params) > 1 else None
    for expr in _evaluated(node.body):
        if isinstance(expr, ast.Call):
            found = alternatives(program.value(expr.func))
            if any(isinstance(one, External) and program.models.has(one.name, "Reads") for one in found):
                return True
            entered = call_graph.reachable(program, *call_graph.entered(program, expr))
            if any(program.models.has(name, "Reads") for _, name in datasets.outside_calls(program, *entered)):
                return True
        elif isinstance(expr, ast.Assign | ast.Return) and _takes(expr.value, index):
            return True
    return False


def _takes(expr: ast.AST | None, index: str | None) -> bool:
    """Whether an expression is ``self.dataset[index]``."""
    match expr:
        case ast.Subscript(value=ast.Attribute(), slice=ast.Name(id=name), ctx=ast.Load()):
            return name == index
        case _:
            return False


def _evaluated(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """The nodes of statements, those of functions defined among them left out."""
    waiting: list[ast.AST] = [*body]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, FunctionDefinition | ast.ClassDef | ast.Lambda):
            yield node
            waiting.extend(ast.iter_child_nodes(node))


ANOTHER = "another sample"

AGAIN = "another attempt"


def _instead(program: Program, owner: ast.AST, handler: ast.ExceptHandler, function: Scope) -> str | None:
    """What a handler gives in place of the sample; None where it is not known to give anything, or tells of it."""
    instead, anew = None, False
    for stmt in handler.body:
        match stmt:
            case ast.Return(value=value):
                return _given(program, value, function)
            case ast.Continue():
                return (ANOTHER if anew else AGAIN) if _is_retried(program, owner, jumps=True) else None
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                continue
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign() if _chooses(program, stmt):
                anew = True
                instead = instead or _assigned(program, owner, stmt, function)
            case _:
                return None
    if instead is not None:
        return None if _speaks(function) else instead
    return (ANOTHER if anew else AGAIN) if _is_retried(program, owner, jumps=False) else None


def _given(program: Program, value: ast.expr | None, function: Scope) -> str | None:
    if value is None or is_none(value):
        return "`None`"
    if _is_another(program, value, function):
        return ANOTHER
    return "a filler" if _is_filler(program, value) else None


def _assigned(program: Program, owner: ast.AST, stmt: ast.stmt, function: Scope) -> str | None:
    """What takes the place of a name that the body of the ``try`` binds as well."""
    if not isinstance(owner, TryStatement) or not isinstance(stmt, Assignment) or stmt.value is None:
        return None
    bound = {name for one in _evaluated(list(owner.body)) for name in map(dotted, _stored(one))}
    return _given(program, stmt.value, function) if bound & set(map(dotted, _stored(stmt))) else None


def _stored(node: ast.AST) -> list[ast.expr]:
    return [part for one in targets(node) for part in (one.elts if isinstance(one, Display) else (one,))]


def _is_another(program: Program, value: ast.expr, function: Scope) -> bool:
    """Whether an expression fetches another sample of the dataset: ``self[other]``, ``self.__getitem__(other)``."""
    own = function.receiver
    match value:
        case ast.Subscript(value=ast.Name(id=name), slice=index):
            return name == own and _is_quiet(program, index)
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="__getitem__"), args=args):
            return name == own and all(_is_quiet(program, one) for one in args)
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr), args=args) if attr == function.name:
            return name == own and all(_is_quiet(program, one) for one in args)
        case _:
            return False


def _is_filler(program: Program, value: ast.expr) -> bool:
    match value:
        case ast.Constant() | ast.List(elts=[]) | ast.Dict(keys=[]):
            return True
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return any(_is_filler(program, one) for one in parts) and all(_is_quiet(program, one) for one in parts)
        case ast.Dict(values=parts):
            return any(_is_filler(program, one) for one in parts) and all(_is_quiet(program, one) for one in parts)
        case ast.Call():
            return (_is_new_image(program, value) or called(value) in FILLERS) and _is_quiet(program, value)
        case _:
            return False


def _is_new_image(program: Program, call: ast.Call) -> bool:
    return External("PIL.Image.new") in alternatives(program.value(call.func))


def _is_quiet(program: Program, value: ast.AST) -> bool:
    """Whether an expression calls nothing but what makes fillers or chooses an index."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        waiting.extend(children(one))
        if isinstance(one, ast.Call) and called(one) not in FILLERS | CHOOSING and not _is_new_image(program, one):
            return False
    return True


def _chooses(program: Program, stmt: ast.stmt) -> bool:
    """Whether an assignment gives a local name something quiet, and counts nothing."""
    match stmt:
        case ast.AugAssign(target=ast.Name(), value=value):
            return _is_quiet(program, value)
        case ast.Assign(targets=found, value=value):
            given = _is_quiet(program, value) or (isinstance(value, ast.Call) and called(value) == "__getitem__")
            return given and all(isinstance(one, ast.Name | ast.Tuple) for one in found)
        case _:
            return False


def _is_retried(program: Program, owner: ast.AST, *, jumps: bool) -> bool:
    """Whether nothing but another pass of a loop without an end can follow a ``try`` that has failed: it is the last
    statement there, or its handler ``jumps``."""
    above = program.parent(owner)
    if not isinstance(above, ast.While) or (above.body[-1] is not owner and not jumps):
        return False
    match above.test:
        case ast.Constant(value=value):
            return bool(value)
        case ast.UnaryOp(op=ast.Not(), operand=ast.Name(id=name)):
            return isinstance(owner, TryStatement) and any(
                name == dotted(one) for node in _evaluated(list(owner.body)) for one in targets(node)
            )
        case _:
            return False


def _speaks(function: Scope) -> bool:
    """Whether a function prints, logs or warns anywhere: of what was bound in a handler, it may tell later."""
    told = {"print", "warn", "warning", "info", "error", "exception", "debug", "log", "print_exc"}
    return any(called(call) in told for call in function.calls)
