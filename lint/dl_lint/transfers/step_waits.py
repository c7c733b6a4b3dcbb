"""Where a training step has the host wait for the device, to read its tensors."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dl_lint.flow import enclosing, guards
from dl_lint.flow.interpreter import classes
from dl_lint.flow.values import External, alternatives
from dl_lint.pipeline import loaders, loops, training
from dl_lint.source.positions import span
from dl_lint.source.syntax import Assignment, Display, called, children, dotted, targets
from dl_lint.transfers import copies
from dl_lint.transfers.synchronisation import SHAPES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from dl_lint.flow.program import Program
    from dl_lint.pipeline.loops import LoaderLoop
    from dl_lint.source.positions import Span


_READS = frozenset({"item", "cpu", "tolist"})
"""Methods that hand the host what a tensor of the device holds; of one of the device, ``numpy()`` raises an error."""

SHOWING = frozenset({"builtins.float", "builtins.int", "builtins.print"})
"""Functions that read a tensor that they are given."""

WORKING = frozenset({"backward", "step"})
"""Methods that give the device something to do, so that what is read behind them is waited for anew."""


@dataclass(frozen=True, slots=True)
class Step:
    """A training step on a device, and the ``reads`` that each have the host wait for it."""

    loop: LoaderLoop
    reads: tuple[ast.Call, ...]


def waiting_steps(program: Program) -> Iterator[Step]:
    """The loops over batches of which every step reads what the device is still computing, to no end but to tell it."""
    for loop in loops.loader_loops(program):
        if isinstance(loop.node, ast.comprehension) or not training.is_trained_on(program, loop):
            continue
        calls = [
            call
            for scope in classes.with_inner(loop.function)
            if scope.function is loop.function
            for call in scope.calls
            if loop.node in enclosing.loops_around(program, call)
        ]
        moves = [
            copies.transfer(program, call, call.func)
            for call in calls
            if isinstance(call.func, ast.Attribute) and call.func.attr in ("to", "cuda")
        ]
        moves = [one for one in moves if one.destination == "device"]
        if not moves and not any(one.prepared for one in loop.loaders):
            continue  # nothing says that there is a device
        names = _on_device(program, loop, calls)
        reads = sorted((one for one in calls if _reads(program, one, _known(names, one))), key=span)
        if any(called(one) == "synchronize" for one in calls) or _decides(program, loop, reads, names):
            continue
        always = [one for one in reads if not guards.is_conditional(program, one, loop.node)]
        if always:
            yield Step(loop, tuple(_apart(always, calls)))


def _on_device(program: Program, loop: LoaderLoop, calls: list[ast.Call]) -> dict[str, Span]:
    """The names in a loop that stand for tensors of the device, each with where it first does: what is moved there, has
    a backward pass, or is computed of such."""
    assignments = [stmt for stmt in _statements(program, loop) if isinstance(stmt, Assignment) and stmt.value]
    backward = {
        name
        for call in calls
        if called(call) == "backward" and isinstance(call.func, ast.Attribute)
        if (name := dotted(call.func.value)) is not None
    }
    found: dict[str, Span] = {}
    for stmt in assignments:
        names, value = enclosing.assigned(stmt), stmt.value
        parts = value.elts if isinstance(value, Display) else [value]
        moved = any(loaders.placement(program, program.value(one)) == "device" for one in parts)
        if moved or not backward.isdisjoint(names) or (value is not None and _is_computed_of(value, found)):
            found |= {name: span(stmt) for name in names if name not in found}
    return found


def _statements(program: Program, loop: LoaderLoop) -> Iterator[ast.stmt]:
    found = {binding.node for bindings in loop.function.bindings.values() for binding in bindings}
    for node in sorted((one for one in found if isinstance(one, Assignment) and targets(one)), key=span):
        if loop.node in enclosing.loops_around(program, node):
            yield node


def _is_computed_of(expr: ast.AST, names: Collection[str]) -> bool:
    """Whether a value is computed of one of ``names``, and neither of its shape nor of what was read of it."""
    waiting = [expr]
    while waiting:
        node = waiting.pop()
        if dotted(node) in names:
            return True
        if isinstance(node, ast.Attribute) and node.attr in SHAPES:
            continue
        if isinstance(node, ast.Call) and called(node) in _READS | {"numpy", "len", "float", "int"}:
            continue
        waiting.extend(children(node))
    return False


def _known(names: dict[str, Span], at: ast.AST) -> set[str]:
    """Those that are on the device where a pass comes to a place."""
    return {name for name, since in names.items() if since < span(at)}


def _reads(program: Program, call: ast.Call, names: Collection[str]) -> bool:
    if isinstance(call.func, ast.Attribute) and call.func.attr in _READS:
        return _is_computed_of(call.func.value, names)
    if not isinstance(call.func, ast.Name) or not call.args:
        return False
    shown = [one for arg in call.args for one in ([*arg.values] if isinstance(arg, ast.JoinedStr) else [arg])]
    shown = [one.value if isinstance(one, ast.FormattedValue) else one for one in shown]
    return any(
        isinstance(one, External) and one.name in SHOWING for one in alternatives(program.value(call.func))
    ) and any(dotted(one) in names for one in shown)


def _decides(program: Program, loop: LoaderLoop, reads: list[ast.Call], names: Collection[str]) -> bool:
    """Whether what the device has computed decides what runs next, so that it has to be waited for."""
    told = {name for one in reads for name in enclosing.assigned(enclosing.statement_of(program, one))}
    for owner in loop.function.file.arms:
        if not isinstance(owner, ast.If | ast.While) or loop.node not in enclosing.loops_around(program, owner):
            continue
        waiting: list[ast.AST] = [owner.test]
        while waiting:
            node = waiting.pop()
            if dotted(node) in told or node in reads:
                return True
            waiting.extend(children(node))
        if _is_computed_of(owner.test, names):
            return True
    return False


def _apart(reads: list[ast.Call], calls: list[ast.Call]) -> Iterator[ast.Call]:
    """The first read of each run of them between which the device is given nothing new to do."""
    working = [span(one) for one in calls if called(one) in WORKING]
    last: ast.Call | None = None
    for one in reads:
        if last is None or any(span(last) < at < span(one) for at in working):
            yield one
        last = one
