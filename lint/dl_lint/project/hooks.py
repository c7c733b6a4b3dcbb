"""What frameworks call by name, and what a loop does to the objects around it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project.frameworks import LIGHTNING_MODULES, LOADER_HOOKS
from dl_lint.project.values import Bound, Class, Function, Made, alternatives

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.context import LoopNode
    from dl_lint.project.model import Project
    from dl_lint.project.scopes import Scope
    from dl_lint.project.values import Loader


def epoch_loader_hooks(project: Project) -> Iterator[Scope]:
    """The methods of Lightning modules whose loaders the Trainer iterates once an epoch.

    Also those that are assigned to such a hook: ``self.train_dataloader = self._train_dataloader``.
    """
    found: dict[Scope, None] = {}
    for file in project.files:
        for scope in file.scopes:
            if _is_hook_owner(project, scope):
                found.update((child, None) for child in scope.children if child.name in LOADER_HOOKS)
    for store in project.attribute_stores(*LOADER_HOOKS):
        for one in alternatives(project.value(store.value)):
            function = one.function if isinstance(one, Bound) else one
            if isinstance(function, Function) and _is_hook_owner(project, function.scope.parent):
                found[function.scope] = None
    yield from (scope for scope in found if isinstance(scope.node, t.FunctionDef))


def given_to_trainers(project: Project) -> Iterator[tuple[Loader, t.Node, None]]:
    """The loaders that a Lightning hook returns, which its Trainer iterates once an epoch."""
    for hook in epoch_loader_hooks(project):
        for statement in hook.returns:
            for one in alternatives(project.value(statement.value)):
                if isinstance(one, Made) and hook.node is not None:
                    yield from ((loader, hook.node, None) for loader in project.loaders() if loader.call is one.call)


def _is_hook_owner(project: Project, scope: Scope | None) -> bool:
    if scope is None or scope.kind != "class":
        return False
    return not LIGHTNING_MODULES.isdisjoint(project.external_bases(Class(scope)))


def touched_in(project: Project, *loops: LoopNode) -> Iterator[t.Expr]:
    """The objects whose methods are called, or whose attributes are stored, in the functions of ``loops``.

    Inside the first loop, and anywhere in the functions of the others, which it calls.
    """
    for loop in loops:
        scope = project.function_of(loop)
        is_outer = loop is loops[0]
        for call in scope.calls:
            if isinstance(call.func, t.Attribute) and (not is_outer or loop in project.loops_around(call)):
                yield call.func.value
        for store in scope.stores:
            if isinstance(store.target, t.Attribute) and (not is_outer or loop in project.loops_around(store.node)):
                yield store.target.value
