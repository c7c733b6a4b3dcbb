"""Models of which each process trains a replica, and how the processes share their data."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.project import attributes, reach, truth
from dl_lint.project.frameworks import PREPARERS
from dl_lint.project.repetition import words
from dl_lint.project.values import (
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
    Wrapped,
    alternatives,
)
from dl_lint.source.syntax import children

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.loops import LoaderLoop
    from dl_lint.project.model import Project
    from dl_lint.project.scopes import Scope

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


def replicating(project: Project, loop: LoaderLoop) -> ast.Call | None:
    """The call that wraps the model which a training loop runs, for other processes to have replicas of it."""
    inside, entered = _running(project, loop)
    for step in project.method_calls("backward"):
        if (step in inside or step in entered) and isinstance(step.func, ast.Attribute):
            for one in alternatives(project.value(step.func.value)):
                if isinstance(one, Made) and one.name in PREPARING:
                    return one.call
    # what the functions are given is known of all their callers at once, so the loop's own call has to tell
    models = [expr for call in inside for expr in (call.func, *call.args)]
    models += [call.func for call in entered if not _is_parameter(project, call.func)]
    for model in models:
        for one in alternatives(project.value(model)):
            if isinstance(one, Made) and is_wrapper(one.name) and not _may_be_skipped(project, one.call):
                return one.call
    return next((call for call in _wrappers_around(project, loop) if not _may_be_skipped(project, call)), None)


def _may_be_skipped(project: Project, wrapping: ast.Call) -> bool:
    """Whether a test around the wrapper is known to fail for some of its callers, which run one process then, or fails
    unless somebody asks for more of them in a project that starts none."""
    tests = list(project.tests_around(wrapping))
    if any(
        isinstance(one, Const) and bool(one.value) is not outcome
        for test, outcome in tests
        for one in alternatives(project.value(test))
    ):
        return True
    return any(_fails_by_default(project, test, outcome) for test, outcome in tests) and not any(
        project.mentions(wrapping, word) for word in STARTING
    )


def _fails_by_default(project: Project, test: ast.expr, outcome: bool) -> bool:
    """Whether a test fails with the defaults of its parameters and options: ``world_size > 1``."""
    match test:
        case ast.BoolOp(op=ast.And(), values=parts) if outcome:
            return any(_fails_by_default(project, one, outcome) for one in parts)
        case ast.Compare(ops=(op,), left=left, comparators=(right,)):
            sides = [(one, other) for one in _defaults(project, left) for other in _defaults(project, right)]
            decided = [truth.decide(op, one, other) for one, other in sides]
            return bool(decided) and all(one is (not outcome) for one in decided)
        case ast.Name() | ast.Attribute():
            known = _defaults(project, test)
            return bool(known) and all(bool(one.value) is not outcome for one in known)
        case _:
            return False


def _defaults(project: Project, expr: ast.expr) -> list[Const]:
    """The constants that an expression can be if nobody asks for anything else; none if it can be something else."""
    found = [one.default if isinstance(one, Option) else one for one in alternatives(project.value(expr))]
    constants = [one for one in found if isinstance(one, Const)]
    return constants if len(constants) == len(found) else []


def _is_parameter(project: Project, expr: ast.expr) -> bool:
    while isinstance(expr, ast.Attribute):
        expr = expr.value
    if not isinstance(expr, ast.Name):
        return True
    function = project.function_of(expr)
    names = [param.name for param in function.params]
    return expr.id in (names[1:] if function.is_method else names)


def is_wrapper(name: str) -> bool:
    return name.rpartition(".")[2] in WRAPPERS


def _running(project: Project, loop: LoaderLoop) -> tuple[dict[ast.Call, None], dict[ast.Call, None]]:
    """The calls that run in a pass of ``loop``: those in it, and those in the functions that they enter."""
    scopes = tuple(reach.with_inner(loop.function))
    inside = [call for scope in scopes for call in scope.calls if loop.node in set(project.loops_around(call))]
    functions = project.reachable(*(one for call in inside for one in _entered(project, call)))
    entered = (call for function in functions for scope in reach.with_inner(function) for call in scope.calls)
    return dict.fromkeys(inside), dict.fromkeys(entered)


def _entered(project: Project, call: ast.Call) -> Iterator[Scope]:
    from dl_lint.project import workers

    for one in alternatives(project.value(call.func)):
        if not isinstance(one, Partial | Instance):
            yield from workers.functions(project, one)


def _wrappers_around(project: Project, loop: LoaderLoop) -> Iterator[ast.Call]:
    """The wrappers made on the way to a loop: in its function, in those that call it, or in the class around it."""
    functions = dict.fromkeys((loop.function,))
    for _ in range(_DEEPEST):
        calls = [frame.call for function in functions for frame in project.callers(function)]
        functions.update((project.function_of(call), None) for call in calls)
    for function in tuple(functions):
        if function.is_method and function.parent is not None:
            functions.update(dict.fromkeys(function.parent.children))
    for function in functions:
        yield from (call for call in function.calls if _wraps(project, call))


def _wraps(project: Project, call: ast.Call) -> bool:
    return any(isinstance(one, External) and is_wrapper(one.name) for one in alternatives(project.value(call.func)))


# --- how processes share their data ---------------------------------------------------------


def is_prepared(project: Project, loader: Loader) -> bool:
    """Whether a loader is given to accelerate or Fabric anywhere."""
    if loader.prepared:
        return True
    for call in project.method_calls(*PREPARERS):
        if any(_holds(project.value(_value(arg)), loader, _DEEPEST) for arg in (*call.args, *call.keywords)):
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
            case Wrapped() if depth:
                if any(_holds(item, loader, depth - 1) for item in one.inner):
                    return True
            case _:
                continue
    return False


def may_know_ranks(project: Project, loader: Loader) -> bool:
    """Whether the data of a loader may depend on the process: by a test around it, or by how its dataset is made."""
    places = [loader.call, *(frame.call for frame in loader.frames)]
    if any(_speaks(test, RANKS) for place in places for test, _ in project.tests_around(place)):
        return True
    # of a subclass of DataLoader, the dataset is seen inside its constructor: look at what that was called with, too
    passed = (one for place in places for one in (*place.args[:1], *place.keywords) if not _is_size(one))
    if any(_comes_of_ranks(project, one) for one in passed):
        return True
    dataset = project.argument(loader, "dataset")
    return not dataset.given or _is_split(project, dataset.expr, dataset.value)


def _is_size(passed: ast.AST) -> bool:
    """Whether an argument is a number that is divided among processes, which gives them no data of their own."""
    return isinstance(passed, ast.keyword) and passed.arg in ("batch_size", "num_workers")


def _is_split(project: Project, expr: ast.AST, value: Value) -> bool:
    """Whether a dataset, made by ``expr``, may differ between processes."""
    if _comes_of_ranks(project, expr):
        return True
    for one in alternatives(value):
        while isinstance(one, Derived):
            one = one.base
        if isinstance(one, Made | Instance):
            if one.call is not None and _comes_of_ranks(project, one.call):
                return True
            if one.cls is not None and _asks_for_rank(project, one.cls):
                return True
    return False


def _comes_of_ranks(project: Project, expr: ast.AST) -> bool:
    return any(_speaks(one, SHARDS) for one in _origins(project, expr, _DEEPEST))


def _asks_for_rank(project: Project, cls: Class) -> bool:
    classes = [one for one in attributes.lineage(project.evaluator, cls) if isinstance(one, Class)]
    return any(
        _speaks(call, SHARDS) for one in classes for inner in reach.with_inner(one.scope) for call in inner.calls
    )


def _origins(project: Project, expr: ast.AST, depth: int) -> Iterator[ast.AST]:
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
            bindings = project.function_of(name).bindings.get(name.id, ()) if left else ()
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
