"""Files and connections that processes cannot share, and the datasets that carry one into their workers."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dl_lint.flow import call_graph, enclosing
from dl_lint.flow.features import feature
from dl_lint.flow.interpreter import classes, names
from dl_lint.flow.outcomes import truth_of
from dl_lint.flow.values import Class, Collection, Const, Derived, Function, Made, Table, Value, alternatives
from dl_lint.pipeline import datasets, loaders, workers
from dl_lint.source.syntax import is_none

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import Scope
    from dl_lint.pipeline.datasets import Read


def what_opens(program: Program, name: str) -> str | None:
    """What a function opens, if that has a position or a lock of its own, which forked processes share.

    mmap, numpy.memmap and numpy.load(mmap_mode=…) have no position and may be shared.
    """
    return next((mark.of[0] for mark in program.models.get(name).marks if mark.kind == "Opens"), None)


_METHODS = frozenset({"cursor", "begin", "open", "open_db", "get_node"})
"""Methods that return something through which the handle is still read."""

_POSITIONED = frozenset({"fileno", "name", "closed", "close", "filename", "mode"})
"""Attributes of a file that say nothing of its position; what has the descriptor reads with ``os.pread``."""

PICKLED_BY_HAND = ("__getstate__", "__reduce__", "__reduce_ex__")


def opened(program: Program, value: Value) -> Iterator[Made]:
    """The handles that ``value`` is, holds or reads through."""
    for one in alternatives(value):
        match one:
            case Made():
                if what_opens(program, one.name) is not None:
                    yield one
            case Derived():
                yield from _behind(program, one)
            case Collection():
                for item in one.items if one.items is not None else (one.element,):
                    yield from opened(program, item)
            case Table():
                for _, item in one.items:
                    yield from opened(program, item)
            case _:
                continue


def _behind(program: Program, value: Derived) -> Iterator[Made]:
    """``file["images"]``, ``file.get("images")``, ``connection.cursor()``; not ``file["images"][:]``, which is data."""
    base, parts = value.base, 0
    if value.step == "call" and isinstance(base, Derived) and base.step == "attr" and base.key in _METHODS:
        yield from opened(program, base.base)
        return
    if value.step == "call" and isinstance(base, Derived) and base.step == "attr" and base.key == "get":
        yield from (one for one in opened(program, base.base) if program.models.has(one.name, "Parts"))
        return
    inner: Value = value
    while isinstance(inner, Derived) and (inner.step == "item"):
        named = isinstance(inner.key, Const | str) and (not isinstance(inner.key, Const) or inner.key.kind == "str")
        if not named and isinstance(inner.base, Derived):
            return
        inner, parts = inner.base, parts + 1
    if parts and isinstance(inner, Made) and program.models.has(inner.name, "Parts"):
        yield inner


# --- datasets that carry one ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Shared:
    """``made`` is opened in the main process and still open where ``read`` reads it for a sample.

    ``measured`` when it is not opened before ``len()`` is asked for; ``pickled`` when all workers are spawned.
    """

    made: Made
    read: Read
    measured: bool
    pickled: bool


def shared(program: Program, cls: Class) -> Iterator[Shared]:
    """The handles that objects of ``cls`` open in the main process and read in their workers."""
    making = workers.building(program, cls)
    building = (*making, *_measuring(program, cls))
    loaders = workers.users(program, cls) or workers.unclaimed(program, cls)
    pickled = program.hints.spawns or (bool(loaders) and all(workers.spawns(program, loader) for loader in loaders))
    for read in datasets.reads(program, cls):
        if pickled and _is_pickled_by_hand(program, cls, read):
            continue
        if _is_harmless(program, read):
            continue
        for made in _for_reading(program, tuple(_read_through(program, cls, read))):
            if enclosing.function_of(program, made.call) not in building or _is_closed(program, made, building):
                continue
            if _is_stored_in(program, cls, made, building) and not _is_reopened(program, cls, read):
                yield Shared(made, read, enclosing.function_of(program, made.call) not in making, pickled)


def _read_through(program: Program, cls: Class, read: Read) -> Iterator[Made]:
    """The handles that an attribute is or holds, also under keys: ``self.files[path] = h5py.File(path)``."""
    yield from opened(program, program.value(read.node))
    for kept in datasets.kept(program, cls):
        if kept.attribute == read.attribute and kept.change is not None and kept.change.kind == "item":
            yield from opened(program, program.value(kept.change.value))


def _for_reading(program: Program, opened: tuple[Made, ...]) -> tuple[Made, ...]:
    """Of environments that are opened here for reading and there for writing, those that samples are read from."""
    reading = tuple(one for one in opened if truth_of(loaders.argument(program, one, "readonly").value) is True)
    return reading or opened


def _is_stored_in(program: Program, cls: Class, made: Made, building: tuple[Scope, ...]) -> bool:
    """Whether one of ``building`` keeps the handle: a method that opens it may be called early, and kept from late."""
    storing = [
        kept.method
        for kept in datasets.kept(program, cls)
        if kept.binding is not None
        and any(one.call is made.call for one in opened(program, names.bound_value(program, kept.binding)))
    ]
    return not storing or any(method in building for method in storing)


def _is_pickled_by_hand(program: Program, cls: Class, read: Read) -> bool:
    """Whether the dataset, or the object that holds the handle, says itself what of it travels to a spawned worker."""
    owner = read.function.parent
    holders = (cls, Class(owner)) if owner is not None and owner.kind == "class" else (cls,)
    return any(
        isinstance(classes.of_class(program, one, name), Function) for one in holders for name in PICKLED_BY_HAND
    )


@feature("handles opened by __len__", ())
def _measuring(program: Program, cls: Class) -> tuple[Scope, ...]:
    """What ``len(dataset)`` runs: samplers ask for it in the main process, before there are workers."""
    method = classes.of_class(program, cls, "__len__")
    return call_graph.reachable(program, method.scope, cls=cls) if isinstance(method, Function) else ()


@feature("reads that move no position")
def _is_harmless(program: Program, read: Read) -> bool:
    """Whether a read does not move the position: a test for None, a descriptor for ``os.pread``."""
    above = program.parent(read.node)
    if isinstance(above, ast.Attribute):
        return above.attr in _POSITIONED
    return isinstance(above, ast.Compare) and any(is_none(one) for one in above.comparators)


@feature("handles closed or reopened")
def _is_closed(program: Program, made: Made, building: tuple[Scope, ...]) -> bool:
    """Whether the constructor closes what it opened."""
    if isinstance(program.parent(made.call), ast.withitem):
        return True
    opener, opening = enclosing.function_of(program, made.call), program.site(made.call).order
    for function in building:
        for scope in classes.with_inner(function):
            for call in scope.calls:
                if isinstance(call.func, ast.Attribute) and call.func.attr == "close":
                    later = function is not opener or program.site(call).order > opening
                    if later and made in opened(program, program.value(call.func.value)):
                        return True
    return False


@feature("handles closed or reopened")
def _is_reopened(program: Program, cls: Class, read: Read) -> bool:
    """Whether workers get a handle of their own from worker_init_fn."""
    for loader in workers.users(program, cls):
        starting = workers.functions(program, *alternatives(loaders.argument(program, loader, "worker_init_fn").value))
        for function in call_graph.reachable(program, *starting):
            if any(
                store.target.attr == read.attribute
                for store in function.stores
                if isinstance(store.target, ast.Attribute)
            ):
                return True
    return False
