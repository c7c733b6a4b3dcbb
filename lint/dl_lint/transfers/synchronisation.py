"""Synchronisation: where functions have the host wait for the device, whatever runs them."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from itertools import dropwhile
from typing import TYPE_CHECKING

from dl_lint.flow import call_graph, enclosing
from dl_lint.flow.features import NOTHING_MORE, feature
from dl_lint.flow.interpreter import classes
from dl_lint.flow.values import Batch, Class, Tensor, alternatives
from dl_lint.pipeline import loops
from dl_lint.source.syntax import walk
from dl_lint.transfers import copies
from dl_lint.transfers.steps import Steps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.enclosing import LoopNode
    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import Scope
    from dl_lint.transfers.copies import Transfer
    from dl_lint.transfers.steps import Event

READS = ("item", "cpu", "numpy", "tolist")
"""Methods of a tensor that hand the host what it holds."""

FARTHEST = 2
"""Calls between a forward pass and what is a part of it."""

PARTS = frozenset({"keys", "values", "items"})
"""Methods of a batch that is a dict, through which a loop goes over its tensors."""

_ON_HOST = frozenset({"pinned", "pageable", "host"})


def _interpreted(program: Program, function: Scope, deepest: int = 1) -> Steps:
    """A function, interpreted once, with what it calls."""

    def run() -> Steps:
        steps = Steps(program)
        steps.run_whole(function, deepest)
        return steps

    return program.once(("interpreted", function, deepest), run)


# --- copies that the host reads too early ---------------------------------------------------


def early_reads(program: Program) -> Iterator[tuple[ast.Call, ast.AST]]:
    """Every asynchronous copy to the host that its own function reads without waiting, with the first read."""
    moves = [one for one in copies.transfers(program) if one.asynchronous is True and one.method in ("to", "copy_")]
    for function in dict.fromkeys(enclosing.function_of(program, one.call) for one in moves):
        yield from _interpreted(program, function).early_reads.items()


# --- copies that the host waits for ---------------------------------------------------------


@feature("copies without work beside them", True)
def delays(program: Program, transfer: Transfer) -> bool:
    """Whether batch after batch is copied, with something else to do meanwhile."""
    loops = call_graph.repeating(program, transfer.call)
    return any(not _is_over_one_batch(program, loop) for loop in loops) and not _waits_anyway(program, transfer.call)


def _is_over_one_batch(program: Program, loop: LoopNode) -> bool:
    """Whether a loop goes over the tensors of a batch."""
    if isinstance(loop, ast.While):
        return False
    over = loop.iter
    if isinstance(over, ast.Call) and isinstance(over.func, ast.Attribute) and over.func.attr in PARTS:
        over = over.func.value
    return any(isinstance(one, Batch) for one in alternatives(program.value(over)))


def _waits_anyway(program: Program, copy: ast.Call) -> bool:
    """Whether what comes next after a copy is a read, with no work for the device between."""
    events = _interpreted(program, enclosing.function_of(program, copy)).events
    after = dropwhile(lambda one: one.node is not copy, events)
    return next((one.kind == "read" and one.always for one in after if one.kind != "copy"), False)


# --- to the device and straight back --------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """A copy to the device of which nothing is computed there: it is only brought back, by ``reads``."""

    transfer: Transfer
    reads: tuple[ast.AST, ...]


@feature("round trips", NOTHING_MORE)
def round_trips(program: Program) -> Iterator[RoundTrip]:
    """The copies of what a loader gave, or of other tensors of the host, that are only read back, time and again."""
    for transfer in copies.transfers(program):
        if transfer.destination != "device" or not _is_on_host(transfer):
            continue
        function = enclosing.function_of(program, transfer.call)
        if not call_graph.repeating(program, transfer.call):
            continue
        run = _interpreted(program, function)
        numbers = [one.number for one in run.events if one.node is transfer.call and not one.calls]
        reads = [node for number in numbers for node in run.taken_back.get(number, ())]
        if reads and run.used.isdisjoint(numbers):
            yield RoundTrip(transfer, tuple(dict.fromkeys(reads)))


def _is_on_host(transfer: Transfer) -> bool:
    found = alternatives(transfer.receiver)
    return bool(found) and all(
        (isinstance(one, Batch) and not one.loader.prepared) or (isinstance(one, Tensor) and one.placement in _ON_HOST)
        for one in found
    )


# --- elements read one by one ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ElementRead:
    """A ``read`` that each pass of a ``loop`` over the elements of a device tensor has."""

    read: ast.AST
    loop: LoopNode


@feature("elements read one by one", NOTHING_MORE)
def element_reads(program: Program) -> Iterator[ElementRead]:
    """The first read of each loop over the elements of a tensor on the device that itself runs time and again, or is a
    part of a forward pass."""
    found: dict[LoopNode, ElementRead] = {}
    for function, deepest in _reading_in_loops(program):
        run = _interpreted(program, function, deepest)
        launched = [one.number for one in run.events if one.kind in ("launch", "forward")]
        for event in run.events:
            if event.kind != "read" or event.loop is None or event.loop.over != "elements":
                continue
            loop = event.loop.node
            if loop in found or any(run.begun.get(loop, 0) < one < event.number for one in launched):
                continue  # what is read is computed in the loop
            is_linted = program.sites[event.node].scope.file.linted
            if is_linted and _runs_again(program, event, loop) and not _is_conditional(program, event, loop):
                found[loop] = ElementRead(event.node, loop)
    yield from found.values()


def _reading_in_loops(program: Program) -> Iterator[tuple[Scope, int]]:
    """The functions that bring batches to the device, or are a forward pass, and read in
    a loop what is bound there; or else call one that does. With each, how deep its calls are to be followed."""
    moves = [*program.method_calls("to", "cuda", "xpu", "npu")]
    moving = {enclosing.function_of(program, call) for call in moves}
    moving &= {loop.function for loop in loops.loader_loops(program)}
    reading = [call for call in program.method_calls(*READS) if _is_of_pass(program, call)]
    for function in dict.fromkeys(enclosing.function_of(program, call) for call in reading):
        if function in moving or _is_forward(program, function):
            yield function, 0
        elif function.params:
            calling = (enclosing.function_of(program, one.call) for one in call_graph.callers(program, function))
            yield from ((one, 1) for one in dict.fromkeys(calling) if one in moving or _is_forward(program, one))


def _is_of_pass(program: Program, read: ast.Call) -> bool:
    """Whether what is read has to do with a name that the loop around it binds."""
    loop = next(enclosing.loops_around(program, read), None)
    scope: Scope | None = program.sites[read].scope
    names = {node.id for node in walk(read) if isinstance(node, ast.Name)} if loop is not None else set()
    while loop is not None and scope is not None:
        for name in names & scope.bindings.keys():
            if any(
                one.node is loop or loop in enclosing.loops_around(program, one.node) for one in scope.bindings[name]
            ):
                return True
        scope = scope.parent if scope.kind == "comprehension" else None
    return False


def _runs_again(program: Program, event: Event, loop: LoopNode) -> bool:
    """Whether another loop, or a forward pass, runs the ``loop`` that an event stands in."""
    around = (one for node in (loop, *event.calls) for one in call_graph.repeating(program, node))
    return any(one is not loop for one in around) or _is_of_forward(program, enclosing.function_of(program, loop))


def _is_forward(program: Program, function: Scope) -> bool:
    if not function.is_method or function.name != "forward" or function.parent is None:
        return False
    return "torch.nn.Module" in classes.external_bases(program, Class(function.parent))


def _is_of_forward(program: Program, function: Scope, depth: int = FARTHEST) -> bool:
    """Whether a function is a part of a module's forward pass."""
    if _is_forward(program, function):
        return True
    calling = (enclosing.function_of(program, frame.call) for frame in call_graph.callers(program, function))
    return depth > 0 and any(_is_of_forward(program, one, depth - 1) for one in calling)


def _is_conditional(program: Program, event: Event, loop: LoopNode) -> bool:
    """Whether only some passes of a loop come to an event."""
    tests = (test for node in (event.node, *event.calls) for test, _ in enclosing.tests_around(program, node))
    return any(
        loop in enclosing.loops_around(program, test)
        or enclosing.function_of(program, test) is not enclosing.function_of(program, loop)
        for test in tests
    )
