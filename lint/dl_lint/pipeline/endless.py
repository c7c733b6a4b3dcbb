"""Sources that never end: samplers and streams over which a loader makes one pass, however long."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.flow import call_graph, enclosing
from dl_lint.flow.features import feature
from dl_lint.flow.interpreter import classes
from dl_lint.flow.values import External, Function, Instance, Made, alternatives
from dl_lint.pipeline import loaders
from dl_lint.source.syntax import FunctionDefinition

if TYPE_CHECKING:
    from dl_lint.flow.enclosing import LoopNode
    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import Scope
    from dl_lint.flow.values import Class, Loader

DEEPEST = 3
"""Generators that hand on what another one gives."""

_ENDLESS = frozenset({"itertools.cycle", "itertools.count", "itertools.repeat"})


@feature("sources that never end")
def never_ends(program: Program, loader: Loader) -> bool:
    """Whether what a loader draws its batches by never ends: a batch sampler or sampler, else the stream itself."""
    for name in ("batch_sampler", "sampler", "dataset"):
        given = loaders.argument(program, loader, name)
        if given.given and isinstance(given.expr, ast.expr) and _is_endless(program, given.expr, DEEPEST):
            return True
    return False


def _is_endless(program: Program, expr: ast.expr, depth: int) -> bool:
    """Whether iterating an expression never ends, whatever it may be."""
    if not depth:
        return False
    if isinstance(expr, ast.Call):
        called = alternatives(program.value(expr.func))
        names = {one.name for one in called if isinstance(one, External)}
        if names and len(names) == len(called):
            if names == {"itertools.islice"}:
                stops = [one.value if isinstance(one, ast.Constant) else one for one in expr.args[1:3]]
                return len(stops) == 2 and stops[1] is None and _is_endless(program, expr.args[0], depth - 1)
            return names <= _ENDLESS and len(expr.args) + len(expr.keywords) <= 1
        entered = [one.scope for one in called if isinstance(one, Function)] or [
            scope for scope in call_graph.entered(program, expr) if scope.name != "__init__"
        ]
        if entered:
            return all(_goes_on(program, one, depth) for one in entered)
    found = alternatives(program.value(expr))
    return bool(found) and all(
        isinstance(one, Instance | Made) and one.cls is not None and _is_endless_class(program, one.cls, depth)
        for one in found
    )


def _is_endless_class(program: Program, cls: Class, depth: int) -> bool:
    method = classes.of_class(program, cls, "__iter__")
    return isinstance(method, Function) and _goes_on(program, method.scope, depth)


def _goes_on(program: Program, function: Scope, depth: int) -> bool:
    """Whether a generator has a ``while True`` that nothing leaves, or hands on what one has."""
    node = function.node
    waiting: list[ast.stmt] = list(node.body) if isinstance(node, FunctionDefinition) else []
    while waiting:
        match waiting.pop(0):
            case ast.While(test=ast.Constant(value=value)) as loop if value:
                left = enclosing.is_left_by_break(loop) or is_left_with_function(program, loop)
                if function.yields and not left:
                    return True
            case ast.Expr(value=ast.YieldFrom(value=inner)) | ast.Return(value=ast.Call() as inner):
                if _is_endless(program, inner, depth - 1):
                    return True
            case ast.With() | ast.AsyncWith() as stmt:
                waiting[:0] = stmt.body
            case _:
                continue
    return False


def is_left_with_function(program: Program, loop: LoopNode) -> bool:
    """Whether a ``return`` leaves a loop, and its function with it."""
    function = enclosing.function_of(program, loop)
    return any(loop in enclosing.loops_around(program, one) for one in function.returns)
