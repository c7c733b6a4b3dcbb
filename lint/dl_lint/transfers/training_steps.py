"""The steps of a program's trainings: what runs for each batch, whoever runs it."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dl_lint.flow import call_graph, effects, enclosing, guards
from dl_lint.flow.features import NOTHING_MORE, feature
from dl_lint.flow.interpreter import classes
from dl_lint.pipeline import loops, trainers, training
from dl_lint.source.syntax import FunctionDefinition
from dl_lint.transfers.steps import DEVICE, UNKNOWN, Held, takes_step

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from dl_lint.flow.enclosing import LoopNode
    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import Scope
    from dl_lint.pipeline.loops import LoaderLoop


@dataclass(frozen=True, slots=True)
class Step:
    """The body of a loop or of a function that a training runs for each batch, with the names that are on the device
    where it begins, and what the loop is over."""

    node: LoopNode | FunctionDefinition
    function: Scope
    names: dict[str, Held] = field(default_factory=dict)
    batch: Held = UNKNOWN


def training_steps(program: Program) -> tuple[Step, ...]:
    return program.once("training steps", lambda: tuple(_find(program)))


def _find(program: Program) -> Iterator[Step]:
    found: dict[ast.AST, Step] = {}
    for loop in (*loops.loader_loops(program), *_drawing_loops(program)):
        if not isinstance(loop.node, ast.comprehension) and training.is_trained_on(program, loop):
            moved = any(one.prepared for one in loop.loaders)
            found.setdefault(loop.node, Step(loop.node, loop.function, batch=DEVICE if moved else UNKNOWN))
    for step in (*_of_trainers(program), *_of_unknown_batches(program, found)):
        found.setdefault(step.node, step)
    yield from found.values()


def _drawing_loops(program: Program) -> Iterator[LoaderLoop]:
    """The loops, but those of epochs, that call a function which draws the next batch and trains on it."""
    epochs = _repeating(program, [one.node for one in loops.loader_loops(program)])
    for call in program.calls("builtins.next"):
        step = enclosing.function_of(program, call)
        if not call.args or guards.is_conditional(program, call) or any(enclosing.loops_around(program, call)):
            continue
        if not any(effects.is_backward(program, one) for one in calls_in(program, None, step)):
            continue
        found, certain = loops.loaders_iterated(program, call.args[0])
        for frame in call_graph.callers(program, step) if found else ():
            node = next(enclosing.loops_around(program, frame.call), None)
            if node is None or node in epochs:
                continue
            yield loops.LoaderLoop(node, call.args[0], found, certain, enclosing.function_of(program, frame.call))


def _repeating(program: Program, nodes: Iterable[ast.AST]) -> frozenset[LoopNode]:
    """The loops that repeat one of these."""
    return frozenset(again for one in nodes for again in call_graph.repeating(program, one))


@feature("steps of trainers", NOTHING_MORE)
def _of_trainers(program: Program) -> Iterator[Step]:
    """The functions that a trainer calls for each batch to train on, which it has moved to the device."""
    for function, moved in trainers.training_steps(program):
        if isinstance(function.node, FunctionDefinition):
            yield Step(function.node, function, dict.fromkeys(moved, DEVICE))


@feature("steps over unknown batches", NOTHING_MORE)
def _of_unknown_batches(program: Program, known: Collection[ast.AST]) -> Iterator[Step]:
    """The innermost loops around a backward pass, or around the calls of a function that has it in none, that are no
    part of a step that is known, where an optimizer steps in them or in the loops around, as where gradients are
    accumulated."""
    epochs = _repeating(program, known)
    for call in effects.backward_passes(program):
        function = enclosing.function_of(program, call)
        if function.node in known:
            continue
        in_a_loop = any(enclosing.loops_around(program, call))
        for at in [call] if in_a_loop else [frame.call for frame in call_graph.callers(program, function)]:
            around = list(enclosing.loops_around(program, at))
            if not around or isinstance(around[0], ast.comprehension) or any(one in known for one in around):
                continue
            if not in_a_loop and (around[0] in epochs or loops.counts_epochs(around[0])):
                continue
            outer = enclosing.function_of(program, at)
            if outer.node in known or call_graph.is_of_suite(outer.file.path):  # a test takes a few steps
                continue
            if changes_weights(program, around[-1], outer):
                yield Step(around[0], outer)


def changes_weights(program: Program, loop: LoopNode, function: Scope) -> bool:
    """Whether an optimizer steps in a loop; else a gradient is asked for, to look at it."""
    calls = list(calls_in(program, loop, function))
    entered = call_graph.reachable(program, *(scope for call in calls for scope in call_graph.entered(program, call)))
    return any(takes_step(call) for call in (*calls, *(inner for scope in entered for inner in scope.calls)))


def calls_in(program: Program, within: LoopNode | None, function: Scope) -> Iterator[ast.Call]:
    """The calls of a loop, or of a whole function, without those of the functions that are defined in it."""
    for scope in classes.with_inner(function):
        if scope.function is function:
            yield from (
                call for call in scope.calls if within is None or within in enclosing.loops_around(program, call)
            )
