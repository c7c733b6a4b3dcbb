"""What runs only in every n-th pass of a loop, such as a validation every five epochs or a sample every 100 steps."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.flow import call_graph, enclosing
from dl_lint.flow.call_graph import passes
from dl_lint.flow.features import feature
from dl_lint.flow.values import Const, Option
from dl_lint.pipeline import loaders, loops
from dl_lint.pipeline.loops import may_pass
from dl_lint.pipeline.training import STEPS, names_in, words
from dl_lint.source.syntax import Display, ForStatement, children, dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.call_graph import Guards
    from dl_lint.flow.enclosing import LoopNode
    from dl_lint.flow.program import Program
    from dl_lint.flow.values import Loader, Value


DEEPEST = 3
"""Names and functions that a test is followed through."""

COUNTERS = frozenset({"step", "iteration", "iter", "idx", "index", "epoch", "i", "it", "done"})
"""Last words of the names of what counts passes."""


NUMBERING = frozenset({"range", "enumerate", "trange", "itertools.count", "count"})
"""What numbers the passes of a loop over it."""


@feature("periodic passes")
def is_rare(program: Program, loader: Loader, again: ast.AST, loop: LoopNode | None) -> bool:
    """Whether every way from ``again`` to ``loop`` over ``loader`` is gone only in every n-th step, so that persistent
    workers would idle, with what they hold."""
    ways = _ways(program, loader, again, loop)
    counted = [any(not _counts_epochs(one) for one in _skipping(program, guards)) for guards in ways]
    rare = [any(_is_once(test, outcome) for test, outcome in guards) for guards in ways]
    return any(counted) and all(one or other for one, other in zip(counted, rare, strict=True))


def skips_epochs(program: Program, loader: Loader, again: ast.AST, loop: LoopNode | None) -> bool:
    """Whether every way from ``again`` to ``loop`` over ``loader`` is gone only in every n-th epoch."""
    ways = _ways(program, loader, again, loop)
    return bool(ways) and all(any(_skipping(program, guards)) for guards in ways)


def _ways(program: Program, loader: Loader, again: ast.AST, loop: LoopNode | None) -> list[Guards]:
    if loop is None or loop is again or not isinstance(again, ForStatement | ast.While | ast.comprehension):
        return []
    return [
        one.guards
        for one in passes(program, loop)
        if one.loop is again and all(may_pass(program, call, loader) for call in one.through)
    ]


@feature("periodic statements")
def is_left_out(program: Program, node: ast.AST, again: LoopNode) -> bool:
    """Whether most passes of ``again`` leave ``node`` out: it runs every n steps."""
    ways = [one.guards for one in passes(program, node) if one.loop is again]
    return bool(ways) and all(any(_skipping(program, guards)) for guards in ways)


def is_every_nth(program: Program, test: ast.expr, outcome: bool) -> bool:
    """Whether a test comes out so in every n-th pass only."""
    return any(_skipping(program, ((test, outcome),)))


@feature("loops over epochs")
def is_over_epochs(program: Program, loop: LoopNode) -> bool:
    """Whether each pass of a loop, or most, calls something that goes over a whole loader."""
    return any(
        loop in call_graph.repeating(program, one.node) and not is_left_out(program, one.node, loop)
        for one in loops.loader_loops(program)
        if one.node is not loop
    )


@feature("counters")
def is_counter(program: Program, expr: ast.AST) -> bool:
    """Whether a name or an attribute counts: bound by ``range`` or ``enumerate``, added to, or called a step."""
    if isinstance(expr, ast.BinOp):
        return isinstance(expr.op, ast.Add | ast.Sub) and any(
            is_counter(program, one) for one in (expr.left, expr.right)
        )
    name = dotted(expr)
    if name is None or not isinstance(expr, ast.expr):
        return False
    bound = program.site(expr).scope.bindings.get(name, ())
    if any(isinstance(one.node, ast.AugAssign) or _is_numbered(one.node, name) for one in bound):
        return True
    return COUNTERS & set(words(name)[-1:]) != set()


def _is_numbered(loop: ast.AST, name: str) -> bool:
    """Whether a loop numbers its passes with ``name``."""
    if not isinstance(loop, ForStatement | ast.comprehension):
        return False
    over, target = loop.iter, loop.target
    if isinstance(over, ast.Call) and dotted(over.func) not in NUMBERING and over.args:
        over = over.args[0]  # a progress bar around it
    if not isinstance(over, ast.Call) or dotted(over.func) not in NUMBERING:
        return False
    if dotted(over.func) == "enumerate" and isinstance(target, Display):
        target = target.elts[0]
    return dotted(target) == name


def _is_once(test: ast.expr, outcome: bool) -> bool:
    """Whether a test holds in one pass: ``epoch == epochs - 1``."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _is_once(test.operand, not outcome)
    return isinstance(test, ast.Compare) and [*map(type, test.ops)] == [ast.Eq if outcome else ast.NotEq]


def _skipping(program: Program, guards: Guards) -> Iterator[ast.BinOp]:
    """The remainders ``epoch % n`` that let a place be come to in every n-th pass only: ``if epoch % n == 0``."""
    for test, outcome in guards:
        yield from _remainders(program, test, outcome)


def _remainders(program: Program, test: ast.AST, outcome: bool, depth: int = DEEPEST) -> Iterator[ast.BinOp]:
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            yield from _remainders(program, inner, not outcome, depth)
        case ast.BoolOp(values=parts):
            yield from (found for one in parts for found in _remainders(program, one, outcome, depth))
        case ast.Compare(ops=(op,)) if _is_equality(op, test, outcome):
            yield from (one for one in children(test) if isinstance(one, ast.BinOp) and _counts(program, one))
        case ast.BinOp() if not outcome and _counts(program, test):
            yield test
        case ast.Name() if depth:
            for one in program.site(test).scope.bindings.get(test.id, ()):
                yield from _remainders(program, one.value, outcome, depth - 1) if one.value is not None else ()
            passed = [[*_remainders(program, one, outcome, depth - 1)] for one in _passed(program, test)]
            yield from (one for found in passed for one in found if all(passed))
        case ast.Call() if depth:
            for function in call_graph.entered(program, test):
                for returned in function.returns:
                    if returned.value is not None:
                        yield from _remainders(program, returned.value, outcome, depth - 1)
        case _:
            return


def _passed(program: Program, name: ast.Name) -> Iterator[ast.expr]:
    """What the callers of a function pass for a parameter of it."""
    function = enclosing.function_of(program, name)
    positions = tuple(one.name for one in function.params if one.kind in ("plain", "positional"))
    if name.id in (one.name for one in function.params) and not function.is_method:
        for frame in call_graph.callers(program, function):
            given = loaders.passed(program, frame.call, name.id, *positions).expr
            if isinstance(given, ast.expr):
                yield given


def _is_equality(op: ast.cmpop, test: ast.Compare, outcome: bool) -> bool:
    """Whether ``outcome`` of a comparison means that the remainder is one number; ``% n < 1`` is as rare."""
    truthy = outcome if isinstance(op, ast.Eq | ast.Is | ast.Lt | ast.LtE) else not outcome
    return truthy and not isinstance(op, ast.In | ast.NotIn) and len(test.comparators) == 1


def _counts(program: Program, expr: ast.BinOp) -> bool:
    """Whether an expression is a remainder ``epoch % n`` with an ``n`` that is not known to be 1, also by default."""
    if not isinstance(expr.op, ast.Mod) or _is_one(program.value(expr.right)):
        return False
    parts = _counted(expr)
    return bool(parts) and "rank" not in parts


def _counts_epochs(expr: ast.BinOp) -> bool:
    """Whether what is divided counts epochs, by its names, and not the steps of one: ``epoch_step``."""
    parts = _counted(expr)
    return not parts.isdisjoint({"epoch", "epochs"}) and STEPS.isdisjoint(parts)


def _counted(expr: ast.BinOp) -> set[str]:
    return {word for name in names_in(expr.left) for word in words(name)}


def _is_one(value: Value) -> bool:
    if isinstance(value, Option):
        return _is_one(value.default)
    return isinstance(value, Const) and value.value == 1
