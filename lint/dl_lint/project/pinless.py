"""The loaders that do not pin whose batches a copy is given, and whether that is on purpose."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project import beside, edits, purpose
from dl_lint.project.values import Const, alternatives
from dl_lint.rule import Fix

if TYPE_CHECKING:
    from dl_lint.project.model import Project
    from dl_lint.project.values import Loader

NEAR = 3
"""Statements after a copy, or after the call that makes it, in which the host may be seen to wait."""


def around(project: Project, near: t.Node) -> tuple[Loader, ...]:
    """The loaders of the sub-project that never pin, one for each call, those for training first."""
    found = {one.call: one for one in project.loaders() if project.are_near(one.call, near)}
    return in_order(project, tuple(one for one in found.values() if project.pins(one) == "no"))


def in_order(project: Project, loaders: tuple[Loader, ...]) -> tuple[Loader, ...]:
    """Loaders, one for each call, those for training first."""
    each = {one.call: one for one in loaders}.values()
    return tuple(sorted(each, key=lambda one: purpose.purpose(project, one) == "evaluation"))


def are_of_choice(project: Project, loaders: tuple[Loader, ...], copy: t.Call) -> bool:
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
