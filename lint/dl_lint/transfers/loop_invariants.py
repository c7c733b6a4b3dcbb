"""Loop invariants: which values are the same in every pass of a loop over batches, there and in what it calls."""

from __future__ import annotations

import ast
from collections import defaultdict
from typing import TYPE_CHECKING

from dl_lint.flow import call_graph, enclosing, scopes
from dl_lint.flow.enclosing import LoopNode
from dl_lint.flow.interpreter import arguments, classes
from dl_lint.flow.outcomes import by_default, truth_of
from dl_lint.flow.purity import is_pure
from dl_lint.flow.reaching import reaching
from dl_lint.flow.values import (
    UNKNOWN,
    Class,
    Collection,
    Const,
    External,
    Frame,
    Function,
    Module,
    Namespace,
    Option,
    Table,
    WhenAccelerated,
    alternatives,
)
from dl_lint.pipeline import loops, trainers
from dl_lint.source.syntax import FunctionDefinition, called, dotted, walk
from dl_lint.transfers.training_steps import calls_in, training_steps

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import Binding, Scope, Store

MOST_ENTERED = 400
"""Functions that loops over batches are followed into."""

_PASSING = frozenset(
    {"staticmethod", "classmethod", "property", "no_grad", "enable_grad", "inference_mode", "autocast", "custom_fwd",
     "force_fp32", "auto_fp16"}
)  # fmt: skip
"""Decorators under which each call runs the function; others may keep what it gave."""

_WRITTEN_ONCE = frozenset({"assign", "import", "from", "def", "class"})
"""Bindings that give a name of a module its value for good."""

_KNOWN = (Const, Option, External, Module, Function, Class, Collection, Table, Namespace)
"""What is known to be as it was written or given at the start."""


Repeating = LoopNode | FunctionDefinition
"""A loop over batches, or a function that a trainer calls for each batch."""


def repeating_loop(program: Program, node: ast.AST, value: ast.expr | None) -> Repeating | None:
    """What comes to a place for every batch, with a ``value`` there that is the same each time, if one is given."""
    for one in call_graph.passes(program, node):
        if one.through:
            return None
        if isinstance(one.loop, FunctionDefinition):
            function = enclosing.function_of(program, node)
            if (value is not None and not _is_same(program, value)) or not _always_hold(program, one.guards):
                return None
            return _entering_loop(program, function, frozenset())
        if one.loop in _over_batches(program):
            same = not any(enclosing.changes_in(program, test, one.loop) for test, _ in one.guards)
            same = same and not _are_off(program, one.guards)
            return one.loop if same and (value is None or _is_invariant(program, value, one.loop)) else None
    return None


def _over_batches(program: Program) -> dict[LoopNode, Scope]:
    """The loops over batches, and the other steps of trainings that are loops, each with its function."""
    return program.once("batch loops", lambda: dict(_find_loops(program)))


def _find_loops(program: Program) -> Iterator[tuple[LoopNode, Scope]]:
    yield from ((loop.node, loop.function) for loop in loops.loader_loops(program))
    for step in training_steps(program):
        if not isinstance(step.node, FunctionDefinition):
            yield step.node, step.function


def _is_invariant(program: Program, expr: ast.expr, loop: LoopNode) -> bool:
    """Whether an expression in a loop is the same tensor, or has the same values, in each pass."""
    if enclosing.changes_in(program, expr, loop):
        return False
    name = dotted(expr)
    if name is None:
        return is_pure(program, expr)
    if "." in name:
        return _is_set_at_first(program, program.attribute_stores(name.rpartition(".")[2]))
    return not any(
        isinstance(call.func, ast.Attribute) and call.func.attr.endswith("_") and dotted(call.func.value) == name
        for call in enclosing.function_of(program, expr).calls
    )


def _is_set_at_first(program: Program, stores: Iterable[Store]) -> bool:
    return all(enclosing.function_of(program, store.node).name == "__init__" for store in stores)


# --- in the functions that a loop enters ----------------------------------------------------


def _entries(program: Program) -> dict[Scope, list[ast.Call]]:
    """The functions that loops over batches enter, each with the calls that do so."""
    return program.once("entered by batch loops", lambda: _find_entries(program))


def _find_entries(program: Program) -> dict[Scope, list[ast.Call]]:
    found: defaultdict[Scope, list[ast.Call]] = defaultdict(list)
    calls = [call for loop, scope in _over_batches(program).items() for call in calls_in(program, loop, scope)]
    calls += [call for step in _run_by_trainers(program) for call in calls_in(program, None, step)]
    waiting = list(dict.fromkeys(calls))
    for call in waiting:
        for function in _entered(program, call):
            if function not in found and len(found) < MOST_ENTERED:
                waiting += calls_in(program, None, function)
            found[function].append(call)
    return found


def _run_by_trainers(program: Program) -> frozenset[Scope]:
    return program.once("run by trainers", lambda: frozenset(trainers.called_for_each_batch(program)))


def _entered(program: Program, call: ast.Call) -> Iterator[Scope]:
    """The functions that each run of a call enters, constructors too."""
    built = (classes.of_class(program, one, "__init__") for one in _classes(program, call))
    for function in (*call_graph.entered(program, call), *(one.scope for one in built if isinstance(one, Function))):
        if scopes.decorators(function) <= _PASSING and not function.yields:
            yield function


def _classes(program: Program, call: ast.Call) -> Iterator[Class]:
    yield from (one for one in alternatives(program.value(call.func)) if isinstance(one, Class))


def _entering_loop(program: Program, function: Scope, seen: frozenset[Scope]) -> Repeating | None:
    """What enters a function for every batch."""
    if function in _run_by_trainers(program) and isinstance(function.node, FunctionDefinition):
        return function.node
    for call in _entries(program).get(function, ()) if function not in seen else ():
        for one in call_graph.passes(program, call):
            if one.through:
                break
            if one.loop in _over_batches(program):
                if not any(enclosing.changes_in(program, test, one.loop) for test, _ in one.guards):
                    return None if _are_off(program, one.guards) else one.loop
                break
            if isinstance(one.loop, FunctionDefinition):
                outer = enclosing.function_of(program, call) if _always_hold(program, one.guards) else None
                found = _entering_loop(program, outer, seen | {function}) if outer is not None else None
                if found is not None:
                    return found
                break
    return None


def _always_hold(program: Program, tests: call_graph.Guards) -> bool:
    """Whether all tests are known to have these outcomes, at least where there is an accelerator, or to have the same
    in all of a run: they are of options, whose defaults do not exclude these."""
    if _are_off(program, tests):
        return False
    for test, outcome in tests:
        found = _outcome(program, test)
        if found is not outcome and (found is not None or not _is_of_options(program, test)):
            return False
    return True


def _are_off(program: Program, tests: call_graph.Guards) -> bool:
    """Whether only what a user asks for has all tests come out so."""
    return any(by_default(program, test) is (not outcome) for test, outcome in tests)


def _is_of_options(program: Program, test: ast.expr) -> bool:
    parts = [one for one in walk(test) if isinstance(one, ast.Name | ast.Attribute)]
    whole = [one for one in parts if not isinstance(program.parent(one), ast.Attribute)]
    return bool(whole) and all(isinstance(found, Option) for one in whole for found in alternatives(program.value(one)))


def _outcome(program: Program, test: ast.expr) -> bool | None:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _outcome(program, test.operand)
        return None if inner is None else not inner
    if isinstance(test, ast.Attribute) and test.attr == "is_cuda":
        return True
    found = program.value(test)
    return True if isinstance(found, WhenAccelerated) else truth_of(found)


def _is_same(program: Program, expr: ast.expr, seen: frozenset[ast.AST] = frozenset()) -> bool:
    """Whether an expression of a function that a loop enters has the same values each time."""
    if expr in seen or not is_pure(program, expr):
        return False
    seen |= {expr}
    names = (node for node in walk(expr) if isinstance(node, ast.Name))
    return all(_is_same_attribute(program, one, seen) for one in _attributes(expr)) and all(
        _is_same_name(program, one, expr, seen) for one in names
    )


def _attributes(expr: ast.expr) -> list[ast.Attribute]:
    """The attributes that an expression reads, without the methods that it calls."""
    methods = {node.func for node in walk(expr) if isinstance(node, ast.Call)}
    return [node for node in walk(expr) if isinstance(node, ast.Attribute) and node not in methods]


def _is_same_attribute(program: Program, node: ast.Attribute, seen: frozenset[ast.AST]) -> bool:
    """Whether an attribute is set in ``__init__`` alone, if in each step then to the same, or is known not to be set
    at all."""
    if node.attr in _changed(program):
        return False
    stores = list(program.attribute_stores(node.attr))
    if not stores:
        found = alternatives(program.value(node))
        return bool(found) and all(isinstance(one, _KNOWN) for one in found)
    if not _is_set_at_first(program, stores):
        return False
    inside = [one for one in stores if enclosing.function_of(program, one.node) in _entries(program)]
    return all(one.value is not None and not one.path and _is_same(program, one.value, seen) for one in inside)


def _changed(program: Program) -> frozenset[str]:
    """The last parts of the names of what functions change in place, and of the methods of classes."""
    return program.read_off("changed in functions", lambda: frozenset(_find_changed(program)))


def _find_changed(program: Program) -> Iterator[str]:
    for file in program.files:
        for scope in file.scopes:
            if scope.is_method:
                yield scope.name
            if scope.function.kind != "module":
                yield from (name.rpartition(".")[2] for name in scope.changes)
        for method in file.methods:
            if method.endswith("_") and not method.endswith("__"):
                yield from (
                    (dotted(call.func.value) or "").rpartition(".")[2]
                    for call in file.methods[method]
                    if isinstance(call.func, ast.Attribute)
                )


def _is_same_name(program: Program, node: ast.Name, expr: ast.expr, seen: frozenset[ast.AST]) -> bool:
    site = program.sites[node]
    scope: Scope | None = site.scope
    while scope is not None and (node.id not in scope.bindings or (scope.kind == "class" and scope is not site.scope)):
        scope = scope.parent
    if scope is None:
        return UNKNOWN not in alternatives(program.value(node))
    if scope.kind == "comprehension":
        return scope.node in list(walk(expr))
    if scope.kind == "module":
        return _is_written_once(program, scope, node.id)
    if scope is not enclosing.function_of(program, expr):
        return False
    reach = reaching(scope, node.id, site)
    if len(reach.bindings) != 1 or not reach.certain:
        return False
    return _is_same_binding(program, reach.bindings[0], node, seen)


def _is_written_once(program: Program, module: Scope, name: str) -> bool:
    """Whether a name of a module is bound once and for all, and what it stands for is not changed in a function."""
    bound = module.bindings[name]
    always = all(one.kind in _WRITTEN_ONCE and not any(enclosing.loops_around(program, one.node)) for one in bound)
    is_library = all(one.kind == "import" for one in bound)  # ``np.append(…)`` changes nothing
    return always and name not in module.remote and (is_library or name not in _changed(program))


def _is_same_binding(program: Program, binding: Binding, node: ast.Name, seen: frozenset[ast.AST]) -> bool:
    """Whether a local name stands for the same each time: a constant, or a parameter that gets nothing else."""
    function = binding.site.scope.function
    if node.id in function.changes or any(_writes(call, node.id) for call in function.calls):
        return False
    if binding.kind == "param":
        if node.id == function.receiver:
            return isinstance(program.parent(node), ast.Attribute)
        return function not in _run_by_trainers(program) and all(
            _passes_same(program, Frame(function, call), node.id, seen) for call in _entries(program)[function]
        )
    value = binding.value if binding.kind == "assign" and not binding.path else None
    return value is not None and _is_same(program, value, seen)


def _writes(call: ast.Call, name: str) -> bool:
    """Whether a call of a method changes a tensor in place: ``mask.fill_(0)``."""
    method = called(call) or ""
    return method.endswith("_") and isinstance(call.func, ast.Attribute) and dotted(call.func.value) == name


def _passes_same(program: Program, frame: Frame, name: str, seen: frozenset[ast.AST]) -> bool:
    """Whether a call passes what is the same each time that a loop over batches comes to it."""
    param = next(one for one in frame.scope.params if one.name == name)
    node = arguments.passed(program, frame, name).node
    if node is frame.call:
        return param.default is not None
    passed = node.value if isinstance(node, ast.keyword) and node.arg is not None else node
    if not isinstance(passed, ast.expr) or isinstance(passed, ast.Starred):
        return False
    loop = next((one for one in enclosing.loops_around(program, frame.call) if one in _over_batches(program)), None)
    if loop is None:
        return _is_same(program, passed, seen)
    kept = all(_is_same_attribute(program, one, seen) for one in _attributes(passed))
    return kept and _is_invariant(program, passed, loop)
