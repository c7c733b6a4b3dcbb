"""Whether a loop works the same thing out in every pass: an expression, or a call somewhere below the loop."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.flow import call_graph, enclosing
from dl_lint.flow.libraries import LOADERS, MAP_DATASETS, SAMPLERS
from dl_lint.flow.values import Class, External, Function, alternatives
from dl_lint.pipeline import loaders
from dl_lint.pipeline.persistence import READING
from dl_lint.source.syntax import children, dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.enclosing import LoopNode
    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import Binding, Scope
    from dl_lint.pipeline.loops import LoaderLoop


DEEPEST = 6
"""Names that are followed from one to the next."""

_PURE = frozenset({"builtins.range", "builtins.len", "builtins.list", "builtins.int", "builtins.min", "builtins.max"})


def is_same_in(program: Program, call: ast.Call, loop: LoopNode) -> bool:
    """Whether a call in the body of ``loop`` passes the same arguments in every pass."""
    return all(_is_same(program, argument, loop, DEEPEST) for argument in _arguments(call))


def is_same_through_calls(program: Program, call: ast.Call, loop: LoopNode, batches: LoaderLoop) -> bool:
    """Whether a function that ``loop`` calls makes and iterates the same thing in every pass.

    Only where it does so each time it is called: what it makes under a condition may have been thought through.
    """
    function = enclosing.function_of(program, call)
    if function is not enclosing.function_of(program, batches.node) or any(enclosing.tests_around(program, call)):
        return False
    if _is_changed_below(program, call, loop):
        return False
    needed = _parameters_behind(program, list(_arguments(call)), function, loop)
    frames = [
        frame for frame in call_graph.callers(program, function) if loop in enclosing.loops_around(program, frame.call)
    ]
    return (
        bool(frames)
        and needed is not None
        and all(_passes_same(program, frame.call, function, needed, loop) for frame in frames)
    )


def _passes_same(program: Program, call: ast.Call, function: Scope, needed: set[str], loop: LoopNode) -> bool:
    """Whether a call in the body of ``loop`` passes the same for the parameters ``needed`` in every pass."""
    positions = tuple(param.name for param in function.params if param.kind in ("plain", "positional"))
    if function.is_method:
        if function.params and function.params[0].name in needed and not _is_same_object(program, call, loop):
            return False
        positions = positions[1:]
    passed = (loaders.passed(program, call, name, *positions) for name in needed)
    return all(not one.given or _is_same(program, one.expr, loop, DEEPEST) for one in passed)


def _is_same_object(program: Program, call: ast.Call, loop: LoopNode) -> bool:
    """Whether a method is called on an object that no pass makes anew of other things or takes from many."""
    if not isinstance(call.func, ast.Attribute):
        return True
    inside = [one for name in _names(call.func.value) for one in _bindings_in(program, name, loop)]
    return all(
        one.kind == "assign" and one.value is not None and _is_same(program, one.value, loop, DEEPEST) for one in inside
    )


def _arguments(call: ast.Call) -> Iterator[ast.expr]:
    yield from call.args
    for keyword in call.keywords:
        yield keyword.value


def _is_same(program: Program, expr: ast.AST, loop: LoopNode, depth: int) -> bool:
    """Whether ``expr`` cannot differ between passes: nothing that it reads changes, or only to the same again."""
    if not _is_pure(program, expr) or any(_is_touched(program, name, loop) for name in _names(expr)):
        return False
    if not enclosing.changes_in(program, expr, loop):
        return True
    inside = [binding for name in _names(expr) for binding in _bindings_in(program, name, loop)]
    if not inside or depth == 0 or any(binding.kind != "assign" for binding in inside):
        return False
    return all(
        binding.value is not None and binding.value is not expr and _is_same(program, binding.value, loop, depth - 1)
        for binding in inside
    )


def _parameters_behind(program: Program, exprs: list[ast.expr], function: Scope, loop: LoopNode) -> set[str] | None:
    """The parameters of ``function`` that ``exprs`` depend on; None if they depend on anything that may differ, as what
    ``loop`` binds around the function does."""
    found: set[str] = set()
    seen: set[Binding] = set()
    while exprs:
        expr = exprs.pop()
        if not _is_pure(program, expr) or any(_is_bound_around(program, name, function, loop) for name in _names(expr)):
            return None
        for binding in {binding for name in _names(expr) for binding in function.bindings.get(name.id, ())} - seen:
            seen.add(binding)
            if binding.kind == "param":
                found.add(binding.name)
            elif binding.kind == "assign" and binding.value is not None:
                exprs.append(binding.value)
            else:
                return None
    return found


def _is_bound_around(program: Program, name: ast.Name, function: Scope, loop: LoopNode) -> bool:
    """Whether a name that a function does not bind itself is bound in each pass of a loop around its definition."""
    if name.id in function.bindings:
        return False
    scope = function.parent
    while scope is not None and name.id not in scope.bindings:
        scope = scope.parent
    bound = scope.bindings[name.id] if scope is not None else ()
    return any(one.node is loop or loop in enclosing.loops_around(program, one.node) for one in bound)


def _is_touched(program: Program, name: ast.Name, loop: LoopNode) -> bool:
    """Whether the loop stores attributes of ``name`` or calls its methods, which may change it."""
    scope, prefix = program.site(name).scope.function, f"{name.id}."
    stores = (one.node for key, found in scope.bindings.items() if key.startswith(prefix) for one in found)
    called = (call for call in scope.calls if (dotted(call.func) or "").startswith(prefix))
    return any(loop in enclosing.loops_around(program, node) for node in (*stores, *called))


def _is_changed_below(program: Program, call: ast.Call, loop: LoopNode) -> bool:
    """Whether an argument is changed in the function of ``call``, or, kept by self, by what ``loop`` calls."""
    function = enclosing.function_of(program, call)
    chains = {name for argument in _arguments(call) for name in _chains(argument)}
    if any(_changes(program, function, chain) for chain in chains):
        return True
    if not function.is_method or not function.params:
        return False
    own = function.params[0].name + "."
    kept = [chain[len(own) :] for chain in chains if chain.startswith(own)]
    called = (one for one in program.site(loop).scope.function.calls if loop in enclosing.loops_around(program, one))
    entered = dict.fromkeys(inner for one in called for inner in call_graph.entered(program, one))
    return bool(kept) and any(
        _changes(program, other, f"{other.params[0].name}.{name}")
        for other in call_graph.reachable(program, *entered)
        if other.parent is function.parent and other.is_method and other.params and other.name != "__init__"
        for name in kept
    )


def _chains(expr: ast.AST) -> Iterator[str]:
    """The dotted names that an expression reads, as long as they are."""
    waiting = [expr]
    while waiting:
        node = waiting.pop()
        name = dotted(node)
        if name is not None:
            yield name
        else:
            waiting.extend(children(node))


def _changes(program: Program, scope: Scope, chain: str) -> bool:
    """Whether a function stores an attribute of ``chain``, binds it anew as one of self, or calls what changes it."""
    if any(name.startswith(f"{chain}.") or ("." in chain and name == chain) for name in scope.bindings):
        return True
    for call in scope.calls:
        owner, _, method = (dotted(call.func) or "").rpartition(".")
        if owner == chain:
            if _stores(program, call) if call_graph.entered(program, call) else not method.startswith(READING):
                return True
        elif any(dotted(one) == chain for one in call.args) and _stores(program, call, first=False):
            return True
    return False


def _stores(program: Program, call: ast.Call, *, first: bool = True) -> bool:
    """Whether what a call enters stores on objects: on its own, or, not ``first``, on another that it is given."""
    for function in call_graph.reachable(program, *call_graph.entered(program, call)):
        own = function.params[0].name if function.is_method and function.params else None
        if function.name == "__init__":
            continue
        for name in (*function.bindings, *function.changes):
            holder, dot, _ = name.partition(".")
            if dot and (holder == own) is first and any(param.name == holder for param in function.params):
                return True
    return False


def _bindings_in(program: Program, name: ast.Name, loop: LoopNode) -> Iterator[Binding]:
    scope = program.site(name).scope.function
    for binding in scope.bindings.get(name.id, ()):
        if binding.node is loop or loop in enclosing.loops_around(program, binding.node):
            yield binding


def _names(expr: ast.AST) -> Iterator[ast.Name]:
    waiting = [expr]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name):
            yield node
        waiting.extend(children(node))


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
            case External(name=name) if name in SAMPLERS or name in LOADERS or name in MAP_DATASETS or name in _PURE:
                continue
            case Class() | Function():
                if isinstance(one, Function) or dotted(call.func) is None:
                    return False
            case _:
                return False
    return bool(alternatives(program.value(call.func)))
