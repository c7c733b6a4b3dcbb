"""The loaders that do not pin whose batches a copy is given, and whether that is on purpose."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project import asked, attributes, beside, edits, purpose, transfers, workers
from dl_lint.project.blocking import MOVES
from dl_lint.project.once_over import is_outside_training
from dl_lint.project.syntax import dotted
from dl_lint.project.values import Batch, Const, Function, Tensor, alternatives
from dl_lint.rule import Fix

if TYPE_CHECKING:
    from dl_lint.project.model import Project
    from dl_lint.project.transfers import Transfer
    from dl_lint.project.values import Loader

_ROWS = frozenset({"list", "tuple"})

NEAR = 3
"""Statements after a copy, or after the call that makes it, in which the host may be seen to wait."""


def nobody_pins(project: Project, near: t.Node) -> bool:
    """Whether no loader of the sub-project may pin, so that what is not known of a batch does not matter."""
    nearby = [loader for loader in project.loaders() if project.are_near(loader.call, near)]
    return not project.mentions(near, ".pin_memory()") and all(project.pins(one) == "no" for one in nearby)


def moves_itself(project: Project, loader: Loader) -> bool:
    """Whether the collate function of a loader takes batches to the device, where nothing is left to pin."""
    return any(
        move.destination == "device"
        for function in workers.functions(project, project.argument(loader, "collate_fn").value)
        for call in function.calls
        if isinstance(call.func, t.Attribute) and call.func.attr in MOVES
        for move in (transfers.transfer(project.evaluator, call, call.func),)
    )


def fits(project: Project, loaders: tuple[Loader, ...], copy: t.Call) -> bool:
    """Whether tests around a copy, such as ``isinstance(batch, list)``, leave it to batches that one of the loaders
    gives."""
    dicts = bool(loaders) and all(_gives_dicts(project, one) for one in loaders)
    for test, outcome in project.tests_around(copy) if dicts else ():
        match test:
            case t.Call(func=t.Name(id="isinstance"), args=(t.Name() as tested, kind)):
                of_batch = any(isinstance(one, Batch) and one.whole for one in alternatives(project.value(tested)))
                kinds = {dotted(one) for one in (kind.items if isinstance(kind, t.Sequence) else (kind,))}
                if of_batch and (kinds <= _ROWS if outcome else "dict" in kinds):
                    return False
            case _:
                continue
    return True


def _gives_dicts(project: Project, loader: Loader) -> bool:
    """Whether the samples of a loader without a collate function are dicts, of which torch makes dicts."""
    if project.argument(loader, "collate_fn").given:
        return False
    fetching = [
        attributes.of_class(project.evaluator, one.cls, "__getitem__") for one in workers.given(project, loader)
    ]
    return bool(fetching) and all(
        isinstance(one, Function)
        and bool(one.scope.returns)
        and all(_is_dict(project, ret.value) for ret in one.scope.returns)
        for one in fetching
    )


def _is_dict(project: Project, expr: t.Expr | None) -> bool:
    if isinstance(expr, t.Name):
        bindings = project.function_of(expr).bindings.get(expr.id, ())
        return bool(bindings) and all(isinstance(one.value, t.Mapping) and not one.path for one in bindings)
    return isinstance(expr, t.Mapping)


def in_order(project: Project, loaders: tuple[Loader, ...]) -> tuple[Loader, ...]:
    """Loaders, one for each call, those for training first."""
    each = {one.call: one for one in loaders}.values()
    return tuple(sorted(each, key=lambda one: purpose.purpose(project, one) == "evaluation"))


def is_of_unpinned(project: Project, transfer: Transfer) -> bool:
    """Whether what is copied was computed of batches that are not pinned: copying first is to wait for each."""
    found = [one.source for one in alternatives(transfer.receiver) if isinstance(one, Tensor)]
    loaders = [loader for source in found for loader in project.batches_in(source)]
    return bool(loaders) and all(project.pins(one) == "no" for one in loaders)


def gains_little(project: Project, loaders: tuple[Loader, ...], copy: t.Call) -> bool:
    """Whether pinning is not wanted, would be one more copy on the thread that trains, for want of workers, or is for a
    loop that learns nothing and that no training runs again."""
    alone = all(
        project.workers(loader) in ("none", "default-none") or asked.runs_without_workers(project, loader)
        for loader in loaders
    )
    return alone or _are_of_choice(project, loaders, copy) or is_outside_training(project, copy)


def _are_of_choice(project: Project, loaders: tuple[Loader, ...], copy: t.Call) -> bool:
    """Whether ``pin_memory=False`` is written out for all loaders, and the host waits for a result right behind the
    copy anyway."""
    said = [one for loader in loaders for one in alternatives(project.argument(loader, "pin_memory").value)]
    if not said or not all(isinstance(one, Const) and one.value is False for one in said):
        return False
    calls = [copy, *(frame.call for frame in project.callers(project.function_of(copy)))]
    return any(_waits_behind(project, call) for call in calls)


def _waits_behind(project: Project, call: t.Call) -> bool:
    behind = list(beside.following(project, project.statement_of(call)))[:NEAR]
    nodes = (node for stmt in behind for node in beside.simple(stmt))
    return any(
        isinstance(one, t.Call) and isinstance(one.func, t.Attribute) and one.func.attr in beside.READS for one in nodes
    )


def pinning(project: Project, loader: Loader) -> Fix | None:
    """Let the loader pin, where its own call says or may say whether it does."""
    argument = project.argument(loader, "pin_memory")
    edit = edits.added(project, loader.call, "pin_memory=True") if argument.node is loader.call else None
    if isinstance(argument.expr, t.Constant):
        edit = edits.replaced(project, argument.expr, "True")
    return Fix("pin the loader's batches", (edit,)) if edit else None
