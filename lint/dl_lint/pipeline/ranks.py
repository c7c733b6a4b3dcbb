"""Models of which each process trains a replica, and how the processes share their data."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.flow import call_graph, enclosing, guards
from dl_lint.flow.interpreter import classes
from dl_lint.flow.libraries import PREPARERS
from dl_lint.flow.values import (
    Class,
    Collection,
    Const,
    Derived,
    External,
    Instance,
    Loader,
    Made,
    Option,
    Partial,
    Table,
    Value,
    alternatives,
)
from dl_lint.pipeline import loaders, workers
from dl_lint.pipeline.training import words
from dl_lint.source.syntax import children

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

STARTING = (
    "init_process_group",
    "init_distributed",
    "Accelerator",
    "Fabric",
    "lightning",
    "horovod",
    "launch",
    "spawn",
)
"""Words of projects that start several processes."""

_DEEPEST = 4


def replicating(program: Program, loop: LoaderLoop) -> ast.Call | None:
    """The call that wraps the model which a training loop runs, for other processes to have replicas of it."""
    inside, entered = _running(program, loop)
    for step in program.method_calls("backward"):
        if (step in inside or step in entered) and isinstance(step.func, ast.Attribute):
            for one in alternatives(program.value(step.func.value)):
                if isinstance(one, Made) and one.name in PREPARING:
                    return one.call
    # what the functions are given is known of all their callers at once, so the loop's own call has to tell
    models = [expr for call in inside for expr in (call.func, *call.args)]
    models += [call.func for call in entered if not _is_parameter(program, call.func)]
    for model in models:
        for one in alternatives(program.value(model)):
            if isinstance(one, Made) and is_wrapper(one.name) and not _may_be_skipped(program, one.call):
                return one.call
    return next((call for call in _wrappers_around(program, loop) if not _may_be_skipped(program, call)), None)


def _may_be_skipped(program: Program, wrapping: ast.Call) -> bool:
    """Whether a test around the wrapper is known to fail for some of its callers, which run one process then, or fails
    unless somebody asks for more of them in a project that starts none."""
    tests = list(enclosing.tests_around(program, wrapping))
    if any(
        isinstance(one, Const) and bool(one.value) is not outcome
        for test, outcome in tests
        for one in alternatives(program.value(test))
    ):
        return True
    return any(_fails_by_default(program, test, outcome) for test, outcome in tests) and not any(
        program.mentions(wrapping, word) for word in STARTING
    )


def _fails_by_default(program: Program, test: ast.expr, outcome: bool) -> bool:
    """Whether a test fails with the defaults of its parameters and options: ``world_size > 1``."""
    match test:
        case ast.BoolOp(op=ast.And(), values=parts) if outcome:
            return any(_fails_by_default(program, one, outcome) for one in parts)
        case ast.Compare(ops=(op,), left=left, comparators=(right,)):
            sides = [(one, other) for one in _defaults(program, left) for other in _defaults(program, right)]
            decided = [guards.decide(op, one, other) for one, other in sides]
            return bool(decided) and all(one is (not outcome) for one in decided)
        case ast.Name() | ast.Attribute():
            known = _defaults(program, test)
            return bool(known) and all(bool(one.value) is not outcome for one in known)
        case _:
            return False


def _defaults(program: Program, expr: ast.expr) -> list[Const]:
    """The constants that an expression can be if nobody asks for anything else; none if it can be something else."""
    found = [one.default if isinstance(one, Option) else one for one in alternatives(program.value(expr))]
    constants = [one for one in found if isinstance(one, Const)]
    return constants if len(constants) == len(found) else []


def _is_parameter(program: Program, expr: ast.expr) -> bool:
    while isinstance(expr, ast.Attribute):
        expr = expr.value
    if not isinstance(expr, ast.Name):
        return True
    function = enclosing.function_of(program, expr)
    names = [param.name for param in function.params]
    return expr.id in (names[1:] if function.is_method else names)


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
    return any(isinstance(one, External) and is_wrapper(one.name) for one in alternatives(program.value(call.func)))


# --- how processes share their data ---------------------------------------------------------


def is_prepared(program: Program, loader: Loader) -> bool:
    """Whether a loader is given to accelerate or Fabric anywhere. What goes over it, such as ``cycle(loader)``, is left
    alone by them."""
    if loader.prepared:
        return True
    for call in program.method_calls(*PREPARERS):
        if any(_holds(program.value(_value(arg)), loader, _DEEPEST) for arg in (*call.args, *call.keywords)):
            return True
    return False


def _value(arg: ast.AST) -> ast.expr | None:
    if isinstance(arg, ast.keyword | ast.Starred):
        return arg.value
    return arg if isinstance(arg, ast.expr) else None


def _holds(value: Value, loader: Loader, depth: int) -> bool:
    for one in alternatives(value):
        match one:
            case Loader():
                if one.call is loader.call:
                    return True
            case Collection() if depth:
                if any(_holds(item, loader, depth - 1) for item in (*(one.items or ()), one.element)):
                    return True
            case Table() if depth:
                if any(_holds(item, loader, depth - 1) for _, item in one.items):
                    return True
            case _:
                continue
    return False


def may_know_ranks(program: Program, loader: Loader) -> bool:
    """Whether the data of a loader may depend on the process: by a test around it, or by how its dataset is made."""
    places = [loader.call, *(frame.call for frame in loader.frames)]
    if any(_speaks(test, RANKS) for place in places for test, _ in enclosing.tests_around(program, place)):
        return True
    # of a subclass of DataLoader, the dataset is seen inside its constructor: look at what that was called with, too
    passed = (one for place in places for one in (*place.args[:1], *place.keywords) if not _is_size(one))
    if any(_comes_of_ranks(program, one) for one in passed):
        return True
    dataset = loaders.argument(program, loader, "dataset")
    return not dataset.given or _is_split(program, dataset.expr, dataset.value)


def _is_size(passed: ast.AST) -> bool:
    """Whether an argument is a number that is divided among processes, which gives them no data of their own."""
    return isinstance(passed, ast.keyword) and passed.arg in ("batch_size", "num_workers")


def _is_split(program: Program, expr: ast.AST, value: Value) -> bool:
    """Whether a dataset, made by ``expr``, may differ between processes."""
    if _comes_of_ranks(program, expr):
        return True
    for one in alternatives(value):
        while isinstance(one, Derived):
            one = one.base
        if isinstance(one, Made | Instance):
            if one.call is not None and _comes_of_ranks(program, one.call):
                return True
            if one.cls is not None and _asks_for_rank(program, one.cls):
                return True
    return False


def _comes_of_ranks(program: Program, expr: ast.AST) -> bool:
    return any(_speaks(one, SHARDS) for one in _origins(program, expr, _DEEPEST))


def _asks_for_rank(program: Program, cls: Class) -> bool:
    kinds = [one for one in classes.lineage(program, cls) if isinstance(one, Class)]
    return any(
        _speaks(call, SHARDS) for one in kinds for inner in classes.with_inner(one.scope) for call in inner.calls
    )


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
        for name in _names(node):
            bindings = enclosing.function_of(program, name).bindings.get(name.id, ()) if left else ()
            waiting.extend((one.value, left - 1) for one in bindings if one.value is not None)


def _names(node: ast.AST) -> Iterator[ast.Name]:
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.Name):
            yield one
        waiting.extend(children(one))


def _speaks(node: ast.AST, of: frozenset[str]) -> bool:
    """Whether the name of a variable, attribute or keyword in an expression has one of the words ``of``."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        match one:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.keyword(arg=str() as name):
                if name == "process_index" or not of.isdisjoint(words(name)):
                    return True
            case _:
                pass
        waiting.extend(children(one))
    return False
