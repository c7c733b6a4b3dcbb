"""How loaders choose their samples, and the loops that train on them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.flow import call_graph, effects, enclosing
from dl_lint.flow.features import feature
from dl_lint.flow.interpreter import classes
from dl_lint.flow.interpreter.classes import of_class
from dl_lint.flow.values import (
    NONE,
    Absent,
    Class,
    Const,
    Function,
    Instance,
    Loader,
    Made,
    Sampler,
    Value,
    alternatives,
)
from dl_lint.pipeline import datasets, loaders, loops
from dl_lint.pipeline.training import names_in, words
from dl_lint.source.syntax import ForStatement, called, names_read

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.enclosing import LoopNode
    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import FileIndex, Scope
    from dl_lint.pipeline.loops import LoaderLoop


DISTRIBUTED_SAMPLER = "torch.utils.data.DistributedSampler"

SET_EPOCH = "set_epoch"
"""The method that tells a sampler which epoch to shuffle for."""


def sampler_of(program: Program, loader: Loader) -> Value:
    """What a loader draws its indices from: its sampler, or the one inside its batch sampler."""
    for name in ("sampler", "batch_sampler"):
        value = loaders.argument(program, loader, name).value
        if not isinstance(value, Absent):
            return _innermost(program, value)
    return Absent()


def _innermost(program: Program, value: Value) -> Value:
    """The sampler that a batch sampler takes indices from."""
    if isinstance(value, Sampler) and value.name.endswith(".BatchSampler"):
        inner = loaders.argument(program, value, "sampler")
        if inner.given:
            return inner.value
    return value


def takes_whole_dataset(program: Program, loader: Loader, *, shuffled: bool) -> bool:
    """Whether a loader goes over all of its dataset, in random or in stored order, for want of a sampler."""
    for name in ("sampler", "batch_sampler"):
        if not all(
            isinstance(one, Absent) or one == NONE
            for one in alternatives(loaders.argument(program, loader, name).value)
        ):
            return False
    said = alternatives(loaders.argument(program, loader, "shuffle").value)
    return bool(said) and all(
        (isinstance(one, Const) and bool(one.value) is shuffled) or (isinstance(one, Absent) and not shuffled)
        for one in said
    )


ORDERING = frozenset({"shuffle", "shuffle_", "permutation", "randperm", "sample", "train_test_split", "random_split"})
"""Functions and methods that put records, or the indices of records, in random order."""

CHOOSING = frozenset({"choice", "choices", "randrange", "randint", "integers"})
"""Functions by which ``__getitem__`` may choose a sample, of whatever its object holds."""

ORDERED = frozenset(
    {"series", "forecast", "forecasting", "window", "windows", "sequence", "sequences", "seq", "temporal", "time",
     "stock", "trajectory", "lm", "corpus", "token", "tokens", "bptt", "stream"}
)  # fmt: skip
"""Words of records that belong one after the other."""

TRIAL = frozenset({"overfit", "toy", "debug", "tiny", "dummy", "fake", "mock", "random", "synthetic", "subset"})
"""Words of data whose order does not matter."""


def is_in_stored_order(program: Program, loader: Loader) -> bool:
    """Whether the records of a map-style dataset come in the order in which they are stored, and not by design: nothing
    near the loader or the dataset shuffles, draws samples or speaks of series."""
    dataset = loaders.argument(program, loader, "dataset")
    said = {word for name in names_in(dataset.expr) for word in words(name)}
    if not datasets.is_map_style(program, dataset.value) or not said.isdisjoint(ORDERED | TRIAL):
        return False
    return any(_is_as_stored(program, loader, one) for one in alternatives(dataset.value))


def _is_as_stored(program: Program, loader: Loader, dataset: Value) -> bool:
    places: list[ast.AST] = [loader.call, *(frame.call for frame in loader.frames)]
    cls = dataset.cls if isinstance(dataset, Made | Instance) else None
    said: set[str] = set()
    if isinstance(dataset, Made | Instance):
        places += [dataset.call] if dataset.call is not None else []
        said |= set(words(cls.scope.name if cls is not None else getattr(dataset, "name", "")))
    if cls is not None and _chooses(program, cls):
        return False
    makers = {enclosing.function_of(program, one) for one in places}
    if cls is not None:
        makers |= {one.scope for one in classes.lineage(program, cls) if isinstance(one, Class)}
    files = {scope.file for scope in makers}
    said |= {word for file in files for word in words(file.path.rpartition("/")[2].removesuffix(".py"))}
    return said.isdisjoint(ORDERED | TRIAL) and not any(_orders(program, file, makers) for file in files)


@feature("records shuffled by hand")
def _orders(program: Program, file: FileIndex, makers: set[Scope]) -> bool:
    """Whether a file may shuffle the records of what ``makers`` make, or makes a sampler that no known loader takes."""
    taken = program.once("samplers taken", lambda: frozenset(_taken(program)))
    if any(call not in taken for name, calls in file.methods.items() if "ampler" in name for call in calls):
        return True
    ordering = (call for name in ORDERING for call in file.methods.get(name, ()))
    return any(_is_known_to(program, call, makers) and not _is_of_step(program, call) for call in ordering)


def _is_known_to(program: Program, call: ast.Call, makers: set[Scope]) -> bool:
    """Whether a call stands outside classes, or in a class that is among ``makers`` or that one of them names."""
    above: Scope | None = program.site(call).scope
    while above is not None and above.kind != "class":
        above = above.parent
    if above is None or above in makers:
        return True
    reading = (one for it in makers for one in (classes.with_inner(it) if it.kind != "module" else (it,)))
    return any(above.name in one.loads for one in reading)


def _is_of_step(program: Program, node: ast.AST, seen: frozenset[Scope] = frozenset()) -> bool:
    """Whether code runs for single batches only, in the body of a loop over a loader or in what such bodies call."""
    over = program.once("loops over loaders", lambda: frozenset(loop.node for loop in loops.loader_loops(program)))
    if not over.isdisjoint(enclosing.loops_around(program, node)):
        return True
    function = enclosing.function_of(program, node)
    calls = () if function in seen else call_graph.callers(program, function)
    return bool(calls) and all(_is_of_step(program, frame.call, seen | {function}) for frame in calls)


def _taken(program: Program) -> Iterator[ast.Call]:
    for loader in loaders.all_loaders(program):
        for name in ("sampler", "batch_sampler"):
            for one in alternatives(loaders.argument(program, loader, name).value):
                if isinstance(one, Sampler):
                    yield one.call
                    yield from (inner for inner in _calls(_innermost(program, one)) if inner is not None)


@feature("samples chosen by the dataset")
def _chooses(program: Program, cls: Class) -> bool:
    """Whether fetching a sample may choose which, or makes one of nothing, whatever index it is given."""
    fetched = of_class(program, cls, "__getitem__")
    if not isinstance(fetched, Function) or len(fetched.scope.params) < 2:
        return True
    owner, index = (param.name for param in fetched.scope.params[:2])
    inside = tuple(classes.with_inner(fetched.scope))
    if not any(scope.loads.get(index) for scope in inside):
        return True
    drawing = (call for scope in inside for call in scope.calls if called(call) in CHOOSING)
    return any(owner in (name.id for arg in _chosen_from(call) for name in names_read(arg)) for call in drawing)


def _chosen_from(call: ast.Call) -> list[ast.expr]:
    return call.args[:1] if called(call).startswith("choice") else call.args


def shuffles(program: Program, sampler: Sampler) -> bool:
    """Whether a distributed sampler is known to shuffle by epoch, in some run at least."""
    if sampler.name != DISTRIBUTED_SAMPLER:
        return False
    if sampler.cls is not None and isinstance(of_class(program, sampler.cls, "__iter__"), Function):
        return False  # a project's own order
    found = alternatives(loaders.argument(program, sampler, "shuffle").value)
    known = all(isinstance(one, Absent | Const) for one in found)
    return known and any(isinstance(one, Absent) or (isinstance(one, Const) and bool(one.value)) for one in found)


def trains(program: Program, loop: LoaderLoop, loader: Loader) -> bool:
    """Whether a loop over batches of ``loader`` updates a model: in its body or in a function that it calls; of a loop
    in a generator, where the batches go."""
    if loop.function.yields:
        given = (
            one.call for one in call_graph.callers(program, loop.function) if loops.may_pass(program, one.call, loader)
        )
        return any(_steps(program, enclosing.function_of(program, call)) for call in given)
    functions = set()
    for scope in (loop.function, *loop.function.children):
        for call in scope.calls:
            if loop.node in enclosing.loops_around(program, call):
                if _is_step(program, call):
                    return True
                functions |= set(call_graph.entered(program, call))
    return any(
        _is_step(program, call) for function in call_graph.reachable(program, *functions) for call in function.calls
    )


def _steps(program: Program, function: Scope) -> bool:
    return any(
        _is_step(program, call)
        for one in call_graph.reachable(program, function)
        for scope in classes.with_inner(one)
        for call in scope.calls
    )


def _is_step(program: Program, call: ast.Call) -> bool:
    return getattr(call.func, "attr", None) == "step" or effects.is_backward(program, call)


def epoch_of(loop: LoopNode) -> str | None:
    """The name that a loop over epochs gives the epoch."""

    return loop.target.id if isinstance(loop, ForStatement) and isinstance(loop.target, ast.Name) else None


@feature("samplers that get the epoch")
def may_be_told_epoch(program: Program, sampler: Sampler, near: ast.AST) -> bool:
    """Whether a ``set_epoch`` may reach a sampler: called on it, on its loader, or near by on what is not known."""
    nodes = (sampler.call, near)
    if any(program.mentions_unread(node, SET_EPOCH) for node in nodes):
        return True
    for call in program.method_calls(SET_EPOCH):
        reached = _told_epoch(program, call)
        if sampler.call in reached or (None in reached and any(program.are_near(call, node) for node in nodes)):
            return True
    taken = program.read_off(SET_EPOCH, lambda: tuple(_taken_by_name(program)))
    return any(program.are_near(one, node) for one in taken for node in nodes)


def _told_epoch(program: Program, call: ast.Call) -> set[ast.Call | None]:
    """The samplers, by where they are made, that ``receiver.set_epoch(epoch)`` may set; None for an unknown one."""
    receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
    if receiver is None or called(receiver) == "super":
        return set()  # what an overriding method hands on; who calls that one is another call
    told: set[ast.Call | None] = set()
    for one in alternatives(program.value(receiver)):
        match one:
            case Sampler():
                told |= {one.call, *_calls(_innermost(program, one))}
            case Loader():
                told |= _calls(sampler_of(program, one))
            case Instance():  # a project's own method, in which further calls stand
                told |= set() if isinstance(of_class(program, one.cls, SET_EPOCH), Function) else {None}
            case Made() | Const():
                continue
            case _:
                told.add(None)
    return told


def _calls(value: Value) -> set[ast.Call | None]:
    return {one.call if isinstance(one, Sampler) else None for one in alternatives(value)}


def _taken_by_name(program: Program) -> Iterator[ast.AST]:
    """Where ``set_epoch`` is taken without being called, as by ``getattr``; who then calls it on what is not known."""
    for file in program.files:
        for node in ast.walk(file.syntax.module) if SET_EPOCH in file.syntax.code else ():
            if node in program.parents and _takes_set_epoch(node, program.parents[node]):
                yield node


def _takes_set_epoch(node: ast.AST, above: ast.AST) -> bool:
    if isinstance(node, ast.Attribute) and node.attr == SET_EPOCH:
        return not (isinstance(above, ast.Call) and above.func is node)
    return isinstance(node, ast.Constant) and node.value == SET_EPOCH and called(above) != "hasattr"


@feature("set_epoch behind the loop", None)
def set_late(program: Program, loop: LoaderLoop, loader: Loader, epochs: LoopNode) -> ast.Call | None:
    """A ``set_epoch(epoch)`` behind the loop over the loader, where none stands before it."""
    epoch = epoch_of(epochs)
    mine = [call for call in program.method_calls(SET_EPOCH) if epochs in enclosing.loops_around(program, call)]
    if (
        epoch is None
        or enclosing.function_of(program, loop.node) is not enclosing.function_of(program, epochs)
        or len(mine) != 1
    ):
        return None
    call = mine[0]
    after = program.site(call).order > program.site(loop.node).order and loop.node not in enclosing.loops_around(
        program, call
    )
    passes_epoch = len(call.args) == 1 and isinstance(call.args[0], ast.Name) and call.args[0].id == epoch
    return call if after and passes_epoch and _of(program, call, loader) else None


def _of(program: Program, call: ast.Call, loader: Loader) -> bool:
    receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
    wanted = {one.call for one in alternatives(sampler_of(program, loader)) if isinstance(one, Sampler)}
    return any(isinstance(one, Sampler) and one.call in wanted for one in alternatives(program.value(receiver)))
