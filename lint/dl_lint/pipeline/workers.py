"""What workers are given and run: whose datasets, which collate functions, and objects that were built before."""

from __future__ import annotations

import ast
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from dl_lint.context.entry_points import is_test
from dl_lint.flow import call_graph, enclosing, guards
from dl_lint.flow.features import feature
from dl_lint.flow.interpreter import arguments, classes, names, objects
from dl_lint.flow.values import (
    NONE,
    UNKNOWN,
    Absent,
    Bound,
    Class,
    Collection,
    Const,
    Derived,
    Function,
    Instance,
    Loader,
    Made,
    Parameter,
    Partial,
    Table,
    Value,
    alternatives,
)
from dl_lint.pipeline import datasets, loaders

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import FileIndex, Scope


MOST_CLASSES = 16
"""Classes whose construction is followed from one constructor."""

LONGEST_CHAIN = 2
"""Calls followed outwards from where a loader is made; a builder and the function that sets things up, as a rule."""

MOST_VARIANTS = 64

SPLIT = "torch.utils.data.random_split"

_NESTED = 4
"""Datasets around a dataset that are looked into; a subset of a concatenation is two."""


# --- datasets ------------------------------------------------------------------------------


def given(program: Program, loader: Loader) -> Iterator[Instance]:
    """The datasets of project classes that a loader is given, also inside Subset, ConcatDataset and random_split."""
    yield from _datasets(program, loaders.argument(program, loader, "dataset").value, _NESTED)


def _datasets(program: Program, value: Value, depth: int) -> Iterator[Instance]:
    for one in alternatives(value):
        match one:
            case Instance():
                yield one
            case Derived(step="item", base=Made(name=name) as made) if name == SPLIT and depth:
                yield from _inside(program, made, depth)
            case Made(name=name) if depth and program.models.has(name, "MapDataset"):
                yield from _inside(program, one, depth)
            case Collection() if depth:
                for item in one.items if one.items is not None else (one.element,):
                    yield from _datasets(program, item, depth - 1)
            case _:
                continue


def _inside(program: Program, made: Made, depth: int) -> Iterator[Instance]:
    for name, positions in (("dataset", ("dataset",)), ("datasets", ())):
        yield from _datasets(program, loaders.passed(program, made.call, name, *positions).value, depth - 1)


def users(program: Program, cls: Class) -> tuple[Loader, ...]:
    """The loaders that are given an object of ``cls`` or of a class that derives from it, by call chain."""
    return tuple(program.once("given", lambda: _all_given(program)).get(cls, ()))


@feature("loaders of unknown datasets", ())
def unclaimed(program: Program, cls: Class) -> tuple[Loader, ...]:
    """The loaders in the sub-project of ``cls`` of which nobody knows the dataset: they may be given one of it."""
    node = cls.scope.node
    found = program.once("unclaimed", lambda: _all_unclaimed(program))
    return tuple(loader for loader in found if node is not None and program.are_near(node, loader.call))


def _all_unclaimed(program: Program) -> tuple[Loader, ...]:
    """The loaders of which nobody knows the dataset."""
    users = program.once("given", lambda: _all_given(program)).values()
    known = {loader.call for loaders in users for loader in loaders}
    return tuple(loader for loader in loaders.all_loaders(program) if loader.call not in known)


Coming = Literal["workers", "main", "nobody"]
"""Who may come to a place of the code that fetches samples: workers, the main process alone, or no known object."""


def coming_to(program: Program, cls: Class, node: ast.AST) -> Coming:
    """Who may come to ``node``, which fetches a sample from an object of ``cls``, by how each of its objects was built
    and by whether a loader with workers is given that one; workers, where nothing else is known."""
    if not guards.may_run(program, node):
        return "nobody"
    built = _built(program, cls)
    fetched = [one for one, has_workers in built if has_workers]
    if not built or any(guards.may_run(program, node, one) for one in fetched):
        return "workers"
    return "main" if any(guards.may_run(program, node, one) for one, _ in built) else "nobody"


def are_left_to_callers(program: Program, needed: tuple[Loader, ...], cls: Class | None, node: ast.AST | None) -> bool:
    """Whether a fault takes what nobody in the project asks for: workers of the loaders ``needed``, or that an object
    of ``cls`` comes to ``node``."""
    if needed and all(loaders.are_left_to_users(program, one) for one in needed):
        return True
    return cls is not None and node is not None and coming_to(program, cls, node) == "nobody"


@feature("objects of a class distinguished", ())
def _built(program: Program, cls: Class) -> tuple[tuple[Instance, bool], ...]:
    """The objects of ``cls`` and of classes that derive from it, outside of tests, each with whether workers may fetch
    from it: one that no known loader is given may go to any."""
    return program.once(("built", cls), lambda: tuple(_find_built(program, cls)))


def _find_built(program: Program, cls: Class) -> Iterator[tuple[Instance, bool]]:
    given_: dict[Instance, bool] = {}
    for loader in of_product(program, cls):
        for one in given(program, loader):
            if cls in classes.lineage(program, one.cls):
                given_[one] = given_.get(one, False) or loaders.workers(program, loader) != "none"
    yield from given_.items()
    calls = {one.call for one in given_}
    for call in _constructions(program, cls):
        if call not in calls:
            calls.add(call)
            yield from ((one, True) for one in alternatives(program.value(call)) if isinstance(one, Instance))


def _all_given(program: Program) -> Mapping[Value, Mapping[Loader, None]]:
    """The loaders, by call chain, that are given an object of each class or of a class that derives from it."""
    found: defaultdict[Value, dict[Loader, None]] = defaultdict(dict)
    for made in loaders.all_loaders(program):
        for loader in variants(program, made):
            for dataset in given(program, loader):
                for cls in classes.lineage(program, dataset.cls):
                    found[cls][loader] = None
    return found


def variants(program: Program, loader: Loader) -> tuple[Loader, ...]:
    """A loader once for each chain of calls that leads to it.

    ``make_loader(train, 4)`` and ``make_loader(test, 0)`` are two loaders, of which one has workers.
    """
    return program.once(("variants", loader), lambda: _variants(program, loader))


def _variants(program: Program, loader: Loader) -> tuple[Loader, ...]:
    found = [loader]
    for _ in range(LONGEST_CHAIN):
        longer = [variant for one in found for variant in _called_from(program, one)]
        if longer == found or len(longer) > MOST_VARIANTS:
            break
        found = longer
    return tuple(found)


def _called_from(program: Program, loader: Loader) -> Iterator[Loader]:
    call = loader.frames[-1].call if loader.frames else loader.call
    scope = enclosing.function_of(program, call)
    frames = call_graph.callers(program, scope) if scope.kind == "function" else ()
    entered = [frame for frame in frames if frame not in loader.frames]
    if not entered:
        yield loader
    for frame in entered:
        yield replace(loader, frames=(*loader.frames, frame))


@feature("datasets without workers")
def idle(program: Program, cls: Class) -> bool:
    """Whether loaders of ``cls`` are known, and none of them has workers; or nobody here ever asks for workers, or its
    notebook, from which nothing can be imported, makes no loader, or its project has scripts and not one of them."""
    file = cls.scope.file
    if file.path.endswith(".ipynb") and all(
        program.site(one.call).scope.file is not file for one in loaders.all_loaders(program)
    ):
        return True
    if has_scripts(program, file) and not _speaks_of_loaders(program, cls):
        return True
    using = of_product(program, cls) or _unasked(program, cls)
    return bool(using) and all(loaders.workers(program, loader) == "none" for loader in using)


def are_all_given(program: Program, cls: Class) -> bool:
    """Whether each object of ``cls`` that is known to be made is given to a loader, and no loader around is given what
    is not known."""
    node = cls.scope.node
    if node is None or unclaimed(program, cls):
        return False
    near = (one for one in loaders.all_loaders(program) if program.are_near(node, one.call))
    for loader in (variant for one in near for variant in variants(program, one)):
        found = alternatives(loaders.argument(program, loader, "dataset").value)
        if not all(isinstance(one, Instance | Made) for one in found):
            return False
    given_ = {one.call for loader in of_product(program, cls) for one in given(program, loader)}
    return all(one in given_ for one in _constructions(program, cls))


def _constructions(program: Program, cls: Class) -> Iterator[ast.Call]:
    """The calls outside of tests that make an object of ``cls`` or of a class that derives from it."""
    for kind in (cls, *classes.subclasses(program, cls)):
        init = classes.of_class(program, kind, "__init__")
        for frame in call_graph.callers(program, init.scope) if isinstance(init, Function) else ():
            is_one = any(isinstance(one, Instance) and one.call is frame.call for one in
                         alternatives(program.value(frame.call)))  # fmt: skip
            if is_one and not is_test(program, program.path(frame.call)):
                yield frame.call


def fetching_for(program: Program, cls: Class) -> tuple[Loader, str] | None:
    """The first loader of ``cls`` that has workers, outside of tests where there is one, and how many in words."""
    using = of_product(program, cls) or users(program, cls)
    found = next((one for one in using if loaders.may_have_workers(program, one)), None)
    if found is None:
        return None
    known = sorted(number for number in set(loaders.worker_numbers(program, found)) if number)
    number = " or ".join(map(str, known))
    return found, f"{number} {'worker' if known == [1] else 'workers'}" if known else "workers"


def numbers(program: Program, cls: Class) -> tuple[int, int] | None:
    """The fewest and the most workers of the loaders of ``cls`` that have any; None where one of them does not say."""
    each = [loaders.worker_numbers(program, one) for one in of_product(program, cls)]
    found = [number for ways in each for number in ways if number > 0]
    return (min(found), max(found)) if found and all(each) else None


def of_product(program: Program, cls: Class) -> tuple[Loader, ...]:
    """The loaders that are given an object of ``cls``, without those of tests, which say nothing about others."""
    if is_test(program, cls.scope.file.path):
        return users(program, cls)
    return tuple(one for one in users(program, cls) if not is_test(program, program.path(one.call)))


def _speaks_of_loaders(program: Program, cls: Class) -> bool:
    """Whether a ``DataLoader`` is named anywhere: in the sub-project of ``cls``, or in any file that is linted."""
    files = program.modules
    node = cls.scope.node
    return (node is None or program.mentions(node, "DataLoader")) or program.once(
        "speaks of loaders", lambda: any("DataLoader" in files.text(one) for one in program.files)
    )


def _unasked(program: Program, cls: Class) -> tuple[Loader, ...]:
    """All loaders of the sub-project of ``cls``, if the word for workers stands nowhere in it."""
    node = cls.scope.node
    if node is None or program.mentions(node, "num_workers"):
        return ()
    return tuple(loader for loader in loaders.all_loaders(program) if program.are_near(node, loader.call))


def handed(program: Program, loader: Loader, argument: str) -> ast.AST:
    """Where an argument of a loader is given: in the call of its builder, if that hands it on."""
    node = loaders.argument(program, loader, argument).expr
    for frame in loader.frames:
        found = program.symbolic(node) if isinstance(node, ast.expr) else UNKNOWN
        if not isinstance(found, Parameter) or found.scope is not frame.scope:
            break
        given_ = loaders.passed(program, frame.call, found.param.name, *frame.scope.positions)
        if not given_.given:
            break
        node = given_.expr
    return node


# --- functions -----------------------------------------------------------------------------


def building(program: Program, cls: Class) -> tuple[Scope, ...]:
    """The functions that run in the main process before an object of ``cls`` is there: its constructor, what that
    calls, and the constructors of the objects that it makes or is given to keep."""
    return program.once(("building", cls), lambda: _building(program, cls))


def _building(program: Program, cls: Class) -> tuple[Scope, ...]:
    found: dict[Scope, None] = {}
    kinds = [cls]
    for one in kinds:
        init = classes.of_class(program, one, "__init__")
        functions_ = call_graph.reachable(program, *((init.scope,) if isinstance(init, Function) else ()), cls=one)
        found.update(dict.fromkeys(functions_))
        made = {made for function in functions_ for made in _classes_called(program, function)}
        kept = {held_ for held_, method in _kept_classes(program, one) if method in functions_}
        new = sorted((made | kept).difference(kinds), key=lambda other: (other.scope.file.path, other.scope.name))
        kinds.extend(new[: MOST_CLASSES - len(kinds)])
    return tuple(found)


def _kept_classes(program: Program, cls: Class) -> Iterator[tuple[Class, Scope]]:
    """The classes of the objects that are kept on self, each with the method that does it."""
    for kept in datasets.kept(program, cls):
        value = names.bound_value(program, kept.binding) if kept.binding is not None else UNKNOWN
        yield from ((one.cls, kept.method) for one in _objects(program, value, _NESTED))


def _objects(program: Program, value: Value, depth: int) -> Iterator[Instance]:
    """The objects of project classes that a value is, or that a list, tuple or dict holds."""
    for one in alternatives(program.resolve(value)):
        match one:
            case Instance():
                yield one
            case Collection() if depth:
                for item in one.items if one.items is not None else (one.element,):
                    yield from _objects(program, item, depth - 1)
            case Table() if depth:
                for _, item in one.items:
                    yield from _objects(program, item, depth - 1)
            case Made(name=name) if depth and program.models.has(name, "Composes"):
                for part in call_graph.composed(program, one):
                    yield from _objects(program, part, depth - 1)
            case _:
                continue


def _classes_called(program: Program, function: Scope) -> Iterator[Class]:
    for scope in classes.with_inner(function):
        for call in scope.calls:
            yield from (one for one in alternatives(program.value(call.func)) if isinstance(one, Class))


def held(program: Program, cls: Class) -> tuple[Class, ...]:
    """``cls`` and the classes of the objects that its objects keep on self, and of those that these keep."""
    found = [cls]
    for one in found:
        for other, _ in _kept_classes(program, one):
            if other not in found and len(found) < MOST_CLASSES:
                found.append(other)
    return tuple(found)


def methods(program: Program, cls: Class) -> Iterator[tuple[Scope, Class]]:
    """The methods that run for a sample, of ``cls`` and of the objects that it holds, each with the class that it runs
    on. Objects that are made for the sample are not the dataset's, and their methods are left out."""
    kinds = held(program, cls)
    for function in datasets.fetching(program, cls):
        if not function.is_method or function.parent is None or not function.params:
            continue
        defining = Class(function.parent)
        for one in kinds:
            if defining in classes.lineage(program, one):
                yield function, one
                break


@dataclass(frozen=True, slots=True)
class Collator:
    """A function that ``loader`` collates with; ``partial`` when some of its arguments are bound."""

    function: Scope
    loader: Loader
    node: ast.AST
    partial: ast.Call | None = None


def collators(program: Program) -> tuple[Collator, ...]:
    """The collate functions of all loaders."""
    return program.once("collators", lambda: tuple(_collators(program)))


def _collators(program: Program) -> Iterator[Collator]:
    for loader in (variant for made in loaders.all_loaders(program) for variant in variants(program, made)):
        argument = loaders.argument(program, loader, "collate_fn")
        for one in alternatives(argument.value):
            partial = one.call if isinstance(one, Partial) else None
            for function in functions(program, one):
                yield Collator(function, loader, argument.node, partial)


def functions(program: Program, *values: Value) -> Iterator[Scope]:
    """The functions of the project that calling ``values`` enters."""
    for one in (one for value in values for one in alternatives(value)):
        match one:
            case Function():
                yield one.scope
            case Bound():
                yield one.function.scope
            case Instance():
                found = objects.of_instance(program, one, "__call__")
                if isinstance(found, Bound):
                    yield found.function.scope
            case Partial():
                yield from functions(program, one.func)
            case _:
                continue


CALLBACKS = {"worker_init_fn": "each worker calls it with its id", "collate_fn": "it is called with a list of samples"}
"""The functions that a loader takes and calls with one argument, and who does so."""


@dataclass(frozen=True, slots=True)
class Misfit:
    """A function that cannot take what ``loader`` calls it with as ``argument``; ``reason`` completes "it …".

    ``node`` is its definition, or else where the loader is given it.
    """

    node: ast.AST
    name: str
    loader: Loader
    argument: str
    reason: str


def misfits(program: Program) -> Iterator[Misfit]:
    """The functions given to loaders of torch whose parameters do not fit the one argument that they get."""
    for loader in (variant for made in loaders.all_loaders(program) for variant in variants(program, made)):
        if not program.models.has(loader.name, "TorchLoader") or _iterates_itself(program, loader):
            continue
        for argument in CALLBACKS:
            if argument == "worker_init_fn" and loaders.workers(program, loader) == "none":
                continue
            expr = handed(program, loader, argument)
            for one in alternatives(loaders.argument(program, loader, argument).value):
                reason = None if _may_be_bound(program, expr, one) else arguments.rejection(program, one, 1)
                scope = next(functions(program, one), None)
                if reason is not None:
                    is_its_own = scope is not None and scope.node is not None and not isinstance(one, Partial)
                    node = scope.node if is_its_own and scope is not None and scope.node is not None else expr
                    yield Misfit(node, _name(scope), loader, argument, reason)


def _name(scope: Scope | None) -> str:
    return f"`{scope.name}`" if scope is not None and scope.kind == "function" else "what is given here"


def _iterates_itself(program: Program, loader: Loader) -> bool:
    """Whether a subclass of DataLoader may call its functions in its own way."""
    own = ("__iter__", "_get_iterator")
    return loader.cls is not None and any(
        isinstance(classes.of_class(program, loader.cls, name), Function) for name in own
    )


def _may_be_bound(program: Program, expr: ast.AST, value: Value) -> bool:
    """Whether a plain function may have become a method: one that a class has as an attribute, read off an object."""
    return (
        isinstance(value, Function)
        and not value.scope.is_method
        and isinstance(expr, ast.Attribute)
        and any(isinstance(one, Instance) for one in alternatives(program.value(expr.value)))
    )


# --- how they are started ------------------------------------------------------------------

STARTS = ("torch.multiprocessing.set_start_method", "multiprocessing.set_start_method")


def spawning(program: Program) -> frozenset[str]:
    """The folders, each with its slash, of scripts that have workers spawned by ``set_start_method``, or by what the
    configuration says."""
    return program.once("spawning", lambda: _spawning(program))


def _spawning(program: Program) -> frozenset[str]:
    if program.hints.spawns:
        return frozenset({""})
    folders = (
        program.path(call).rpartition("/")[0]
        for call in program.calls(*STARTS)
        if is_spawn(loaders.passed(program, call, "method", "method").value)
    )
    return frozenset(f"{folder}/" if folder else "" for folder in folders)


@feature("start methods")
def spawns(program: Program, loader: Loader) -> bool:
    """Whether the workers of a loader are new processes rather than forks, by its own word or by the script's."""
    contexts = alternatives(loaders.argument(program, loader, "multiprocessing_context").value)
    unnamed = all(isinstance(one, Absent) or one == NONE for one in contexts)
    if unnamed or (UNKNOWN in contexts and not program.mentions(loader.call, "multiprocessing_context")):
        return any(program.path(loader.call).startswith(folder) for folder in spawning(program))
    return all(is_spawn(_named(program, one)) for one in contexts)


def _named(program: Program, context: Value) -> Value:
    """The start method of ``multiprocessing.get_context("spawn")``."""
    if isinstance(context, Made) and context.name.endswith("multiprocessing.get_context"):
        return loaders.passed(program, context.call, "method", "method").value
    return context


def is_spawn(value: Value) -> bool:
    """Whether a start method or context makes new processes rather than forks."""
    return isinstance(value, Const) and value.value in ("spawn", "forkserver")


def has_scripts(program: Program, file: FileIndex) -> bool:
    """Whether a project has a script besides a file."""
    return any(is_script(program, other) and other is not file for other in program.files)


def is_script(program: Program, file: FileIndex) -> bool:
    """Whether running a file does something with loaders."""
    if file.module.loads.get("__name__"):
        return True
    made = (enclosing.function_of(program, loader.call) for loader in loaders.all_loaders(program))
    return any(scope.kind == "module" and scope.file is file for scope in made)
