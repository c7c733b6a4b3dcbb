"""Dataset classes as rules ask about them: their kind, what they keep on self, what fetching a sample reads."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from dl_lint.flow import call_graph, enclosing
from dl_lint.flow.hints import names_one
from dl_lint.flow.interpreter import arguments, classes
from dl_lint.flow.interpreter.classes import qualified
from dl_lint.flow.values import (
    Absent,
    Class,
    Collection,
    Const,
    Derived,
    External,
    Function,
    Instance,
    Loader,
    Made,
    Value,
    alternatives,
)
from dl_lint.pipeline import loaders
from dl_lint.source.syntax import targets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import Binding, Change, Scope


Kind = Literal["map", "iterable"]

FETCHING = ("__getitem__", "__getitems__", "__iter__", "__next__")


@dataclass(frozen=True, slots=True)
class DatasetClass:
    """A class whose objects are datasets, by what it derives from or because a loader is given one."""

    cls: Class
    kind: Kind

    @property
    def node(self) -> ast.ClassDef:
        assert isinstance(self.cls.scope.node, ast.ClassDef)
        return self.cls.scope.node

    @property
    def name(self) -> str:
        return self.cls.scope.name


@dataclass(frozen=True, slots=True)
class Kept:
    """``self.attribute`` is assigned, or changed in place, in a method of the class or of a base.

    ``binding`` for an assignment, ``change`` for a change. ``method`` is the function that does it.
    """

    attribute: str
    method: Scope
    binding: Binding | None = None
    change: Change | None = None

    @property
    def node(self) -> ast.AST:
        made = self.binding or self.change
        assert made is not None
        return made.node


@dataclass(frozen=True, slots=True)
class Read:
    """``self.attribute`` is read while a sample is fetched; ``node`` is the attribute expression."""

    attribute: str
    node: ast.Attribute
    function: Scope


def dataset_classes(program: Program) -> tuple[DatasetClass, ...]:
    """The classes of the linted files whose objects are datasets."""
    return program.once("dataset classes", lambda: _dataset_classes(program))


def _dataset_classes(program: Program) -> tuple[DatasetClass, ...]:
    found: dict[Class, Kind] = {}
    for file in program.files:
        for scope in file.scopes:
            if scope.kind == "class":
                kind = kind_of(program, Class(scope))
                if kind is not None:
                    found[Class(scope)] = kind
    for loader in loaders.all_loaders(program):
        for cls in given_classes(program, loader):
            if cls not in found and cls.scope.file.linted:
                found[cls] = "map" if _defines(program, cls, "__getitem__") else "iterable"
    return tuple(DatasetClass(cls, kind) for cls, kind in found.items())


def is_map_dataset(program: Program, name: str) -> bool:
    """Whether an outside name is that of a class of datasets that are indexed."""
    return name.rpartition(".")[2][:1].isupper() and program.models.has(name, "MapDataset")


def kind_of(program: Program, cls: Class) -> Kind | None:
    """Whether a class is a dataset by descent or because the configuration says so, and of which kind."""
    for name in classes.external_bases(program, cls):
        if program.models.has(name, "IterableDataset"):
            return "iterable"
        if is_map_dataset(program, name):
            return "map"
    wanted = program.hints.dataset_classes
    if wanted and any(names_one(wanted, name) for name in _names(program, cls)):
        return "map" if _defines(program, cls, "__getitem__") or not _defines(program, cls, "__iter__") else "iterable"
    return None


def _names(program: Program, cls: Class) -> Iterator[str]:
    for one in classes.lineage(program, cls):
        if isinstance(one, External):
            yield one.name
        elif isinstance(one, Class):
            yield qualified(one.scope)


def is_map_style(program: Program, value: Value) -> bool:
    """Whether a dataset is known to be indexed, whichever of its alternatives it is."""
    found = alternatives(value)
    return bool(found) and all(_is_map_style(program, one) for one in found)


def _is_map_style(program: Program, value: Value) -> bool:
    match value:
        case Made(name=name) if is_map_dataset(program, name):
            return True
        case Instance(cls=cls) | Made(cls=Class() as cls):
            return _defines(program, cls, "__getitem__") and not _defines(program, cls, "__iter__")
        case Made() | Derived():
            return from_hub(program, value) is not None
        case _:
            return False


def from_hub(program: Program, value: Value) -> Made | None:
    """Where a dataset of Hugging Face's, or a split of one, was loaded; None for others, and for what is streamed."""
    while isinstance(value, Derived):
        if value.step == "attr" and not program.models.is_method(str(value.key), "HubDataset"):
            return None
        if value.step not in ("attr", "call", "item"):
            return None
        value = value.base
    if not isinstance(value, Made) or not program.models.has(value.name, "HubDataset"):
        return None
    streamed = arguments.given(program, value.call, (), "streaming").symbolic
    return value if isinstance(streamed, Absent) or streamed == Const(False, "bool") else None


def given_classes(program: Program, loader: Loader) -> Iterator[Class]:
    """The classes of the project whose objects ``loader`` is given as its dataset."""

    for one in alternatives(loaders.argument(program, loader, "dataset").value):
        cls = one.cls if isinstance(one, Instance | Made) else None
        if cls is not None:
            yield cls


DEEPEST = 4
"""Datasets around others that are looked into: ``Subset(ConcatDataset([…]))``."""


def given_deep(program: Program, value: Value, depth: int = DEEPEST) -> Iterator[Class]:
    """The classes of the project whose objects a dataset is, or is made of."""
    for one in alternatives(value):
        match one:
            case Derived(base=base):
                yield from given_deep(program, base, depth)
            case Collection(items=items, element=element):
                for part in items if items is not None else (element,):
                    yield from given_deep(program, program.resolve(part), depth)
            case Instance(cls=Class() as cls) | Made(cls=Class() as cls):
                yield cls
            case _:
                pass
        if isinstance(one, Instance | Made) and one.call is not None and depth:
            for expr in (*one.call.args, *(keyword.value for keyword in one.call.keywords)):
                yield from given_deep(program, program.value(expr), depth - 1)


def holding(program: Program, node: ast.AST, dataset: DatasetClass) -> str:
    """The class that a line stands in, which may be a base of ``dataset`` or an object that it keeps; else its name."""
    scope: Scope | None = enclosing.function_of(program, node)
    while scope is not None and scope.kind != "class":
        scope = scope.parent
    return dataset.name if scope is None else scope.name


def _defines(program: Program, cls: Class, name: str) -> bool:
    return isinstance(classes.of_class(program, cls, name), Function)


# --- what it keeps and reads ---------------------------------------------------------------


def kept(program: Program, cls: Class) -> Iterator[Kept]:
    """What the methods of a class and its bases store on self, and change in place there; the class's own first."""
    return iter(program.once(("kept", cls), lambda: tuple(_kept(program, cls))))


def _kept(program: Program, cls: Class) -> Iterator[Kept]:
    for one in classes.lineage(program, cls):
        if not isinstance(one, Class):
            continue
        for method in classes.methods(one):
            if method.receiver is not None:
                yield from _kept_by(method, method.receiver + ".")


def _kept_by(method: Scope, prefix: str) -> Iterator[Kept]:
    for name, bindings in method.bindings.items():
        if name.startswith(prefix) and name.count(".") == 1:
            for binding in bindings:
                yield Kept(name[len(prefix) :], method, binding=binding)
    for name, changes in method.changes.items():
        if name.startswith(prefix) and name.count(".") == 1:
            for change in changes:
                yield Kept(name[len(prefix) :], method, change=change)


def fetching(program: Program, cls: Class) -> tuple[Scope, ...]:
    """The functions that run in a worker for each sample: ``__getitem__``, ``__iter__`` and what they call."""
    return program.once(("fetching", cls), lambda: _fetching(program, cls))


def _fetching(program: Program, cls: Class) -> tuple[Scope, ...]:
    methods = (classes.of_class(program, cls, name) for name in FETCHING)
    roots = [found.scope for found in methods if isinstance(found, Function)]
    return call_graph.reachable(program, *roots, cls=cls)


def outside_calls(program: Program, *functions: Scope) -> Iterator[tuple[ast.Call, str]]:
    """The calls of outside functions in ``functions``, each with the qualified name of what is called."""
    for function in functions:
        for scope in classes.with_inner(function):
            for call in scope.calls:
                for one in alternatives(program.value(call.func)):
                    if isinstance(one, External):
                        yield call, one.name


def reads(program: Program, cls: Class) -> Iterator[Read]:
    """The attributes of self that are read while a sample is fetched."""
    for function in fetching(program, cls):
        owner = function.receiver
        if owner is None:
            continue
        for scope in classes.with_inner(function):
            for load in scope.loads.get(owner, ()):
                above = program.parents.get(load)
                if isinstance(above, ast.Attribute) and not _is_stored(program, above):
                    yield Read(above.attr, above, function)


def _is_stored(program: Program, node: ast.Attribute) -> bool:
    above = program.parents.get(node)
    return above is not None and node in targets(above)
