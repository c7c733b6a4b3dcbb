"""What the main process changes between passes, in a dataset, a collate_fn or a wrapper around a loader, and persistent
workers would not see."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dl_lint.project import hooks
from dl_lint.project.frameworks import TORCH_LOADERS
from dl_lint.project.values import Class, Instance, Loader, Made, Unknown, Wrapped, alternatives
from dl_lint.source.syntax import ForStatement, FunctionDefinition, dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.context import LoopNode
    from dl_lint.project.model import Project
    from dl_lint.project.scopes import Scope

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


def changes(project: Project, loader: Loader, again: ast.AST, loop: LoopNode | None) -> bool:
    """Whether what workers hold is changed between epochs: by a method or an assignment, in ``again`` or elsewhere."""
    touches = (*_all(project), *_imported(project, again, loop))
    if any(
        _may_hold(project, one.holder, loader, again) and _is_between(project, one, loader, again) for one in touches
    ):
        return True
    if loop is None or not isinstance(again, ForStatement | ast.While | ast.comprehension):
        return False
    held = {
        one.call
        for name in ("dataset", "collate_fn")
        for one in alternatives(project.argument(loader, name).value)
        if isinstance(one, Instance | Made)
    }
    for owner in hooks.touched_in(project, again, loop):
        if isinstance(owner, ast.Attribute) and owner.attr in NAMES and _is_of(project, owner, loader):
            return True
        if any(isinstance(one, Instance | Made) and one.call in held for one in alternatives(project.value(owner))):
            return True
    return False


def _is_of(project: Project, owner: ast.Attribute, loader: Loader) -> bool:
    """Whether ``owner`` is an attribute of ``loader``."""
    return any(one.call is loader.call for one in project.iterated_loaders(owner.value)[0])


def _all(project: Project) -> tuple[Touch, ...]:
    return project.evaluator.once(
        "touched datasets",
        lambda: tuple(one for file in project.files for scope in file.scopes for one in _touches(project, scope)),
    )


def _imported(project: Project, *nodes: ast.AST | None) -> Iterator[Touch]:
    """The touches in what the functions of ``nodes`` call in files that are only imported."""
    functions = dict.fromkeys(project.function_of(node) for node in nodes if node is not None)
    for function in project.reachable(*functions):
        if not function.file.linted:
            yield from _touches(project, function)


def _touches(project: Project, scope: Scope) -> Iterator[Touch]:
    if _is_setter(scope):  # runs where somebody stores the property
        return
    for store in scope.stores:
        inner = store.target if isinstance(store.target, ast.Attribute) and store.target.attr == "_dataset" else None
        holder = inner or _held(scope, store.target.value)
        if holder is not None:
            yield Touch(store.node, holder)
        elif isinstance(store.target, ast.Attribute) and _is_loader(project, scope, store.target):
            yield Touch(store.node, store.target, bare=True)
    for call in scope.calls:
        for owner in _changed_by(project, call):
            holder = _held(scope, owner)
            if holder is not None:
                yield Touch(call, holder)


def _is_setter(scope: Scope) -> bool:
    return isinstance(scope.node, FunctionDefinition) and any(
        isinstance(one, ast.Attribute) and one.attr == "setter" for one in scope.node.decorator_list
    )


def _is_loader(project: Project, scope: Scope, target: ast.Attribute) -> bool:
    """Whether an attribute is stored on what may be a loader or a wrapper of one, but for an object's own methods."""
    name = dotted(target.value)
    function = scope.function
    if target.attr in OWN or (function.is_method and function.params and name == function.params[0].name):
        return False
    values = alternatives(project.value(target.value))
    if target.attr != "collate_fn" and any(isinstance(one, Wrapped) for one in values):
        return False  # a progress bar around it, in some runs
    if any(isinstance(one, Loader | Instance) for one in values):
        return bool(project.iterated_loaders(target.value)[0])
    named = "loader" in (name or "").rpartition(".")[2].lower()
    return named and any(isinstance(one, Unknown) for one in values)


def _changed_by(project: Project, call: ast.Call) -> Iterator[ast.expr]:
    """What a call may change: the object of a method, or what a function of the project stores on."""
    if isinstance(call.func, ast.Attribute) and not call.func.attr.startswith(READING):
        yield call.func.value
    named = [one for one in call.args if not isinstance(one, ast.Starred)]
    named += [one.value for one in call.keywords]
    if not any(_kept(one) for one in named):
        return
    if dotted(call.func) in ("setattr", "delattr"):
        yield from named[:1]
    elif any(isinstance(store.target, ast.Attribute) for one in project.entered(call) for store in one.stores):
        yield from named


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


def _may_hold(project: Project, holder: ast.Attribute, loader: Loader, again: ast.AST) -> bool:
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


def _is_between(project: Project, touch: Touch, loader: Loader, again: ast.AST) -> bool:
    """Whether a change may come after the first pass: not where it is made once, before the loop or by the builder."""
    if any(project.repeating(touch.node)):
        return True
    function = project.function_of(touch.node)
    if touch.bare and function.name == "__init__":
        return False
    if function is project.function_of(again):
        return project.site(touch.node).order > project.site(again).order
    return function is not project.function_of(loader.call)
