"""How loaders choose their samples, and the loops that train on them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.project import context, loops, reach
from dl_lint.project.attributes import of_class
from dl_lint.project.frameworks import DISTRIBUTED_SAMPLER
from dl_lint.project.values import Absent, Const, Function, Sampler, Value, alternatives
from dl_lint.source.syntax import ForStatement

if TYPE_CHECKING:
    from dl_lint.project.context import LoopNode
    from dl_lint.project.loops import LoaderLoop
    from dl_lint.project.model import Project
    from dl_lint.project.scopes import Scope
    from dl_lint.project.values import Loader

TRAINING = ("backward", "step")
"""Methods that a loop over batches calls when it trains, and not when it evaluates."""


def sampler_of(project: Project, loader: Loader) -> Value:
    """What a loader draws its indices from: its sampler, or the one inside its batch sampler."""
    for name in ("sampler", "batch_sampler"):
        value = project.argument(loader, name).value
        if not isinstance(value, Absent):
            return _innermost(project, value)
    return Absent()


def _innermost(project: Project, value: Value) -> Value:
    """The sampler that a batch sampler takes indices from."""
    if isinstance(value, Sampler) and value.name.endswith(".BatchSampler"):
        inner = project.argument(value, "sampler")
        if inner.given:
            return inner.value
    return value


def shuffles(project: Project, sampler: Sampler) -> bool:
    """Whether a distributed sampler is known to shuffle by epoch, in some run at least."""
    if sampler.name != DISTRIBUTED_SAMPLER:
        return False
    if sampler.cls is not None and isinstance(of_class(project.evaluator, sampler.cls, "__iter__"), Function):
        return False  # a project's own order
    found = alternatives(project.argument(sampler, "shuffle").value)
    known = all(isinstance(one, Absent | Const) for one in found)
    return known and any(isinstance(one, Absent) or (isinstance(one, Const) and bool(one.value)) for one in found)


def trains(project: Project, loop: LoaderLoop, loader: Loader) -> bool:
    """Whether a loop over batches of ``loader`` updates a model: in its body or in a function that it calls; of a loop
    in a generator, where the batches go."""
    if loop.function.yields:
        given = (
            one.call for one in project.callers(loop.function) if loops.may_pass(project.evaluator, one.call, loader)
        )
        return any(_steps(project, project.function_of(call)) for call in given)
    functions = set()
    for scope in (loop.function, *loop.function.children):
        for call in scope.calls:
            if loop.node in context.loops_around(project.evaluator, call):
                if getattr(call.func, "attr", None) in TRAINING:
                    return True
                functions |= set(project.entered(call))
    return any(
        getattr(call.func, "attr", None) in TRAINING
        for function in project.reachable(*functions)
        for call in function.calls
    )


def _steps(project: Project, function: Scope) -> bool:
    return any(
        getattr(call.func, "attr", None) in TRAINING
        for one in project.reachable(function)
        for scope in reach.with_inner(one)
        for call in scope.calls
    )


def epoch_of(loop: LoopNode) -> str | None:
    """The name that a loop over epochs gives the epoch."""

    return loop.target.id if isinstance(loop, ForStatement) and isinstance(loop.target, ast.Name) else None


def set_late(project: Project, loop: LoaderLoop, loader: Loader, epochs: LoopNode) -> ast.Call | None:
    """A ``set_epoch(epoch)`` behind the loop over the loader, where none stands before it."""
    epoch = epoch_of(epochs)
    mine = [call for call in project.method_calls("set_epoch") if epochs in project.loops_around(call)]
    if epoch is None or project.function_of(loop.node) is not project.function_of(epochs) or len(mine) != 1:
        return None
    call = mine[0]
    after = project.site(call).order > project.site(loop.node).order and loop.node not in project.loops_around(call)
    passes_epoch = len(call.args) == 1 and isinstance(call.args[0], ast.Name) and call.args[0].id == epoch
    return call if after and passes_epoch and _of(project, call, loader) else None


def _of(project: Project, call: ast.Call, loader: Loader) -> bool:
    receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
    wanted = {one.call for one in alternatives(sampler_of(project, loader)) if isinstance(one, Sampler)}
    return any(isinstance(one, Sampler) and one.call in wanted for one in alternatives(project.value(receiver)))
