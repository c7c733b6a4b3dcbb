"""The lives of workers: who starts them anew, and what they would miss if they stayed."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dl_lint.context import torch_version
from dl_lint.flow import call_graph, enclosing, purity
from dl_lint.flow.features import feature
from dl_lint.flow.interpreter import classes
from dl_lint.flow.values import Class, Function, Instance, Loader, Made, Unknown, Wrapped, alternatives
from dl_lint.pipeline import caches, loaders, loops, trainers, workers
from dl_lint.source.syntax import ForStatement, FunctionDefinition, dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.enclosing import LoopNode
    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import Scope


FIRST = (1, 7)
"""The first torch with persistent workers. Where batches are pinned, they fail there at the end of the second pass."""

FIRST_WITH_PINNING = (1, 8)

_MAKING_AN_ITERATOR = ("__iter__", "_get_iterator")


def starts_workers_again(program: Program, loader: Loader) -> bool:
    """Whether a loader has workers that nobody asked to persist."""
    if not program.models.has(loader.name, "TorchLoader") and not loader.name.startswith("torch_geometric."):
        return False
    if enclosing.in_handler(program, loader.call):
        return False  # for a torch that knows no persistent workers
    if _keeps_its_iterator(program, loader):
        return False
    return not loaders.argument(program, loader, "persistent_workers").given and loaders.may_have_workers(
        program, loader
    )


@feature("loaders with an __iter__ of their own")
def _keeps_its_iterator(program: Program, loader: Loader) -> bool:
    """Whether a loader's class has an ``__iter__`` of its own that asks torch's for no new iterator: its workers are
    started where that one was made."""
    method = classes.of_class(program, loader.cls, "__iter__") if loader.cls is not None else None
    if not isinstance(method, Function):
        return False
    calls = (call.func for scope in classes.with_inner(method.scope) for call in scope.calls)
    return not any(isinstance(func, ast.Attribute) and func.attr in _MAKING_AN_ITERATOR for func in calls)


def keyword(program: Program, loader: Loader) -> str:
    """What keeps the workers: True, or a test of their number where that is no literal, as DataLoader refuses True
    without any."""
    said = loaders.argument(program, loader, "num_workers")
    number = None if _is_spread(said.node) else dotted(said.expr)
    return "persistent_workers=True" if number is None else f"persistent_workers={number} > 0"


def wanted(program: Program, loader: Loader) -> str:
    """The same in prose, with the dict that it belongs in where the number of workers comes from one."""
    node = loaders.argument(program, loader, "num_workers").node
    spread = dotted(node.value) if isinstance(node, ast.keyword) and _is_spread(node) else None
    return f"`{keyword(program, loader)}`" + (f" beside `num_workers` in `{spread}`" if spread else "")


def _is_spread(node: ast.AST) -> bool:
    """Whether an argument comes by ``**kwargs``."""
    return isinstance(node, ast.keyword) and node.arg is None


@feature("persistent workers by version of torch")
def are_lacking(program: Program, loader: Loader) -> bool:
    """Whether the torch that the project declares has no persistent workers, or none that go with pinning."""
    return torch_version.target(program, loader.call).lacks(
        FIRST if loaders.pins(program, loader) == "no" else FIRST_WITH_PINNING
    )


def fills_caches(program: Program, loader: Loader) -> bool:
    """Whether samples stay in a worker as they are fetched, so that one that stays comes to hold all of them."""
    return any(growth for one in workers.given(program, loader) for growth in caches.growing(program, one.cls))


NAMES = ("dataset", "_dataset", "collate_fn")
"""Where a loader and its iterator keep what their workers have a copy of."""

OWN = frozenset({"sampler", "batch_sampler", "generator"})
"""What a loader uses in the main process only."""

HINTS = ("loader", "iter", "fetcher", "batches", "_dl")
"""What the names of loaders and of their iterators hold."""

READING = (
    "get", "len", "evaluate", "collate", "plot", "show", "decode", "is_", "has_", "inverse", "format", "print",
    "save", "to_", "num_", "keys", "items", "values", "__getitem__", "__len__",
)  # fmt: skip
"""Beginnings of the names of methods that only read."""


@dataclass(frozen=True, slots=True)
class Touch:
    """``node`` may change the dataset or collate_fn that ``holder``, a loader or an iterator of one, keeps.

    ``bare`` where it stores an attribute on the loader itself, or on a wrapper that may hand it on.
    """

    node: ast.AST
    holder: ast.Attribute
    bare: bool = False


@feature("datasets changed between epochs")
def changes(program: Program, loader: Loader, again: ast.AST, loop: LoopNode | None) -> bool:
    """Whether what workers hold is changed between epochs: by a method or an assignment, in ``again`` or elsewhere."""
    touches = (
        one
        for one in (*_all(program), *_imported(program, again, loop))
        if _may_hold(program, one.holder, loader, again)
    )
    if any(_is_between(program, one, loader, again) for one in touches):
        return True
    if loop is None or not isinstance(again, ForStatement | ast.While | ast.comprehension):
        return False
    held = {
        one.call
        for name in ("dataset", "collate_fn")
        for one in alternatives(loaders.argument(program, loader, name).value)
        if isinstance(one, Instance | Made)
    }
    for owner in trainers.touched_in(program, again, loop):
        if any(isinstance(one, Instance | Made) and one.call in held for one in alternatives(program.value(owner))):
            return True
    return False


def _is_of(program: Program, owner: ast.Attribute, loader: Loader) -> bool:
    """Whether ``owner`` is an attribute of ``loader``."""
    return any(one.call is loader.call for one in loops.loaders_iterated(program, owner.value)[0])


def _all(program: Program) -> tuple[Touch, ...]:
    return program.once(
        "touched datasets",
        lambda: tuple(one for file in program.files for scope in file.scopes for one in _touches(program, scope)),
    )


def _imported(program: Program, *nodes: ast.AST | None) -> Iterator[Touch]:
    """The touches in what the functions of ``nodes`` call in files that are only imported."""
    functions = dict.fromkeys(enclosing.function_of(program, node) for node in nodes if node is not None)
    for function in call_graph.reachable(program, *functions):
        if function.file not in program.files:
            yield from _touches(program, function)


def _touches(program: Program, scope: Scope) -> Iterator[Touch]:
    if _is_setter(scope):  # runs where somebody stores the property
        return
    for store in scope.stores:
        inner = store.target if isinstance(store.target, ast.Attribute) and store.target.attr == "_dataset" else None
        holder = inner or _held(scope, store.target.value)
        if holder is not None:
            yield Touch(store.node, holder)
        elif isinstance(store.target, ast.Attribute) and _is_loader(program, scope, store.target):
            yield Touch(store.node, store.target, bare=True)
    for call in scope.calls:
        yield from (Touch(call, holder) for holder in _changed_by(program, scope, call))


def _is_setter(scope: Scope) -> bool:
    return isinstance(scope.node, FunctionDefinition) and any(
        isinstance(one, ast.Attribute) and one.attr == "setter" for one in scope.node.decorator_list
    )


def _is_loader(program: Program, scope: Scope, target: ast.Attribute) -> bool:
    """Whether an attribute is stored on what may be a loader or a wrapper of one, but for an object's own methods."""
    name = dotted(target.value)
    function = scope.function
    if target.attr in OWN or (name is not None and name == function.receiver):
        return False
    values = alternatives(program.value(target.value))
    if target.attr != "collate_fn" and any(isinstance(one, Wrapped) for one in values):
        return False  # a progress bar around it, in some runs
    if any(isinstance(one, Loader | Instance) for one in values):
        return bool(loops.loaders_iterated(program, target.value)[0])
    named = "loader" in (name or "").rpartition(".")[2].lower()
    return named and any(isinstance(one, Unknown) for one in values)


def _changed_by(program: Program, scope: Scope, call: ast.Call) -> Iterator[ast.Attribute]:
    """What a call may change of what workers hold: by a method of it, or by a function that stores on it."""
    if isinstance(call.func, ast.Attribute):
        holder = _held(scope, call.func.value)
        if holder is not None and not (call.func.attr.startswith(READING) or purity.only_reads(program, call)):
            yield holder
    named = [one for one in call.args if not isinstance(one, ast.Starred)]
    named += [one.value for one in call.keywords]
    if not any(_kept(one) for one in named):
        return
    if dotted(call.func) in ("setattr", "delattr"):
        named = named[:1]
    elif not any(
        isinstance(store.target, ast.Attribute) for one in call_graph.entered(program, call) for store in one.stores
    ):
        return
    yield from (holder for one in named if (holder := _held(scope, one)) is not None)


def _held(scope: Scope, owner: ast.expr) -> ast.Attribute | None:
    """The ``loader.dataset`` in ``loader.dataset.inner[0]``, also by a name that it was given."""
    found = _kept(owner)
    if found is None and isinstance(owner, ast.Name):
        values = (one.value for one in scope.bindings.get(owner.id, ()) if one.kind == "assign" and not one.path)
        found = next((kept for value in values if value is not None and (kept := _kept(value))), None)
    return found


def _kept(expr: ast.expr) -> ast.Attribute | None:
    while isinstance(expr, ast.Attribute | ast.Subscript):
        if isinstance(expr, ast.Attribute) and expr.attr in NAMES:
            return expr
        expr = expr.value
    return None


def _may_hold(program: Program, holder: ast.Attribute, loader: Loader, again: ast.AST) -> bool:
    """Whether a dataset that is touched may be that of ``loader``: where it is not known, by name, and close by."""
    loaders, certain = loops.loaders_iterated(program, holder.value)
    if any(one.call is loader.call for one in loaders):
        return True
    if loaders and certain:
        return False
    near = {program.path(again), program.path(loader.call)}
    if program.path(holder) not in near and again not in call_graph.repeating(program, holder):
        return False
    function = enclosing.function_of(program, holder)
    if function.receiver is not None and dotted(holder.value) == function.receiver:
        bases = classes.external_bases(program, Class(function.parent)) if function.parent is not None else ()
        return any(program.models.has(one, "TorchLoader") for one in bases)
    name = (dotted(holder.value) or "").rpartition(".")[2].lower()
    return any(hint in name for hint in HINTS)


def _is_between(program: Program, touch: Touch, loader: Loader, again: ast.AST) -> bool:
    """Whether a change may come after the first pass: not where it is made once, before the loop or by the builder."""
    if any(call_graph.repeating(program, touch.node)):
        return True
    function = enclosing.function_of(program, touch.node)
    if function is enclosing.function_of(program, again):
        return program.site(touch.node).order > program.site(again).order
    return function is not enclosing.function_of(program, loader.call)
