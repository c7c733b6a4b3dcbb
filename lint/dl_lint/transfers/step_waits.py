"""Where a training step has the host wait for the device, to read its tensors."""

from __future__ import annotations

import ast
from bisect import bisect
from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from dl_lint.flow import call_graph, effects, enclosing, guards
from dl_lint.flow.features import NOTHING_MORE, feature
from dl_lint.flow.interpreter import arguments
from dl_lint.flow.values import External, Frame, alternatives
from dl_lint.pipeline import loaders, loops, ranks, training, trip_counts
from dl_lint.source.positions import Span, span
from dl_lint.source.syntax import Assignment, Display, called, children, dotted, targets, walk
from dl_lint.transfers import copies
from dl_lint.transfers.loop_invariants import calls_in, is_inside

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from dl_lint.flow.enclosing import LoopNode
    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import Scope
    from dl_lint.pipeline.loops import LoaderLoop


TENSORS = frozenset({"cpu", "tolist"})
"""Reads of more than a number, which the host may need to go on."""

_READS = frozenset({"item"}) | TENSORS
"""Methods that hand the host what a tensor of the device holds; of one of the device, ``numpy()`` raises an error."""

_OF_TENSORS = _READS | {"numpy"}
_OF_PYTHON = frozenset({"len", "float", "int", "isinstance", "hasattr"})
"""Methods and functions whose results are on the host."""

SHOWING = frozenset({"builtins.float", "builtins.int", "builtins.print"})
"""Functions that read a tensor that they are given."""

_STEPPING = ("opt", "scaler", "solver")
"""Parts of the names of objects whose ``step`` changes the weights; that of a schedule or a profiler does not."""

_RAREST = 2
"""Samples that a batch must have for a guard of its shape to let nearly all of them pass."""

TELLING = frozenset(
    {"print", "append", "extend", "update", "add_scalar", "add_scalars", "log", "info", "debug", "warning", "write",
     "set_postfix", "set_description", "meter", "add"}
)  # fmt: skip
"""Functions and methods that show, count or keep a number that they are given."""

CONVERTING = frozenset({"float", "int", "round", "str", "format", "sum", "max", "min"})
"""Functions that make another number of one, or a text."""

DEEPEST = 3
"""Calls that a step is followed into."""

ENTRY: Span = (0, 0, 0, 0)
"""Where the parameters of a function come to hold what they are given: before all that is in it."""

At = tuple[Span, ...]
"""Where a step comes to a call: by the calls that lead to it."""


@dataclass(frozen=True, slots=True)
class Step:
    """A training step on a device, and the ``reads`` that each have the host wait for it."""

    loop: LoaderLoop
    reads: tuple[ast.Call, ...]


def waiting_steps(program: Program) -> Iterator[Step]:
    """The loops over batches of which every step reads what the device is still computing, to no end but to tell it."""
    for loop in (*loops.loader_loops(program), *_drawing_loops(program)):
        if isinstance(loop.node, ast.comprehension) or not training.is_trained_on(program, loop):
            continue
        run = _Run(program)
        run.body(loop.node, loop.function, {})
        on_device = run.moves or any(one.prepared for one in loop.loaders)
        reads = tuple(run.waits()) if on_device and not run.synchronises else ()
        if reads:
            yield Step(loop, reads)


def _drawing_loops(program: Program) -> Iterator[LoaderLoop]:
    """The loops, but those of epochs, that call a function which draws the next batch and trains on it."""
    known = loops.loader_loops(program)
    for call in program.calls("builtins.next"):
        step = enclosing.function_of(program, call)
        if not call.args or guards.is_conditional(program, call) or any(enclosing.loops_around(program, call)):
            continue
        if not any(effects.is_backward(program, one) for one in calls_in(program, None, step)):
            continue
        found, certain = loops.loaders_iterated(program, call.args[0])
        for frame in call_graph.callers(program, step) if found else ():
            node = next(enclosing.loops_around(program, frame.call), None)
            if node is None or any(node in call_graph.repeating(program, one.node) for one in known):
                continue
            yield loops.LoaderLoop(node, call.args[0], found, certain, enclosing.function_of(program, frame.call))


class _Run:
    """What one step does, in the loop and in the functions that it always calls."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.reads: dict[At, ast.Call] = {}
        self.work: list[At] = []
        self.decisions: set[tuple[At, At]] = set()
        """Where what the device has computed decides what runs next, so that it has to be waited for; and the way to
        the reads which that is known to concern."""
        self.moves = False
        self.synchronises = False
        self.functions: set[tuple[ast.Call, Scope]] = set()

    def waits(self) -> Iterator[ast.Call]:
        """The first read after each piece of work, but for those where the host has to wait for it anyway."""
        work = sorted(self.work)
        decided = {(bisect(work, at), way) for at, way in self.decisions}
        told: set[int] = set()
        for at in sorted(self.reads):
            done = bisect(work, at)
            if done not in told and not any(one == done and at[: len(way)] == way for one, way in decided):
                told.add(done)
                yield self.reads[at]

    def body(
        self, within: LoopNode | None, function: Scope, names: dict[str, Span], entering: tuple[ast.Call, ...] = ()
    ) -> None:
        """Of a loop, or of a whole function that ``entering`` lead to, with ``names`` on the device."""
        program = self.program
        way = tuple(map(span, entering))
        calls = sorted(calls_in(program, within, function), key=span)
        names = _on_device(program, within, function, calls, names)
        reads: dict[ast.Call, set[At]] = {}
        for call in calls:
            at = (*way, span(call))
            self.moves = self.moves or _moves(program, call) or self._hands_to_device(call)
            self.synchronises = self.synchronises or called(call) == "synchronize"
            if _works(self.program, call):
                self.work.append(at)
            always = not guards.is_conditional(program, call, within, partial(_is_usual, program, call))
            if _reads(program, call, _known(names, call)):
                reads[call] = {at}
                if always and (not way or (called(call) not in TENSORS and _tells(program, call, entering))):
                    self.reads[at] = call
            elif always and len(entering) < DEEPEST:
                reads[call] = self._entered((*entering, call), _known(names, call))
        self.decisions.update(_decisions(program, within, function, way, reads, names))

    def _entered(self, entering: tuple[ast.Call, ...], names: Collection[str]) -> set[At]:
        """Where what the last call enters reads, and may hand back what it has read."""
        before, call = set(self.reads), entering[-1]
        for function in call_graph.entered(self.program, call):
            if (entering[0], function) in self.functions:
                continue  # one call may enter any of several functions, which enter the same ones
            self.functions.add((entering[0], function))
            given = [one.name for one in function.params if self._is_given(call, function, one.name, names)]
            self.body(None, function, dict.fromkeys(given, ENTRY), entering)
        return self.reads.keys() - before

    def _hands_to_device(self, call: ast.Call) -> bool:
        """Whether a call, also one that is made in some cases only, enters a function that moves something."""
        functions = call_graph.entered(self.program, call)
        return any(_moves(self.program, one) for function in functions for one in function.calls)

    def _is_given(self, call: ast.Call, function: Scope, name: str, names: Collection[str]) -> bool:
        """Whether a call passes what is on the device for a parameter."""
        passed = arguments.passed(self.program, Frame(function, call), name).node
        return passed is not call and _is_computed_of(self.program, passed, names)


def _moves(program: Program, call: ast.Call) -> bool:
    """Whether a call moves something to the device."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in ("to", "cuda"):
        return False
    return copies.transfer(program, call, call.func).destination == "device"


def _on_device(
    program: Program, within: LoopNode | None, function: Scope, calls: list[ast.Call], given: dict[str, Span]
) -> dict[str, Span]:
    """The names that stand for tensors of the device, each with where it first does: what is ``given``, is moved there,
    has a backward pass, or is computed of such."""
    backward = {
        name
        for call in calls
        if isinstance(call.func, ast.Attribute) and effects.is_backward(program, call)
        if (name := dotted(call.func.value)) is not None
    }
    found = dict(given)
    for stmt in _statements(program, within, function):
        names, value = enclosing.assigned(stmt), stmt.value
        parts = value.elts if isinstance(value, Display) else [value]
        moved = any(loaders.placement(program, program.value(one)) == "device" for one in parts)
        if moved or not backward.isdisjoint(names) or (value is not None and _is_computed_of(program, value, found)):
            found |= {name: span(stmt) for name in names if name not in found}
    return found


def _statements(program: Program, within: LoopNode | None, function: Scope) -> Iterator[Assignment]:
    found = {binding.node for bindings in function.bindings.values() for binding in bindings}
    for node in sorted((one for one in found if isinstance(one, Assignment) and targets(one)), key=span):
        if node.value and is_inside(program, node, within):
            yield node


def _is_computed_of(program: Program, expr: ast.AST, names: Collection[str]) -> bool:
    """Whether a value is computed of one of ``names``, of a gradient or of what is moved in it, and neither of its
    shape, of what was read of it nor of whether it is there."""
    waiting = [expr]
    while waiting:
        node = waiting.pop()
        if dotted(node) in names or (isinstance(node, ast.Call) and _moves(program, node)):
            return True
        if isinstance(node, ast.Attribute) and _is_metadata(program, node.attr):
            continue
        if isinstance(node, ast.Attribute) and node.attr == "grad":
            return True
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Is | ast.IsNot):
            continue
        if isinstance(node, ast.Call) and called(node) in (
            _OF_TENSORS if isinstance(node.func, ast.Attribute) else _OF_PYTHON
        ):
            continue
        waiting.extend(children(node))
    return False


def _known(names: dict[str, Span], at: ast.AST) -> set[str]:
    """Those that are on the device where a pass comes to a place."""
    return {name for name, since in names.items() if since < span(at)}


def _reads(program: Program, call: ast.Call, names: Collection[str]) -> bool:
    if isinstance(call.func, ast.Attribute) and call.func.attr in _READS:
        return _is_computed_of(program, call.func.value, names)
    if not isinstance(call.func, ast.Name) or not call.args:
        return False
    shown = [one for arg in call.args for one in ([*arg.values] if isinstance(arg, ast.JoinedStr) else [arg])]
    shown = [one.value if isinstance(one, ast.FormattedValue) else one for one in shown]
    return any(
        isinstance(one, External) and one.name in SHOWING for one in alternatives(program.value(call.func))
    ) and any(dotted(one) in names for one in shown)


def _tells(program: Program, node: ast.AST, entering: tuple[ast.Call, ...], names: int = 2) -> bool:
    """Whether a number that was read is shown, counted or kept, and nothing is computed with it on the device; one that
    is returned, by whoever called the function."""
    above = program.parent(node)
    match above:
        case ast.AugAssign() | ast.Expr() | ast.Dict() | ast.Tuple() | ast.List():
            return True
        case ast.Return():
            return not entering or _tells(program, entering[-1], entering[:-1], names)
        case ast.Assign(targets=[ast.Name(id=name)]) if names:
            loads = enclosing.function_of(program, node).loads.get(name, ())
            return all(_tells(program, load, entering, names - 1) for load in loads)
        case ast.Assign(targets=stored):
            return all(isinstance(one, ast.Attribute | ast.Subscript) for one in stored)
        case ast.Call() if node is not above.func and called(above) in TELLING:
            return True
        case ast.Call() if node is above.func or called(above) not in CONVERTING:
            return False
        case ast.Slice() | ast.Subscript() | ast.stmt() | None:
            return False
        case _:
            return _tells(program, above, entering, names)


@feature("reads that decide what runs next", NOTHING_MORE)
def _decisions(
    program: Program,
    within: LoopNode | None,
    function: Scope,
    way: At,
    reads: dict[ast.Call, set[At]],
    names: Collection[str],
) -> Iterator[tuple[At, At]]:
    """Where the host waits for what decides what runs next: at a read of it, or, as it seems, at a test in a function
    that ``way`` leads to."""
    told: defaultdict[str | None, set[At]] = defaultdict(set)
    for one, places in reads.items():
        for name in enclosing.assigned(enclosing.statement_of(program, one)):
            told[name] |= places
    for owner in function.file.arms:
        if not isinstance(owner, ast.If | ast.While) or enclosing.function_of(program, owner) is not function:
            continue
        if not is_inside(program, owner, within):
            continue
        for node in walk(owner.test):
            read = reads.get(node, set()) if isinstance(node, ast.Call) else told.get(dotted(node), set())
            yield from ((at, ()) for at in read)
        rare = guards.is_conditional(program, owner, within, partial(_is_usual, program, owner))
        if not rare and _is_computed_of(program, owner.test, names):
            yield (*way, span(owner.test)), way


def _works(program: Program, call: ast.Call) -> bool:
    """Whether a call gives the device something to do, so that what is read behind it is waited for anew."""
    if called(call) != "step" or not isinstance(call.func, ast.Attribute):
        return effects.is_backward(program, call)
    name = (dotted(call.func.value) or "").lower()
    return any(part in name for part in _STEPPING)


def _is_usual(program: Program, node: ast.AST, test: ast.expr) -> bool:
    """Whether a place comes to be reached in nearly every step for all that a test of it asks for: of the rank, for the
    first step to be over (``step > 0``), or for a shape that is no rare one, in the ``else`` of ``x.shape[0] == 1``.
    """
    if ranks.chooses_rank(test):
        return True
    match test:
        case ast.Compare(left=counter, ops=[ast.Gt() | ast.GtE()], comparators=[ast.Constant(value=0 | 1)]):
            return (test, True) in enclosing.tests_around(program, node) and trip_counts.is_counter(program, counter)
        case ast.Compare(left=left, ops=[ast.Eq() | ast.Lt() | ast.LtE()], comparators=[ast.Constant(value=int(most))]):
            return (
                most <= _RAREST and _is_shape(program, left) and (test, False) in enclosing.tests_around(program, node)
            )
        case _:
            return False


def _is_shape(program: Program, expr: ast.expr) -> bool:
    """Whether an expression is a number of a shape: ``x.shape[0]``, ``x.size(0)``, ``len(x)``."""
    if isinstance(expr, ast.Call):
        return called(expr) == "len" or _is_metadata(program, called(expr))
    return (
        isinstance(expr, ast.Subscript)
        and isinstance(expr.value, ast.Attribute)
        and _is_metadata(program, expr.value.attr)
    )


def _is_metadata(program: Program, name: str) -> bool:
    """Whether an attribute or a method of a tensor is known without its values."""
    return name == "type" or program.models.has(f"torch.Tensor.{name}", "Metadata")
