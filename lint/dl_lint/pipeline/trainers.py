"""What frameworks call by name, and what a loop does to the objects around it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.flow import enclosing
from dl_lint.flow.interpreter import classes
from dl_lint.flow.libraries import LIGHTNING_MODULES, LIGHTNING_TRAINERS, LOADER_HOOKS, STEP_HOOKS
from dl_lint.flow.values import Bound, Class, Const, Function, Loader, Made, Option, Value, alternatives
from dl_lint.pipeline import loaders
from dl_lint.source.syntax import FunctionDefinition

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.enclosing import LoopNode
    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import Scope


def epoch_loader_hooks(program: Program) -> Iterator[Scope]:
    """The methods of Lightning modules whose loaders the Trainer iterates once an epoch.

    Also those that are assigned to such a hook: ``self.train_dataloader = self._train_dataloader``.
    """
    found: dict[Scope, None] = {}
    for file in program.files:
        for scope in file.scopes:
            if _is_hook_owner(program, scope):
                found.update((child, None) for child in scope.children if child.name in LOADER_HOOKS)
    for store in program.attribute_stores(*LOADER_HOOKS):
        for one in alternatives(program.value(store.value)):
            function = one.function if isinstance(one, Bound) else one
            if isinstance(function, Function) and _is_hook_owner(program, function.scope.parent):
                found[function.scope] = None
    yield from (scope for scope in found if isinstance(scope.node, FunctionDefinition))


def runs_for_each_batch(program: Program, function: FunctionDefinition) -> bool:
    """Whether Lightning or the Trainer of transformers calls a method for every batch."""
    cls = program.scope_of(function).parent
    if function.name not in STEP_HOOKS or cls is None:
        return False
    return any(base.startswith(("lightning.", "transformers.")) for base in classes.external_bases(program, Class(cls)))


def given_to_trainers(program: Program) -> Iterator[tuple[Loader, ast.AST, None]]:
    """The loaders that a Lightning Trainer iterates once an epoch: hooks return them, or its ``fit`` is given them."""
    for hook in epoch_loader_hooks(program):
        if hook.node is None or (hook.name == "val_dataloader" and _validates_at_will(program, hook.node)):
            continue
        for statement in hook.returns:
            for one in alternatives(program.value(statement.value)):
                if isinstance(one, Made):
                    yield from (
                        (loader, hook.node, None) for loader in loaders.all_loaders(program) if loader.call is one.call
                    )

    for call in program.modules.calls.get("fit", ()):
        if program.site(call).scope.file.linted:
            given = (one for value in _fitted(program, call) for one in alternatives(value))
            yield from ((one, call, None) for one in given if isinstance(one, Loader))


def _fitted(program: Program, call: ast.Call) -> Iterator[Value]:
    """What ``fit`` of Lightning Trainers is given to go through in each of several epochs."""
    owner = alternatives(program.value(call.func.value)) if isinstance(call.func, ast.Attribute) else ()
    made = [one for one in owner if isinstance(one, Made) and one.name in LIGHTNING_TRAINERS]
    if not made or len(made) < len(owner) or any(_may_end_early(program, one) for one in made):
        return
    given = loaders.passed(program, call, "train_dataloaders", "model", "train_dataloaders")
    yield (
        given.value if given.given else loaders.passed(program, call, "train_dataloader").value
    )  # its name in Lightning 1
    if not any(loaders.argument(program, one, name).given for one in made for name in _OF_VALIDATION):
        yield loaders.passed(program, call, "val_dataloaders", "model", "train_dataloaders", "val_dataloaders").value


_ENDING = ("max_steps", "max_time", "fast_dev_run")
_OF_VALIDATION = ("check_val_every_n_epoch", "limit_val_batches", "val_check_interval")
"""Arguments of a Trainer that may leave it with less than two passes; and those of another rhythm for validation."""


def _validates_at_will(program: Program, hook: ast.AST) -> bool:
    """Whether code around a hook speaks of another rhythm for validation, so that it may not come once an epoch."""
    return any(program.mentions(hook, word) for word in _OF_VALIDATION)


def _may_end_early(program: Program, trainer: Made) -> bool:
    for said in alternatives(loaders.argument(program, trainer, "max_epochs").value):
        told = said.default if isinstance(said, Option) else said
        if isinstance(told, Const) and told.value in (0, 1):
            return True
    return any(loaders.argument(program, trainer, name).given for name in _ENDING)


def _is_hook_owner(program: Program, scope: Scope | None) -> bool:
    if scope is None or scope.kind != "class":
        return False
    return not LIGHTNING_MODULES.isdisjoint(classes.external_bases(program, Class(scope)))


def touched_in(program: Program, *loops: LoopNode) -> Iterator[ast.expr]:
    """The objects whose methods are called, or whose attributes are stored, in the functions of ``loops``.

    Inside the first loop, and anywhere in the functions of the others, which it calls.
    """
    for loop in loops:
        scope = enclosing.function_of(program, loop)
        is_outer = loop is loops[0]
        for call in scope.calls:
            if isinstance(call.func, ast.Attribute) and (not is_outer or loop in enclosing.loops_around(program, call)):
                yield call.func.value
        for store in scope.stores:
            if isinstance(store.target, ast.Attribute) and (
                not is_outer or loop in enclosing.loops_around(program, store.node)
            ):
                yield store.target.value
