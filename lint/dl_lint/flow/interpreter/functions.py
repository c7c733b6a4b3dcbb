"""What functions return and generate, their parameters left open."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.flow.features import feature
from dl_lint.flow.interpreter import operations
from dl_lint.flow.values import NONE, NOTHING, Generated, Value, union
from dl_lint.source.syntax import ForStatement, advanced

if TYPE_CHECKING:
    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import Scope


def returned(program: Program, scope: Scope) -> Value:
    """What calling a function gives, its parameters left open."""
    return program.solver.solve(("returned", scope), lambda: _returned(program, scope))


def _returned(program: Program, scope: Scope) -> Value:
    if isinstance(scope.node, ast.Lambda):
        return program.symbolic(scope.node.body)
    if scope.yields:
        return _generated(program, scope)
    if not scope.returns:
        return NOTHING if scope.body.exits == "leave" else NONE
    return union(program.symbolic(r.value) if r.value is not None else NONE for r in scope.returns)


@feature("what generators yield", NOTHING)
def _generated(program: Program, scope: Scope) -> Value:
    elements: list[Value] = []
    for one in scope.yields:
        value = program.symbolic(one.value)
        elements.append(operations.iterate(program, value) if isinstance(one, ast.YieldFrom) else value)
    sources = [program.symbolic(loop.node.iter) for loop in scope.loops if isinstance(loop.node, ForStatement)]
    sources += [program.symbolic(one.value) for one in scope.yields if isinstance(one, ast.YieldFrom)]
    sources += [program.symbolic(iterator) for iterator in map(advanced, scope.calls) if iterator is not None]
    return Generated(union(elements), tuple(dict.fromkeys(sources))[:4])
