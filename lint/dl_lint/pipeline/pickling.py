"""What travels to a worker by pickling, and what of it cannot."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dl_lint.flow import enclosing, guards
from dl_lint.flow.features import NOTHING_MORE, feature
from dl_lint.flow.interpreter import classes, objects
from dl_lint.flow.reaching import visible_at_end
from dl_lint.flow.values import (
    Bound,
    Class,
    Collection,
    Derived,
    Function,
    Generated,
    Instance,
    Loader,
    Made,
    Partial,
    Sampler,
    Table,
    alternatives,
)
from dl_lint.pipeline import datasets, workers
from dl_lint.pipeline.handles import PICKLED_BY_HAND
from dl_lint.source.syntax import dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import Scope
    from dl_lint.flow.values import Value


DEEPEST = 12
"""Objects in objects that are looked into: a lambda in a Lambda in a Compose in a dataset in a Subset is four."""


def what_does_not_pickle(program: Program, name: str) -> str | None:
    """What an outside function makes that cannot be pickled or, ``torch.Generator``, not be unpickled. DL303 is about
    other handles."""
    return next((mark.of[0] for mark in program.models.get(name).marks if mark.kind == "Unpicklable"), None)


FILTERS = frozenset({"is_valid_file"})
"""What outside datasets are made with, and call while they list their files, but do not keep."""


@dataclass(frozen=True, slots=True)
class Obstacle:
    """``what`` cannot be pickled. ``node`` is where it is made or, for a function with a name, handed on. ``cause`` is
    the definition of a function that the function which makes it returns, to several places as it may be."""

    what: str
    node: ast.AST
    cause: ast.AST | None = None


def obstacles(program: Program, value: Value, at: ast.AST, depth: int = DEEPEST) -> Iterator[Obstacle]:
    """What keeps ``value``, handed over at ``at``, from being pickled."""
    for one in alternatives(value) if depth else ():
        match one:
            case Function():
                yield from _of_function(program, one.scope, at)
            case Bound():
                yield from _of_local_class(program, one.receiver)
            case Partial():
                yield from obstacles(program, program.resolve(one.func), at, depth - 1)
                yield from _of_arguments(program, one.call, depth, first=1)
            case Instance():
                yield from _of_instance(program, one, depth)
            case Loader() | Sampler():
                continue
            case Made():
                yield from _of_made(program, one, depth)
            case Derived(step="item", base=Made(name=workers.SPLIT) as made):
                yield from _of_arguments(program, made.call, depth)
            case Generated():
                yield Obstacle("a generator", at)
            case Collection() | Table():
                yield from _of_container(program, one, at, depth)
            case _:
                continue


# --- functions and classes without a name ---------------------------------------------------


def _of_function(program: Program, scope: Scope, at: ast.AST) -> Iterator[Obstacle]:
    """A function is pickled by its name, which a lambda lacks and a nested one does not have at module level."""
    if scope.node is None:
        return
    if scope.kind == "lambda":
        returned = _is_returned(program, scope)
        yield Obstacle("a lambda", at if returned else scope.node, scope.node if returned else None)
    elif _is_local(scope):
        cause = scope.node if _is_returned(program, scope) else None
        yield Obstacle(f"the nested function `{scope.name}`", _handing(program, scope, at), cause)
    elif enclosing.under_main_guard(program, scope.node):
        yield Obstacle(f"the function `{scope.name}` of the main guard, which workers do not run,", at)


def _is_returned(program: Program, scope: Scope) -> bool:
    """Whether the function that a function is made in returns it."""
    definer = scope.parent.function if scope.parent is not None else None
    returns = definer.returns if definer is not None else ()
    return any(Function(scope) in alternatives(program.symbolic(one.value)) for one in returns)


def _handing(program: Program, scope: Scope, at: ast.AST) -> ast.AST:
    """Where the function that makes a nested one hands it to somebody; ``at``, if that is here or it returns it."""
    definer = scope.parent
    if definer is None or enclosing.function_of(program, at) is definer or _is_returned(program, scope):
        return at
    for load in definer.loads.get(scope.name, ()):
        above = program.parent(load)
        if isinstance(above, ast.keyword) or (isinstance(above, ast.Call) and load in above.args):
            return load
    return at


def _is_local(scope: Scope) -> bool:
    """Whether a definition stands in a function."""
    outer = scope.parent
    while outer is not None and outer.kind == "class":
        outer = outer.parent
    return outer is not None and outer.kind != "module"


def _of_local_class(program: Program, value: Value) -> Iterator[Obstacle]:
    for one in alternatives(value):
        if not isinstance(one, Instance) or one.call is None or one.cls.scope.node is None:
            continue
        if _is_local(one.cls.scope):
            yield Obstacle(f"an object of the local class `{one.cls.scope.name}`", one.call)
        elif enclosing.under_main_guard(program, one.cls.scope.node):
            yield Obstacle(
                f"an object of the class `{one.cls.scope.name}` of the main guard, which workers do not run,", one.call
            )


# --- what objects hold ----------------------------------------------------------------------


def _of_arguments(program: Program, call: ast.Call, depth: int, first: int = 0) -> Iterator[Obstacle]:
    named = (keyword.value for keyword in call.keywords if keyword.arg not in FILTERS)
    for argument in (*call.args[first:], *named):
        yield from obstacles(program, program.value(argument), argument, depth - 1)


def _of_made(program: Program, made: Made, depth: int) -> Iterator[Obstacle]:
    """An object of an outside class holds what it was made of; an outside function (``sorted``) mostly does not."""
    what = what_does_not_pickle(program, made.name)
    if what is not None:
        yield Obstacle(what, made.call)
    elif made.name.rpartition(".")[2][:1].isupper():
        yield from _of_arguments(program, made.call, depth)


def _of_container(program: Program, value: Collection | Table, at: ast.AST, depth: int) -> Iterator[Obstacle]:
    if isinstance(value, Collection) and value.kind == "generator":
        yield Obstacle("a generator", value.node or at)
        return
    if isinstance(value.node, ast.Call) and (dotted(value.node.func) or "").endswith("defaultdict"):
        yield from _of_arguments(program, value.node, depth)
    if isinstance(value, Table):
        held = tuple(item for _, item in value.items)
    else:
        held = value.items if value.items is not None else (value.element,)
    for item in held:
        yield from obstacles(program, program.resolve(item), at, depth - 1)


@feature("attributes that do not pickle", NOTHING_MORE)
def _of_instance(program: Program, instance: Instance, depth: int) -> Iterator[Obstacle]:
    """What an object keeps on self when its constructor is done, unless it says itself what is pickled."""
    key = ("obstacles", instance, depth)
    return iter(program.once(key, lambda: tuple(_kept_by(program, instance, depth))))


def _pickles_by_hand(program: Program, cls: Class) -> bool:
    return any(isinstance(classes.of_class(program, cls, name), Function) for name in PICKLED_BY_HAND)


def _kept_by(program: Program, instance: Instance, depth: int) -> Iterator[Obstacle]:
    if _pickles_by_hand(program, instance.cls):
        return
    yield from _of_local_class(program, instance)
    building = workers.building(program, instance.cls)
    for kept in datasets.kept(program, instance.cls):
        binding = kept.binding
        if binding is None or binding.kind != "assign" or binding.path or kept.method not in building:
            continue
        at = binding.value or binding.node
        if binding in visible_at_end(kept.method, binding.name).bindings and guards.is_taken(program, instance, at):
            value = objects.as_built(program, instance, _as_handed_up(program, instance, kept.method, binding.value))
            if instance.call is not None:  # of just some object, what its maker passed is not known
                value = program.resolve(value)
            for one in obstacles(program, value, at, depth - 1):
                if program.site(one.node).scope is not kept.method or guards.is_taken(program, instance, one.node):
                    yield one


def _as_handed_up(program: Program, instance: Instance, method: Scope, stored: ast.expr | None) -> Value:
    """What a method stores, with the parameters of a base's constructor bound by those of the classes below it."""
    base = Class(method.parent) if method.parent is not None and method.name == "__init__" else instance.cls
    value = program.symbolic(stored)
    inherited = base != instance.cls and base in classes.lineage(program, instance.cls)
    return objects.handed_up(program, instance.cls, base, value) if inherited else value
