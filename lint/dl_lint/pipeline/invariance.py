"""Whether a loop works the same thing out in every pass: an expression, or a call somewhere below the loop."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.flow import call_graph, enclosing, purity
from dl_lint.flow.features import feature
from dl_lint.flow.values import Class, External, Function, alternatives
from dl_lint.pipeline import loaders
from dl_lint.source.syntax import children, dotted, names_read

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.enclosing import LoopNode
    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import Binding, Scope
    from dl_lint.flow.values import Frame, Frames, Loader
    from dl_lint.pipeline.loops import LoaderLoop


DEEPEST = 6
"""Names that are followed from one to the next."""


def is_same_in(program: Program, call: ast.Call, loop: LoopNode) -> bool:
    """Whether a call in the body of ``loop`` passes the same arguments in every pass."""
    return all(_is_same(program, argument, loop, DEEPEST) for argument in _arguments(call))


@feature("loaders built alike through calls")
def is_same_through_calls(program: Program, loader: Loader, loop: LoopNode, batches: LoaderLoop) -> bool:
    """Whether a function that ``loop`` calls, itself or through others, makes the same loader in every pass.

    One that makes and iterates it has to do so each time it is called: what it does under a condition may have been
    thought through. One that hands it on may choose which to make by what it is passed.
    """
    function = enclosing.function_of(program, loader.call)
    tests = [test for test, _ in enclosing.tests_around(program, loader.call)]
    if function is enclosing.function_of(program, batches.node):
        frames, chosen = call_graph.callers(program, function), not tests
    else:
        frames = tuple(frame for frame in loader.frames if frame.scope is function)
        chosen = all(_is_of_passed(test, function) for test in tests)
    needed = _parameters_behind(program, [*_arguments(loader.call), *tests], function, loop) if chosen else None
    if needed is None:
        return False
    inside = [frame for frame in frames if loop in enclosing.loops_around(program, frame.call)]
    if not inside:
        return any(_is_same_further_out(program, frame, needed, loop, loader.frames) for frame in frames)
    return all(_passes_same(program, frame.call, function, needed, loop) for frame in inside)


def _is_of_passed(test: ast.expr, function: Scope) -> bool:
    """Whether a test reads nothing but what ``function`` is passed or names itself; its object is not passed."""
    return all(name.id in function.bindings and name.id != function.receiver for name in names_read(test))


def _is_same_further_out(program: Program, frame: Frame, needed: set[str], loop: LoopNode, frames: Frames) -> bool:
    """Whether a caller of the caller of ``frame.scope`` stands in ``loop`` and makes the same of it in every pass."""
    function = enclosing.function_of(program, frame.call)
    if frame.scope.receiver in needed:
        return False  # whose object a pass may have made anew
    passed = (loaders.passed(program, frame.call, name, *frame.scope.positions) for name in needed)
    behind = _parameters_behind(program, [one.expr for one in passed if one.given], function, loop)
    if behind is None or any(enclosing.tests_around(program, frame.call)):
        return False
    outer = [one for one in frames if one.scope is function and loop in enclosing.loops_around(program, one.call)]
    return bool(outer) and all(_passes_same(program, one.call, function, behind, loop) for one in outer)


def _passes_same(program: Program, call: ast.Call, function: Scope, needed: set[str], loop: LoopNode) -> bool:
    """Whether a call in the body of ``loop`` passes the same for the parameters ``needed`` in every pass."""
    own = function.receiver
    if own in needed and not _is_same_object(program, call, loop):
        return False
    passed = (loaders.passed(program, call, name, *function.positions) for name in needed - {own})
    return all(not one.given or _is_same(program, one.expr, loop, DEEPEST) for one in passed)


def _is_same_object(program: Program, call: ast.Call, loop: LoopNode) -> bool:
    """Whether a method is called on an object that no pass makes anew of other things or takes from many."""
    if not isinstance(call.func, ast.Attribute):
        return True
    inside = [one for name in names_read(call.func.value) for one in _bindings_in(program, name, loop)]
    return all(
        one.kind == "assign" and one.value is not None and _is_same(program, one.value, loop, DEEPEST) for one in inside
    )


def _arguments(call: ast.Call) -> Iterator[ast.expr]:
    yield from call.args
    for keyword in call.keywords:
        yield keyword.value


def _is_same(program: Program, expr: ast.AST, loop: LoopNode, depth: int) -> bool:
    """Whether ``expr`` cannot differ between passes: nothing that it reads changes, or only to the same again."""
    if not _is_pure(program, expr) or any(_is_touched(program, name, loop) for name in names_read(expr)):
        return False
    if not enclosing.changes_in(program, expr, loop):
        return True
    inside = [binding for name in names_read(expr) for binding in _bindings_in(program, name, loop)]
    if not inside or depth == 0 or any(binding.kind != "assign" for binding in inside):
        return False
    return all(
        binding.value is not None and binding.value is not expr and _is_same(program, binding.value, loop, depth - 1)
        for binding in inside
    )


def _parameters_behind(program: Program, exprs: list[ast.AST], function: Scope, loop: LoopNode) -> set[str] | None:
    """The parameters of ``function`` that ``exprs`` depend on; None if they depend on anything that may differ between
    passes of ``loop``, which calls the function."""
    found: set[str] = set()
    seen: set[Binding] = set()
    while exprs:
        expr = exprs.pop()
        if not _is_pure(program, expr) or enclosing.changes_in(program, expr, loop):
            return None
        for binding in {binding for name in names_read(expr) for binding in function.bindings.get(name.id, ())} - seen:
            seen.add(binding)
            if binding.kind == "param":
                found.add(binding.name)
            elif binding.kind == "assign" and binding.value is not None:
                exprs.append(binding.value)
            else:
                return None
    return found


def _is_touched(program: Program, name: ast.Name, loop: LoopNode) -> bool:
    """Whether the loop stores attributes of ``name`` or calls its methods, which may change it."""
    scope, prefix = program.site(name).scope.function, f"{name.id}."
    stores = (one.node for key, found in scope.bindings.items() if key.startswith(prefix) for one in found)
    called = (call for call in scope.calls if (dotted(call.func) or "").startswith(prefix))
    return any(loop in enclosing.loops_around(program, node) for node in (*stores, *called))


def _is_constructor(name: str) -> bool:
    """Whether an outside name is that of a class whose objects are what they were given, as transforms and datasets."""
    package, _, last = name.rpartition(".")
    return last[:1].isupper() and "random" not in package


def _bindings_in(program: Program, name: ast.Name, loop: LoopNode) -> Iterator[Binding]:
    scope = program.site(name).scope.function
    for binding in scope.bindings.get(name.id, ()):
        if binding.node is loop or loop in enclosing.loops_around(program, binding.node):
            yield binding


def _is_pure(program: Program, expr: ast.AST) -> bool:
    """Whether ``expr`` gives the same again: no calls but of constructors that only hold their arguments."""
    waiting = [expr]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Lambda):
            continue
        if isinstance(node, ast.Call) and not _constructs(program, node):
            return False
        waiting.extend(children(node))
    return True


def _constructs(program: Program, call: ast.Call) -> bool:
    for one in alternatives(program.value(call.func)):
        match one:
            case External(name=name) if (
                purity.builds(program, name) or name.startswith("os.path.") or _is_constructor(name)
            ):
                continue
            case Class() | Function():
                if isinstance(one, Function) or dotted(call.func) is None:
                    return False
            case _:
                return False
    return bool(alternatives(program.value(call.func)))
