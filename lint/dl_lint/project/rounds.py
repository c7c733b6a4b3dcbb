"""How often a loop goes round, where that is written down."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project import context
from dl_lint.project.syntax import dotted
from dl_lint.project.truth import truth
from dl_lint.project.values import Const, Option

if TYPE_CHECKING:
    from dl_lint.project.context import LoopNode
    from dl_lint.project.evaluate import Evaluator

RANGES = frozenset({"range", "trange", "tqdm.trange"})


def at_most_once(ev: Evaluator, loop: LoopNode) -> bool:
    """Whether a loop has one pass at most: ``for phase in ["train"]``, ``range(epochs)`` where epochs is always 1.

    So has one that is switched off: ``if TRAINING:``, where that is always False.
    """
    if any(truth(ev, test) is (not outcome) for test, outcome in context.tests_around(ev, loop)):
        return True
    return _has_one_pass(ev, loop, by_default=False)


def once_by_default(ev: Evaluator, loop: t.Node) -> bool:
    """Whether a loop has one pass unless somebody asks for more on the command line: ``range(args.epochs)``."""
    return isinstance(loop, t.For | t.While | t.Generator) and _has_one_pass(ev, loop, by_default=True)


def _has_one_pass(ev: Evaluator, loop: LoopNode, *, by_default: bool) -> bool:
    if isinstance(loop, t.While):
        return False
    over = loop.iter
    while isinstance(over, t.Call) and dotted(over.func) not in RANGES and over.args:
        over = over.args[0]  # a progress bar around it
    if isinstance(over, t.Sequence):
        return len(over.items) == 1 and not isinstance(over.items[0], t.Starred)
    if not isinstance(over, t.Call) or dotted(over.func) not in RANGES:
        return False
    ends = [_number(ev, one, by_default=by_default) for one in over.args]
    match ends:
        case [int(stop)]:
            return stop <= 1
        case [int(start), int(stop)]:
            return stop - start <= 1
        case _:
            return False


def _number(ev: Evaluator, expr: t.Expr, *, by_default: bool) -> int | None:
    value = ev.value(expr)
    if by_default and isinstance(value, Option) and value.source == "command line":
        value = value.default
    return value.value if isinstance(value, Const) and type(value.value) is int else None
