"""What workers are given and run: whose datasets, which collate functions, and objects that were built before."""

from __future__ import annotations

import ast
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dl_lint.project import attributes, choosing, narrowed, reach, unused
from dl_lint.project.frameworks import MAP_DATASETS, composes
from dl_lint.project.values import (
    UNKNOWN,
    Bound,
    Class,
    Collection,
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

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dl_lint.project.model import Project
    from dl_lint.project.scopes import Scope

MOST_CLASSES = 16
"""Classes whose construction is followed from one constructor."""

LONGEST_CHAIN = 2
"""Calls followed outwards from where a loader is made; a builder and the function that sets things up, as a rule."""

MOST_VARIANTS = 64

SPLIT = "torch.utils.data.random_split"

_NESTED = 4
"""Datasets around a dataset that are looked into; a subset of a concatenation is two."""


# --- datasets ------------------------------------------------------------------------------


def given(project: Project, loader: Loader) -> Iterator[Instance]:
    """The datasets of project classes that a loader is given, also inside Subset, ConcatDataset and random_split."""
    yield from _datasets(project, narrowed.argument(project, project.argument(loader, "dataset")), _NESTED)


def _datasets(project: Project, value: Value, depth: int) -> Iterator[Instance]:
    for one in alternatives(value):
        match one:
            case Instance():
                yield one
            case Derived(step="item", base=Made(name=name) as made) if name == SPLIT and depth:
                yield from _inside(project, made, depth)
            case Made(name=name) if name in MAP_DATASETS and depth:
                yield from _inside(project, one, depth)
            case Collection() if depth:
                for item in one.items if one.items is not None else (one.element,):
                    yield from _datasets(project, item, depth - 1)
            case _:
                continue


def _inside(project: Project, made: Made, depth: int) -> Iterator[Instance]:
    for name, positions in (("dataset", ("dataset",)), ("datasets", ())):
        yield from _datasets(project, project.passed(made.call, name, *positions).value, depth - 1)


def users(project: Project, cls: Class) -> tuple[Loader, ...]:
    """The loaders that are given an object of ``cls`` or of a class that derives from it, by call chain."""
    return tuple(project.evaluator.once("given", lambda: _all_given(project)).get(cls, ()))


def unclaimed(project: Project, cls: Class) -> tuple[Loader, ...]:
    """The loaders in the sub-project of ``cls`` of which nobody knows the dataset: they may be given one of it."""
    users = project.evaluator.once("given", lambda: _all_given(project)).values()
    known = {loader.call for loaders in users for loader in loaders}
    node = cls.scope.node
    near = (loader for loader in project.loaders() if node is not None and project.are_near(node, loader.call))
    return tuple(loader for loader in near if loader.call not in known)


def _all_given(project: Project) -> Mapping[Value, Mapping[Loader, None]]:
    """The loaders, by call chain, that are given an object of each class or of a class that derives from it."""
    found: defaultdict[Value, dict[Loader, None]] = defaultdict(dict)
    for made in project.loaders():
        for loader in variants(project, made):
            for dataset in given(project, loader):
                if choosing.is_never(project, dataset.call, loader.frames):
                    continue
                for cls in attributes.lineage(project.evaluator, dataset.cls):
                    found[cls][loader] = None
    return found


def variants(project: Project, loader: Loader) -> tuple[Loader, ...]:
    """A loader once for each chain of calls that leads to it.

    ``make_loader(train, 4)`` and ``make_loader(test, 0)`` are two loaders, of which one has workers.
    """
    return project.evaluator.once(("variants", loader), lambda: _variants(project, loader))


def _variants(project: Project, loader: Loader) -> tuple[Loader, ...]:
    found = [loader]
    for _ in range(LONGEST_CHAIN):
        longer = [variant for one in found for variant in _called_from(project, one)]
        if longer == found or len(longer) > MOST_VARIANTS:
            break
        found = longer
    return tuple(found)


def _called_from(project: Project, loader: Loader) -> Iterator[Loader]:
    call = loader.frames[-1].call if loader.frames else loader.call
    scope = project.function_of(call)
    frames = project.callers(scope) if scope.kind == "function" else ()
    entered = [frame for frame in frames if frame not in loader.frames]
    if not entered:
        yield loader
    for frame in entered:
        yield replace(loader, frames=(*loader.frames, frame))


def idle(project: Project, cls: Class) -> bool:
    """Whether loaders of ``cls`` are known, and none of them has workers; or nobody here ever asks for workers, or its
    notebook, from which nothing can be imported, makes no loader, or its project has
    scripts and not one of them."""
    file = cls.scope.file
    if file.path.endswith(".ipynb") and all(project.site(one.call).scope.file is not file for one in project.loaders()):
        return True
    if unused.has_scripts(project, file) and not _speaks_of_loaders(project, cls):
        return True
    loaders = users(project, cls) or _unasked(project, cls)
    return bool(loaders) and all(project.workers(loader) == "none" for loader in loaders)


def _speaks_of_loaders(project: Project, cls: Class) -> bool:
    """Whether a ``DataLoader`` is named anywhere: in the sub-project of ``cls``, or in any file that is linted."""
    files = project.evaluator.files
    node = cls.scope.node
    return (node is None or project.mentions(node, "DataLoader")) or project.evaluator.once(
        "speaks of loaders", lambda: any("DataLoader" in files.text(one) for one in project.files)
    )


def _unasked(project: Project, cls: Class) -> tuple[Loader, ...]:
    """All loaders of the sub-project of ``cls``, if the word for workers stands nowhere in it."""
    node = cls.scope.node
    if node is None or project.mentions(node, "num_workers"):
        return ()
    return tuple(loader for loader in project.loaders() if project.are_near(node, loader.call))


def handed(project: Project, loader: Loader, argument: str) -> ast.AST:
    """Where an argument of a loader is given: in the call of its builder, if that hands it on."""
    node = project.argument(loader, argument).expr
    for frame in loader.frames:
        found = project.evaluator.symbolic(node) if isinstance(node, ast.expr) else UNKNOWN
        if not isinstance(found, Parameter) or found.scope is not frame.scope:
            break
        names = [param.name for param in frame.scope.params]
        given_ = project.passed(frame.call, found.param.name, *(names[1:] if frame.scope.is_method else names))
        if not given_.given:
            break
        node = given_.expr
    return node


# --- functions -----------------------------------------------------------------------------


def building(project: Project, cls: Class) -> tuple[Scope, ...]:
    """The functions that run in the main process before an object of ``cls`` is there: its constructor, what that
    calls, and the constructors of the objects that it makes or is given to keep."""
    return project.evaluator.once(("building", cls), lambda: _building(project, cls))


def _building(project: Project, cls: Class) -> tuple[Scope, ...]:
    ev = project.evaluator
    found: dict[Scope, None] = {}
    classes = [cls]
    for one in classes:
        init = attributes.of_class(ev, one, "__init__")
        functions_ = reach.reachable(ev, (init.scope,) if isinstance(init, Function) else (), one)
        found.update(dict.fromkeys(functions_))
        made = {made for function in functions_ for made in _classes_called(project, function)}
        kept = {held_ for held_, method in _kept_classes(project, one) if method in functions_}
        new = sorted((made | kept).difference(classes), key=lambda other: (other.scope.file.path, other.scope.name))
        classes.extend(new[: MOST_CLASSES - len(classes)])
    return tuple(found)


def _kept_classes(project: Project, cls: Class) -> Iterator[tuple[Class, Scope]]:
    """The classes of the objects that are kept on self, each with the method that does it."""
    for kept in project.kept(cls):
        value = project.bound_value(kept.binding) if kept.binding is not None else UNKNOWN
        yield from ((one.cls, kept.method) for one in _objects(project, value, _NESTED))


def _objects(project: Project, value: Value, depth: int) -> Iterator[Instance]:
    """The objects of project classes that a value is, or that a list, tuple or dict holds."""
    for one in alternatives(project.evaluator.resolve(value)):
        match one:
            case Instance():
                yield one
            case Collection() if depth:
                for item in one.items if one.items is not None else (one.element,):
                    yield from _objects(project, item, depth - 1)
            case Table() if depth:
                for _, item in one.items:
                    yield from _objects(project, item, depth - 1)
            case Made(name=name) if depth and composes(name):
                for part in reach.composed(project.evaluator, one):
                    yield from _objects(project, part, depth - 1)
            case _:
                continue


def _classes_called(project: Project, function: Scope) -> Iterator[Class]:
    for scope in reach.with_inner(function):
        for call in scope.calls:
            yield from (one for one in alternatives(project.value(call.func)) if isinstance(one, Class))


def held(project: Project, cls: Class) -> tuple[Class, ...]:
    """``cls`` and the classes of the objects that its objects keep on self, and of those that these keep."""
    found = [cls]
    for one in found:
        for other, _ in _kept_classes(project, one):
            if other not in found and len(found) < MOST_CLASSES:
                found.append(other)
    return tuple(found)


def methods(project: Project, cls: Class) -> Iterator[tuple[Scope, Class]]:
    """The methods that run for a sample, of ``cls`` and of the objects that it holds, each with the class that it runs
    on. Objects that are made for the sample are not the dataset's, and their methods are left out."""
    classes = held(project, cls)
    for function in project.fetching(cls):
        if not function.is_method or function.parent is None or not function.params:
            continue
        defining = Class(function.parent)
        for one in classes:
            if defining in attributes.lineage(project.evaluator, one):
                yield function, one
                break


@dataclass(frozen=True, slots=True)
class Collator:
    """A function that ``loader`` collates with; ``partial`` when some of its arguments are bound."""

    function: Scope
    loader: Loader
    node: ast.AST
    partial: ast.Call | None = None


def collators(project: Project) -> tuple[Collator, ...]:
    """The collate functions of all loaders."""
    return project.evaluator.once("collators", lambda: tuple(_collators(project)))


def _collators(project: Project) -> Iterator[Collator]:
    for loader in (variant for made in project.loaders() for variant in variants(project, made)):
        argument = project.argument(loader, "collate_fn")
        for one in alternatives(argument.value):
            partial = one.call if isinstance(one, Partial) else None
            for function in functions(project, one):
                yield Collator(function, loader, argument.node, partial)


def functions(project: Project, *values: Value) -> Iterator[Scope]:
    """The functions of the project that calling ``values`` enters."""
    for one in (one for value in values for one in alternatives(value)):
        match one:
            case Function():
                yield one.scope
            case Bound():
                yield one.function.scope
            case Instance():
                found = attributes.of_instance(project.evaluator, one, "__call__")
                if isinstance(found, Bound):
                    yield found.function.scope
            case Partial():
                yield from functions(project, one.func)
            case _:
                continue
