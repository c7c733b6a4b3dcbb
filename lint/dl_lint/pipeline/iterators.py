"""Iterators advanced by hand: whether they may end, and who catches it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.flow import call_graph, enclosing
from dl_lint.flow.interpreter import classes
from dl_lint.flow.values import UNKNOWN, External, Function, Generated, Instance, Made, Wrapped, alternatives
from dl_lint.source.positions import span
from dl_lint.source.syntax import (
    Assignment,
    Comprehension,
    Display,
    FunctionDefinition,
    TryStatement,
    are_alike,
    dotted,
    targets,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import Scope
    from dl_lint.flow.values import Class, Value


CATCHING = frozenset({"StopIteration", "Exception", "BaseException"})
ENDLESS = frozenset({"itertools.count", "itertools.repeat"})
ADVANCING = frozenset({"next", "__next__", "send"})


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
        return any(clause.ifs for clause in source.generators) and not _is_looked_for(program, source)
    if not isinstance(source, ast.Name | ast.Attribute | ast.Subscript):
        return False
    if _is_fresh(program, source, function) and not any(enclosing.loops_around(program, source)):
        return False
    found = alternatives(program.value(source))
    return not any(_is_endless(program, one) for one in found)


def is_renewed(program: Program, call: ast.Call, functions: tuple[Scope, ...]) -> bool:
    """Whether one of ``functions`` makes an iterator that an object keeps anew: ``self.lines = open(self.path)``, or
    a call is the second try, once the first came to the end of an iterator: ``except StopIteration: self.begin()``."""
    kept = dotted(call.args[0]) if call.args else None
    anew = kept is not None and "." in kept and any(kept in one.bindings for one in functions)
    return anew or _is_second_try(program, call)


def _is_second_try(program: Program, call: ast.Call) -> bool:
    source = _source(program, call)
    for above in enclosing.ancestors(program, call):
        if isinstance(above, FunctionDefinition | ast.Lambda) or source is None:
            return False
        tried = program.parent(above)
        if isinstance(tried, TryStatement) and isinstance(above, ast.ExceptHandler) and _catches(above):
            inside = {
                found for stmt in tried.body for one in enclosing.simple(stmt) if (found := _advanced(program, one))
            }
            begun = enclosing.statement_of(program, call) not in above.body[:1]
            return begun and any(are_alike(one, source) for one in inside)
    return False


def _advanced(program: Program, node: ast.AST) -> ast.expr | None:
    return _source(program, node) if isinstance(node, ast.Call) else None


def is_unknown(program: Program, call: ast.Call) -> bool:
    """Whether an iterator may come from anywhere, as what an object that is handed over has made: it may never end."""
    source = _source(program, call)
    return source is not None and UNKNOWN in alternatives(program.value(source))


def _is_looked_for(program: Program, search: Comprehension) -> bool:
    """Whether ``any(test for …)`` was asked before ``next(… for … if test)``."""
    for test, outcome in enclosing.tests_around(program, search):
        match test:
            case ast.Call(
                func=ast.Name(id="any"),
                args=(
                    ast.ListComp(generators=(clause,), elt=found)
                    | ast.SetComp(generators=(clause,), elt=found)
                    | ast.GeneratorExp(generators=(clause,), elt=found),
                ),
            ) if outcome:
                searched = search.generators[0]
                tests = (*searched.ifs, searched.iter, searched.target)
                if len(tests) == 3 and all(map(are_alike, tests, (found, clause.iter, clause.target))):
                    return True
    return False


def _is_fresh(program: Program, source: ast.expr, function: Scope) -> bool:
    """Whether an iterator was made in this call: its first item is there, unless samples or files are empty."""
    made = [binding.value for binding in function.bindings.get(source.id, ())] if isinstance(source, ast.Name) else []
    if made and all(isinstance(one, ast.Call) and dotted(one.func) == "iter" for one in made):
        return True
    return all(
        isinstance(one, Made) and enclosing.function_of(program, one.call) is function
        for one in alternatives(program.value(source))
    )


def _is_endless(program: Program, value: Value) -> bool:
    """Whether an iterator never ends; what a generator of the project does is its own affair."""
    match value:
        case Wrapped(kind="cycle") | Generated():
            return True
        case Made():
            return value.name in ENDLESS
        case Wrapped(kind="iter", inner=(Instance(cls=cls) as inner,)):
            return _is_own_iterator(program, cls) and _is_endless(program, inner)
        case Instance(cls=cls):
            method = classes.of_class(program, cls, "__next__")
            return isinstance(method, Function) and not _may_run_out(program, method.scope, cls)
        case _:
            return False


def _is_own_iterator(program: Program, cls: Class) -> bool:
    """Whether ``iter()`` of an object gives the object itself."""
    method = classes.of_class(program, cls, "__iter__")
    if not isinstance(method, Function) or not method.scope.params:
        return False
    own, returned = method.scope.params[0].name, method.scope.returns
    return bool(returned) and all(one.value is not None and dotted(one.value) == own for one in returned)


def _may_run_out(program: Program, advance: Scope, cls: Class) -> bool:
    """Whether ``__next__`` raises StopIteration, or advances another iterator, itself or in what it calls.

    A function that catches that, makes its iterator anew and goes on does neither.
    """
    for function in call_graph.reachable(program, advance, cls=cls):
        if _renews(program, function):
            continue
        for scope in classes.with_inner(function):
            loaded = {name for name in ("StopIteration", "next") if scope.loads.get(name)}
            if loaded or any(
                isinstance(call.func, ast.Attribute) and call.func.attr in ADVANCING for call in scope.calls
            ):
                return True
            if any(dotted(call.func) == "super" for call in scope.calls):
                return True
    return False


def _renews(program: Program, function: Scope) -> bool:
    """Whether a function advances iterators only where it catches their end, and binds them anew when it does.

    Of nothing at all it ends all the same; then there is nothing to mix into samples.
    """
    tried = [(call, source) for call in function.calls if (source := _source(program, call)) is not None]
    ends = function.loads.get("StopIteration", ())
    named = sum(len(scope.loads.get("next", ())) for scope in classes.with_inner(function))
    return (
        bool(tried)
        and named == sum(isinstance(call.func, ast.Name) for call, _ in tried)
        and all(_is_renewed(program, call, dotted(source)) for call, source in tried)
        and all(isinstance(enclosing.statement_of(program, one), TryStatement) for one in ends)
    )


def _is_renewed(program: Program, call: ast.Call, iterator: str | None) -> bool:
    """Whether the end of an iterator leads to one bound anew, or this call advances that."""
    child: ast.AST = call
    for above in enclosing.ancestors(program, call):
        if isinstance(above, FunctionDefinition | ast.Lambda) or iterator is None:
            return False
        if isinstance(above, ast.ExceptHandler) and _binds_anew(above, iterator):
            return True
        if isinstance(above, TryStatement) and child in above.body:
            return any(_catches(one) and _binds_anew(one, iterator) for one in above.handlers)
        child = above
    return False


def _binds_anew(handler: ast.ExceptHandler, iterator: str) -> bool:
    """Whether a handler binds a name to what a call gives, and raises in no case."""
    bound = any(
        isinstance(stmt, Assignment) and isinstance(stmt.value, ast.Call) and iterator in map(dotted, targets(stmt))
        for stmt in handler.body
    )
    return bound and not _raises(handler.body)


def _raises(body: list[ast.stmt]) -> bool:
    inner = (getattr(stmt, part, []) for stmt in body for part in ("body", "orelse"))
    return any(isinstance(stmt, ast.Raise) for stmt in body) or any(map(_raises, inner))


def first(program: Program, calls: list[ast.Call]) -> Iterator[ast.Call]:
    """Those of ``calls`` before which no other of them is sure to have advanced the same iterator of one function.

    Where two follow each other, one remark is enough.
    """
    for call in calls:
        before = (
            one
            for one in calls
            if span(one) < span(call) and enclosing.function_of(program, one) is enclosing.function_of(program, call)
        )
        if not any(_advances(program, one, call) for one in before):
            yield call


def _advances(program: Program, earlier: ast.Call, call: ast.Call) -> bool:
    """Whether ``earlier`` is certain to advance the iterator of ``call`` before it, in a block that both stand in."""
    sources = {dotted(found) for one in (earlier, call) if (found := _source(program, one)) is not None}
    stmt = enclosing.statement_of(program, earlier)
    if len(sources) != 1 or None in sources or earlier not in enclosing.simple(stmt):
        return False
    above = program.parent(stmt) if stmt is not None else None
    around = {call, *enclosing.ancestors(program, call)}
    blocks = (getattr(above, name, ()) for name in ("body", "orelse", "finalbody"))
    return any(isinstance(one, list) and stmt in one and not around.isdisjoint(one) for one in blocks)


def is_guarded(program: Program, call: ast.Call, functions: tuple[Scope, ...], depth: int = 3) -> bool:
    """Whether StopIteration is caught, here or by all that call this function for a sample."""
    child: ast.AST = call
    for above in enclosing.ancestors(program, call):
        if isinstance(above, FunctionDefinition | ast.Lambda):
            break
        if isinstance(above, TryStatement) and child in above.body and any(_catches(one) for one in above.handlers):
            return True
        child = above
    around = [frame.call for frame in call_graph.callers(program, enclosing.function_of(program, call)) if depth]
    around = [one for one in around if enclosing.function_of(program, one) in functions]
    return bool(around) and all(is_guarded(program, one, functions, depth - 1) for one in around)


def _catches(handler: ast.ExceptHandler) -> bool:
    caught = handler.type.elts if isinstance(handler.type, Display) else (handler.type,)
    return any(one is None or dotted(one) in CATCHING for one in caught)
