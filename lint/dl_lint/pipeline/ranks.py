"""Models of which each process trains a replica, and how the processes share their data."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.flow import call_graph, effects, enclosing, guards
from dl_lint.flow.features import feature
from dl_lint.flow.interpreter import classes
from dl_lint.flow.interpreter.library_calls import TORCH_LOADER
from dl_lint.flow.models import library
from dl_lint.flow.values import (
    External,
    Instance,
    Loader,
    Made,
    Partial,
    alternatives,
)
from dl_lint.pipeline import loaders, loops, workers
from dl_lint.pipeline.training import names_in, words
from dl_lint.source.syntax import identifiers, names_read, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import Scope
    from dl_lint.pipeline.loops import LoaderLoop


WRAPPERS = frozenset(
    {"DistributedDataParallel", "FullyShardedDataParallel", "GeminiDDP", "ZeroDDP", "ColoDDP", "ShardedDataParallel"}
)
"""Classes, of whatever library, around a model that averages its gradients with other processes."""

PREPARING = frozenset({"accelerate.Accelerator", "lightning.fabric.Fabric", "lightning.Fabric"})

SHARDS = frozenset(
    {"rank", "ranks", "world", "worldsize", "shard", "shards", "sharded", "replica", "replicas", "distributed", "dist",
     "processes", "mpi", "hvd", "horovod"}
)  # fmt: skip
"""Words in the names of what gives processes different data."""

RANKS = SHARDS | frozenset(
    {"ddp", "gpu", "gpus", "node", "nodes", "process", "parallel", "multi", "sampler", "samplers", "nproc", "ngpu",
     "ngpus", "devices"}
)  # fmt: skip
"""Words in the names of what tells one process from several."""

_ONE_OF_THEM = frozenset({"rank", "master", "main"})
"""Words in the names of what tells one rank from the others."""

HOW = frozenset(library().get(TORCH_LOADER).positions) - {"dataset", "sampler", "batch_sampler"}
"""Arguments of a loader that say how, and not which, samples are fetched."""

_FARTHEST = 2
"""Calls that the data of a loader are followed out of: a builder, and what learns."""

_DEEPEST = 4


def chooses_rank(test: ast.expr) -> bool:
    """Whether a test is of the rank and of nothing else, and so holds in every step of some process: ``rank == 0``."""
    names = list(names_in(test))
    return bool(names) and all(not _ONE_OF_THEM.isdisjoint(words(name)) for name in names)


def replicating(program: Program, loop: LoaderLoop) -> ast.Call | None:
    """The call that wraps the model which a training loop runs, for other processes to have replicas of it."""
    inside, entered = _running(program, loop)
    for step in effects.backward_passes(program):
        if (step in inside or step in entered) and isinstance(step.func, ast.Attribute):
            for one in alternatives(program.value(step.func.value)):
                if isinstance(one, Made) and one.name in PREPARING:
                    return one.call
    # what the functions are given is known of all their callers at once, so the loop's own call has to tell
    models = [expr for call in inside for expr in (call.func, *call.args)]
    models += [call.func for call in entered if not _is_parameter(program, call.func)]
    for model in models:
        for one in alternatives(program.value(model)):
            if isinstance(one, Made) and is_wrapper(one.name) and guards.may_run(program, one.call):
                return one.call
    return next(_wrappers_around(program, loop), None)


def is_beside(program: Program, loader: Loader, wrapping: ast.Call) -> bool:
    """Whether one function both wraps the model and makes the loader, itself or by calls."""
    places = (loader.call, *(frame.call for frame in loader.frames))
    around = enclosing.function_of(program, wrapping)
    return any(enclosing.function_of(program, place) is around for place in places)


def _is_parameter(program: Program, expr: ast.expr) -> bool:
    while isinstance(expr, ast.Attribute):
        expr = expr.value
    if not isinstance(expr, ast.Name):
        return True
    function = enclosing.function_of(program, expr)
    return expr.id != function.receiver and expr.id in (param.name for param in function.params)


def is_wrapper(name: str) -> bool:
    return name.rpartition(".")[2] in WRAPPERS


def _running(program: Program, loop: LoaderLoop) -> tuple[dict[ast.Call, None], dict[ast.Call, None]]:
    """The calls that run in a pass of ``loop``: those in it, and those in the functions that they enter."""
    scopes = tuple(classes.with_inner(loop.function))
    inside = [
        call for scope in scopes for call in scope.calls if loop.node in set(enclosing.loops_around(program, call))
    ]
    functions = call_graph.reachable(program, *(one for call in inside for one in _entered(program, call)))
    entered = (call for function in functions for scope in classes.with_inner(function) for call in scope.calls)
    return dict.fromkeys(inside), dict.fromkeys(entered)


def _entered(program: Program, call: ast.Call) -> Iterator[Scope]:
    for one in alternatives(program.value(call.func)):
        if not isinstance(one, Partial | Instance):
            yield from workers.functions(program, one)


def _wrappers_around(program: Program, loop: LoaderLoop) -> Iterator[ast.Call]:
    """The wrappers made on the way to a loop: in its function, in those that call it, or in the class around it."""
    functions = dict.fromkeys((loop.function,))
    for _ in range(_DEEPEST):
        calls = [frame.call for function in functions for frame in call_graph.callers(program, function)]
        functions.update((enclosing.function_of(program, call), None) for call in calls)
    for function in tuple(functions):
        if function.is_method and function.parent is not None:
            functions.update(dict.fromkeys(function.parent.children))
    for function in functions:
        yield from (call for call in function.calls if _wraps(program, call))


def _wraps(program: Program, call: ast.Call) -> bool:
    named = any(isinstance(one, External) and is_wrapper(one.name) for one in alternatives(program.value(call.func)))
    return named and guards.may_run(program, call)


# --- how processes share their data ---------------------------------------------------------


@feature("prepared loaders")
def is_prepared(program: Program, loader: Loader) -> bool:
    """Whether a loader is given to accelerate or Fabric anywhere. What goes over it, such as ``cycle(loader)``, is left
    alone by them."""
    if loader.prepared:
        return True
    calls = program.method_calls(*program.models.methods("Prepared"))
    given = (arg for call in calls for arg in (*call.args, *(one.value for one in call.keywords)))
    values = (program.value(one.value if isinstance(one, ast.Starred) else one) for one in given)
    return any(one.call is loader.call for value in values for one in loops.listed(value))


@feature("data that depends on the rank")
def may_know_ranks(program: Program, loader: Loader) -> bool:
    """Whether the data of a loader may depend on the process: by a test around it, or by how its dataset is made."""
    places = [loader.call, *(frame.call for frame in loader.frames)]
    if any(_speaks(test, RANKS) for place in places for test, _ in enclosing.tests_around(program, place)):
        return True
    # of a subclass of DataLoader, the dataset is seen inside its constructor: look at what that was called with, too
    passed = (one for place in places for one in (*place.args[:1], *place.keywords) if not _is_no_data(one))
    if any(_comes_of_ranks(program, one) for one in passed):
        return True
    dataset = loaders.argument(program, loader, "dataset")
    return not dataset.given


@feature("data that a process gathers itself")
def gathers_its_own(program: Program, loader: Loader) -> bool:
    """Whether a loader goes over what its process has gathered so far, as experience that a policy is trained on: a
    list that a loop adds to which makes the loader, or calls what does."""
    return _is_gathered(program, loader.call, _FARTHEST)


def _is_gathered(program: Program, call: ast.Call, depth: int) -> bool:
    """Whether an argument of ``call``, or of the call that it is handed on from, is added to in a loop around that."""
    function, around = enclosing.function_of(program, call), set(enclosing.loops_around(program, call))
    params = {param.name for param in function.params if param.name != function.receiver}
    given = (*call.args, *(one.value for one in call.keywords))
    names = {name.id for one in given for origin in _origins(program, one, _DEEPEST) for name in names_read(origin)}
    for name in names:
        for change in function.changes.get(name, ()):
            if change.kind in ("append", "extend") and around & set(enclosing.loops_around(program, change.node)):
                return True
    calls = call_graph.callers(program, function) if depth and names & params else ()
    return any(_is_gathered(program, frame.call, depth - 1) for frame in calls)


def _is_no_data(passed: ast.AST) -> bool:
    """Whether an argument says how samples are put together, which gives processes no data of their own."""
    return isinstance(passed, ast.keyword) and passed.arg in HOW


def _comes_of_ranks(program: Program, expr: ast.AST) -> bool:
    return any(_speaks(one, SHARDS) for one in _origins(program, expr, _DEEPEST))


def _origins(program: Program, expr: ast.AST, depth: int) -> Iterator[ast.AST]:
    """An expression and those that gave the names in it their values, in its function."""
    waiting = [(expr, depth)]
    seen: set[ast.AST] = set()
    while waiting:
        node, left = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        yield node
        for name in names_read(node):
            bindings = enclosing.function_of(program, name).bindings.get(name.id, ()) if left else ()
            waiting.extend((one.value, left - 1) for one in bindings if one.value is not None)


def _speaks(node: ast.AST, of: frozenset[str]) -> bool:
    """Whether the name of a variable, attribute or keyword in an expression has one of the words ``of``."""
    keywords = (one.arg for one in walk(node) if isinstance(one, ast.keyword) and one.arg is not None)
    return any(not of.isdisjoint(words(name)) for name in (*identifiers(node), *keywords))
