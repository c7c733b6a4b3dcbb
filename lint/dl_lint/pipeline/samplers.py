"""How loaders choose their samples, and the loops that train on them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.flow import call_graph, enclosing
from dl_lint.flow.interpreter import classes
from dl_lint.flow.interpreter.classes import of_class
from dl_lint.flow.libraries import DISTRIBUTED_SAMPLER
from dl_lint.flow.values import Absent, Const, Function, Sampler, Value, alternatives
from dl_lint.pipeline import loaders, loops
from dl_lint.source.syntax import ForStatement

if TYPE_CHECKING:
    from dl_lint.flow.enclosing import LoopNode
    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import Scope
    from dl_lint.flow.values import Loader
    from dl_lint.pipeline.loops import LoaderLoop


TRAINING = ("backward", "step")
"""Methods that a loop over batches calls when it trains, and not when it evaluates."""


def sampler_of(program: Program, loader: Loader) -> Value:
    """What a loader draws its indices from: its sampler, or the one inside its batch sampler."""
    for name in ("sampler", "batch_sampler"):
        value = loaders.argument(program, loader, name).value
        if not isinstance(value, Absent):
            return _innermost(program, value)
    return Absent()


def _innermost(program: Program, value: Value) -> Value:
    """The sampler that a batch sampler takes indices from."""
    if isinstance(value, Sampler) and value.name.endswith(".BatchSampler"):
        inner = loaders.argument(program, value, "sampler")
        if inner.given:
            return inner.value
    return value


def shuffles(program: Program, sampler: Sampler) -> bool:
    """Whether a distributed sampler is known to shuffle by epoch, in some run at least."""
    if sampler.name != DISTRIBUTED_SAMPLER:
        return False
    if sampler.cls is not None and isinstance(of_class(program, sampler.cls, "__iter__"), Function):
        return False  # a project's own order
    found = alternatives(loaders.argument(program, sampler, "shuffle").value)
    known = all(isinstance(one, Absent | Const) for one in found)
    return known and any(isinstance(one, Absent) or (isinstance(one, Const) and bool(one.value)) for one in found)


def trains(program: Program, loop: LoaderLoop, loader: Loader) -> bool:
    """Whether a loop over batches of ``loader`` updates a model: in its body or in a function that it calls; of a loop
    in a generator, where the batches go."""
    if loop.function.yields:
        given = (
            one.call for one in call_graph.callers(program, loop.function) if loops.may_pass(program, one.call, loader)
        )
        return any(_steps(program, enclosing.function_of(program, call)) for call in given)
    functions = set()
    for scope in (loop.function, *loop.function.children):
        for call in scope.calls:
            if loop.node in enclosing.loops_around(program, call):
                if getattr(call.func, "attr", None) in TRAINING:
                    return True
                functions |= set(call_graph.entered(program, call))
    return any(
        getattr(call.func, "attr", None) in TRAINING
        for function in call_graph.reachable(program, *functions)
        for call in function.calls
    )


def _steps(program: Program, function: Scope) -> bool:
    return any(
        getattr(call.func, "attr", None) in TRAINING
        for one in call_graph.reachable(program, function)
        for scope in classes.with_inner(one)
        for call in scope.calls
    )


def epoch_of(loop: LoopNode) -> str | None:
    """The name that a loop over epochs gives the epoch."""

    return loop.target.id if isinstance(loop, ForStatement) and isinstance(loop.target, ast.Name) else None


def set_late(program: Program, loop: LoaderLoop, loader: Loader, epochs: LoopNode) -> ast.Call | None:
    """A ``set_epoch(epoch)`` behind the loop over the loader, where none stands before it."""
    epoch = epoch_of(epochs)
    mine = [call for call in program.method_calls("set_epoch") if epochs in enclosing.loops_around(program, call)]
    if (
        epoch is None
        or enclosing.function_of(program, loop.node) is not enclosing.function_of(program, epochs)
        or len(mine) != 1
    ):
        return None
    call = mine[0]
    after = program.site(call).order > program.site(loop.node).order and loop.node not in enclosing.loops_around(
        program, call
    )
    passes_epoch = len(call.args) == 1 and isinstance(call.args[0], ast.Name) and call.args[0].id == epoch
    return call if after and passes_epoch and _of(program, call, loader) else None


def _of(program: Program, call: ast.Call, loader: Loader) -> bool:
    receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
    wanted = {one.call for one in alternatives(sampler_of(program, loader)) if isinstance(one, Sampler)}
    return any(isinstance(one, Sampler) and one.call in wanted for one in alternatives(program.value(receiver)))
