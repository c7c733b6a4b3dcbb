"""Where a training step has the host wait for the device, to read its tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dl_lint.transfers.steps import Steps
from dl_lint.transfers.training_steps import training_steps

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator

    from dl_lint.flow.enclosing import LoopNode
    from dl_lint.flow.program import Program
    from dl_lint.transfers.steps import Event
    from dl_lint.transfers.training_steps import Step


@dataclass(frozen=True, slots=True)
class Wait:
    """A read at ``node`` for which every step waits; with ``loop``, every pass of that, of which a step has many.
    ``instead`` are the reads of functions that may be called in place of the one that has it."""

    node: ast.AST
    loop: LoopNode | None
    instead: tuple[ast.AST, ...]


@dataclass(frozen=True, slots=True)
class WaitingStep:
    """A step of a training, and what it waits for."""

    step: Step
    waits: tuple[Wait, ...]


def waiting_steps(program: Program) -> Iterator[WaitingStep]:
    """The training steps that each read what the device is still computing, to no end but to show or to keep it."""
    for step in training_steps(program):
        run = Steps(program)
        run.run(step.node, step.function, step.names, step.batch)
        waits = tuple(_waits(run))
        if waits:
            yield WaitingStep(step, waits)


def _waits(run: Steps) -> Iterator[Wait]:
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
        waited.add(group)
        beside = tuple(other.node for call in one.calls for other in run.beside.get(call, ()))
        yield Wait(one.node, one.loop.node if one.loop is not None else None, beside)
