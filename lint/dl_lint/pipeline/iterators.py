"""Iterators advanced by hand: whether they may end, and who catches it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.flow import call_graph, enclosing
from dl_lint.flow.values import UNKNOWN, External, Generated, Instance, Made, Wrapped, alternatives
from dl_lint.source.syntax import (
    Comprehension,
    Display,
    FunctionDefinition,
    TryStatement,
    dotted,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import Scope
    from dl_lint.flow.values import Value


CATCHING = frozenset({"StopIteration", "Exception", "BaseException"})
ENDLESS = frozenset({"itertools.count", "itertools.repeat"})


def ending(program: Program, function: Scope) -> Iterator[ast.Call]:
    """The calls of a function that advance an iterator and may raise StopIteration.

    In a generator that becomes a RuntimeError, which is seen.
    """
    waiting = [function]
    while waiting:
        scope = waiting.pop()
        if scope.yields or (isinstance(scope.node, ast.GeneratorExp)):
            continue
        waiting.extend(inner for inner in scope.children if inner.kind == "comprehension")
        for call in scope.calls:
            source = _source(program, call)
            if source is not None and _may_end(program, source, function):
                yield call


def _source(program: Program, call: ast.Call) -> ast.expr | None:
    """The iterator that a call advances, where it has no default to fall back on."""
    if isinstance(call.func, ast.Attribute) and call.func.attr == "__next__" and not call.args:
        return call.func.value
    if dotted(call.func) != "next" or len(call.args) != 1 or program.value(call.func) != External("builtins.next"):
        return None
    return call.args[0]


def _may_end(program: Program, source: ast.expr, function: Scope) -> bool:
    if isinstance(source, Comprehension):
        return any(clause.ifs for clause in source.generators)
    if not isinstance(source, ast.Name | ast.Attribute | ast.Subscript):
        return False
    if _is_fresh(program, source, function) and not any(enclosing.loops_around(program, source)):
        return False
    found = alternatives(program.value(source))
    return not any(_is_endless(one) for one in found)


def is_renewed(call: ast.Call, functions: tuple[Scope, ...]) -> bool:
    """Whether one of ``functions`` makes an iterator that an object keeps anew: ``self.lines = open(self.path)``."""
    kept = dotted(call.args[0]) if call.args else None
    return kept is not None and "." in kept and any(kept in one.bindings for one in functions)


def is_unknown(program: Program, call: ast.Call) -> bool:
    """Whether an iterator may come from anywhere, as what an object that is handed over has made: it may never end."""
    source = _source(program, call)
    return source is not None and UNKNOWN in alternatives(program.value(source))


def _is_fresh(program: Program, source: ast.expr, function: Scope) -> bool:
    """Whether an iterator was made in this call: its first item is there, unless samples or files are empty."""
    made = [binding.value for binding in function.bindings.get(source.id, ())] if isinstance(source, ast.Name) else []
    if made and all(isinstance(one, ast.Call) and dotted(one.func) == "iter" for one in made):
        return True
    return all(
        isinstance(one, Made) and enclosing.function_of(program, one.call) is function
        for one in alternatives(program.value(source))
    )


def _is_endless(value: Value) -> bool:
    """Whether an iterator never ends; what a generator of the project does is its own affair."""
    match value:
        case Wrapped(kind="cycle") | Generated():
            return True
        case Made():
            return value.name in ENDLESS
        case Instance() | Wrapped(kind="iter", inner=(Instance(),)):
            return True  # for all that is known
        case _:
            return False


def is_guarded(program: Program, call: ast.Call, functions: tuple[Scope, ...]) -> bool:
    """Whether StopIteration is caught, here or by all that call this function for a sample, however far above.

    The first of ``functions`` is what the loader calls."""
    waiting = [call]
    passed: set[Scope] = set()
    while waiting:
        one = waiting.pop()
        function = enclosing.function_of(program, one)
        if _is_caught(program, one) or function in passed:
            continue
        passed.add(function)
        around = [frame.call for frame in call_graph.callers(program, function)]
        around = [above for above in around if enclosing.function_of(program, above) in functions]
        if not around or function is functions[0]:
            return False
        waiting.extend(around)
    return True


def _is_caught(program: Program, call: ast.Call) -> bool:
    child: ast.AST = call
    for above in enclosing.ancestors(program, call):
        if isinstance(above, FunctionDefinition | ast.Lambda):
            break
        if isinstance(above, TryStatement) and child in above.body and any(_catches(one) for one in above.handlers):
            return True
        child = above
    return False


def _catches(handler: ast.ExceptHandler) -> bool:
    caught = handler.type.elts if isinstance(handler.type, Display) else (handler.type,)
    return any(one is None or dotted(one) in CATCHING for one in caught)
