"""Datasets that the main process changes between passes, which persistent workers would not see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project import hooks
from dl_lint.project.frameworks import TORCH_LOADERS
from dl_lint.project.syntax import dotted
from dl_lint.project.values import Class, Instance, Made, alternatives

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.context import LoopNode
    from dl_lint.project.model import Project
    from dl_lint.project.scopes import Scope
    from dl_lint.project.values import Loader

NAMES = ("dataset", "_dataset")
"""Where a loader and its iterator keep the dataset."""

HINTS = ("loader", "iter", "fetcher", "batches", "_dl")
"""What the names of loaders and of their iterators hold."""

READING = (
    "get", "len", "evaluate", "collate", "plot", "show", "decode", "is_", "has_", "inverse", "format", "print",
    "save", "to_", "num_", "keys", "items", "values", "__getitem__", "__len__",
)  # fmt: skip
"""Beginnings of the names of methods that only read."""


@dataclass(frozen=True, slots=True)
class Touch:
    """``node`` may change the dataset that ``holder``, a loader or an iterator of one, keeps."""

    node: t.Node
    holder: t.Attribute


def changes(project: Project, loader: Loader, again: t.Node, loop: LoopNode | None) -> bool:
    """Whether the dataset is changed between epochs, by a method or an assignment, in ``again`` or elsewhere."""
    touches = (*_all(project), *_imported(project, again, loop))
    if any(
        _may_hold(project, one.holder, loader, again) and _is_between(project, one, loader, again) for one in touches
    ):
        return True
    if loop is None or not isinstance(again, t.For | t.While | t.Generator):
        return False
    datasets = {
        one.call for one in alternatives(project.argument(loader, "dataset").value) if isinstance(one, Instance | Made)
    }
    for owner in hooks.touched_in(project, again, loop):
        if isinstance(owner, t.Attribute) and owner.attr == "dataset" and _is_of(project, owner, loader):
            return True
        if any(isinstance(one, Instance | Made) and one.call in datasets for one in alternatives(project.value(owner))):
            return True
    return False


def _is_of(project: Project, owner: t.Attribute, loader: Loader) -> bool:
    """Whether ``owner`` is an attribute of ``loader``."""
    return any(one.call is loader.call for one in project.iterated_loaders(owner.value)[0])


def _all(project: Project) -> tuple[Touch, ...]:
    return project.evaluator.once(
        "touched datasets",
        lambda: tuple(one for file in project.files for scope in file.scopes for one in _touches(project, scope)),
    )


def _imported(project: Project, *nodes: t.Node | None) -> Iterator[Touch]:
    """The touches in what the functions of ``nodes`` call in files that are only imported."""
    functions = dict.fromkeys(project.function_of(node) for node in nodes if node is not None)
    for function in project.reachable(*functions):
        if not function.file.linted:
            yield from _touches(project, function)


def _touches(project: Project, scope: Scope) -> Iterator[Touch]:
    for store in scope.stores:
        inner = store.target if isinstance(store.target, t.Attribute) and store.target.attr == "_dataset" else None
        holder = inner or _held(scope, store.target.value)
        if holder is not None:
            yield Touch(store.node, holder)
    for call in scope.calls:
        for owner in _changed_by(project, call):
            holder = _held(scope, owner)
            if holder is not None:
                yield Touch(call, holder)


def _changed_by(project: Project, call: t.Call) -> Iterator[t.Expr]:
    """What a call may change: the object of a method, or what a function of the project stores on."""
    if isinstance(call.func, t.Attribute) and not call.func.attr.startswith(READING):
        yield call.func.value
    named = [one for one in call.args if not isinstance(one, t.Starred)]
    named += [one.value for one in call.keywords]
    if not any(_kept(one) for one in named):
        return
    if dotted(call.func) in ("setattr", "delattr"):
        yield from named[:1]
    elif any(isinstance(store.target, t.Attribute) for one in project.entered(call) for store in one.stores):
        yield from named


def _held(scope: Scope, owner: t.Expr) -> t.Attribute | None:
    """The ``loader.dataset`` in ``loader.dataset.inner[0]``, also by a name that it was given."""
    found = _kept(owner)
    if found is None and isinstance(owner, t.Name):
        values = (one.value for one in scope.bindings.get(owner.id, ()) if one.kind == "assign" and not one.path)
        found = next((kept for value in values if value is not None and (kept := _kept(value))), None)
    return found


def _kept(expr: t.Expr) -> t.Attribute | None:
    while isinstance(expr, t.Attribute | t.Subscript):
        if isinstance(expr, t.Attribute) and expr.attr in NAMES:
            return expr
        expr = expr.value
    return None


def _may_hold(project: Project, holder: t.Attribute, loader: Loader, again: t.Node) -> bool:
    """Whether a dataset that is touched may be that of ``loader``: where it is not known, by name, and close by."""
    loaders, certain = project.iterated_loaders(holder.value)
    if any(one.call is loader.call for one in loaders):
        return True
    if loaders and certain:
        return False
    near = {project.path(again), project.path(loader.call)}
    if project.path(holder) not in near and again not in project.repeating(holder):
        return False
    function = project.function_of(holder)
    if function.is_method and function.params and dotted(holder.value) == function.params[0].name:
        bases = project.external_bases(Class(function.parent)) if function.parent is not None else ()
        return not TORCH_LOADERS.isdisjoint(bases)
    name = (dotted(holder.value) or "").rpartition(".")[2].lower()
    return holder.attr == "_dataset" or any(hint in name for hint in HINTS)


def _is_between(project: Project, touch: Touch, loader: Loader, again: t.Node) -> bool:
    """Whether a change may come after the first pass: not where it is made once, before the loop or by the builder."""
    if any(project.repeating(touch.node)):
        return True
    function = project.function_of(touch.node)
    if function is project.function_of(again):
        return project.site(touch.node).order > project.site(again).order
    return function is not project.function_of(loader.call)
