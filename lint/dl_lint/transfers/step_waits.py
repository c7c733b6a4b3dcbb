"""Where a training step has the host wait for the device, to read its tensors."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from dl_lint.flow import call_graph, effects, enclosing, guards
from dl_lint.flow.features import NOTHING_MORE, feature
from dl_lint.pipeline import loops, trainers, training, trip_counts
from dl_lint.source.syntax import FunctionDefinition, called
from dl_lint.transfers.loop_invariants import calls_in
from dl_lint.transfers.steps import DEVICE, UNKNOWN, Held, Steps

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from dl_lint.flow.enclosing import LoopNode
    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import Scope
    from dl_lint.pipeline.loops import LoaderLoop
    from dl_lint.transfers.steps import Event


@dataclass(frozen=True, slots=True)
class Wait:
    """A read at ``node`` for which every step waits; with ``loop``, every pass of that, of which a step has many.
    ``instead`` are the reads of functions that may be called in place of the one that has it."""

    node: ast.AST
    loop: LoopNode | None
    instead: tuple[ast.AST, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """The body of a loop or of a function that a training runs for each batch, with the names that are on the device
    where it begins, what the loop is over, and its ``waits``."""

    node: LoopNode | FunctionDefinition
    function: Scope
    names: dict[str, Held] = field(default_factory=dict)
    batch: Held = UNKNOWN
    is_guess: bool = False
    """Whether a backward pass alone speaks for a training, and not yet an optimizer."""
    waits: tuple[Wait, ...] = ()


def waiting_steps(program: Program) -> Iterator[Step]:
    """The training steps that each read what the device is still computing, to no end but to show or to keep it."""
    for step in _steps(program):
        run = Steps(program)
        run.run(step.node, step.function, step.names, step.batch)
        if step.is_guess and not any(one.kind == "launch" and called(one.node) == "step" for one in run.events):
            continue  # a gradient is asked for, to look at it
        waits = tuple(_waits(program, run, step))
        if waits:
            yield replace(step, waits=waits)


# --- the steps of a program ------------------------------------------------------------------


def _steps(program: Program) -> Iterator[Step]:
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
    part of a step that is known."""
    epochs = _repeating(program, known)
    for call in effects.backward_passes(program):
        function = enclosing.function_of(program, call)
        if function.node in known:
            continue
        around = next(enclosing.loops_around(program, call), None)
        calls = [call] if around else [frame.call for frame in call_graph.callers(program, function)]
        for at in calls:
            loop = next(enclosing.loops_around(program, at), None)
            if loop is None or isinstance(loop, ast.comprehension):
                continue
            if around is None and (loop in epochs or loops.counts_epochs(loop)):
                continue
            outer = enclosing.function_of(program, at)
            if outer.node in known or call_graph.is_of_suite(outer.file.path):  # a test takes a few steps
                continue
            if not any(one in known for one in enclosing.loops_around(program, at)):
                yield Step(loop, outer, is_guess=True)


# --- what they wait for ------------------------------------------------------------------------


def _waits(program: Program, run: Steps, step: Step) -> Iterator[Wait]:
    """The first read after each launch, but for those where the host has to wait anyway, and those that each pass of a
    loop over parameters or elements has."""
    if any(one.kind == "synchronisation" and one.always for one in run.events):
        return
    launched = forwarded = 0
    groups: list[tuple[int, int, Event]] = []
    for event in run.events:
        launched += event.kind == "launch"
        forwarded += event.kind == "forward"
        groups.append((launched, forwarded, event))
    decided = {
        ((group, forward), one.calls if one.kind == "decision" else ())
        for group, forward, one in groups
        if one.always and (one.kind == "decision" or one.number in run.needed)
    }
    waited: set[int] = set()
    for group, forward, one in groups:
        if one.kind != "read" or not one.always or one.number in run.needed or (group in waited and one.loop is None):
            continue
        if any(at == (group, forward) and one.calls[: len(way)] == way for at, way in decided):
            continue
        if not isinstance(step.node, FunctionDefinition) and trip_counts.is_left_out(program, one.node, step.node):
            continue
        waited.add(group)
        beside = tuple(other.node for call in one.calls for other in run.beside.get(call, ()))
        yield Wait(one.node, one.loop.node if one.loop is not None else None, beside)
