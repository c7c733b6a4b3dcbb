"""How often a loop goes round, where that is written down."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.project import context
from dl_lint.project.truth import truth
from dl_lint.project.values import Collection, Const, Option
from dl_lint.source.syntax import Display, ForStatement, children, dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.context import LoopNode
    from dl_lint.project.evaluate import Evaluator

RANGES = frozenset({"range", "trange", "tqdm.trange"})


def at_most_once(ev: Evaluator, loop: LoopNode) -> bool:
    """Whether a loop has one pass at most: ``for phase in ["train"]``, ``range(epochs)`` where epochs is always 1.

    So has one that is switched off: ``if TRAINING:``, where that is always False.
    """
    return is_switched_off(ev, loop) or _has_passes(ev, loop, 1, by_default=False)


def is_switched_off(ev: Evaluator, node: ast.AST) -> bool:
    """Whether a test keeps a node of its function from ever being run: ``if False:``."""
    return any(truth(ev, test) is (not outcome) for test, outcome in context.tests_around(ev, node))


def twice_at_most(ev: Evaluator, loop: ast.AST) -> bool:
    """Whether a loop has two passes at most, as it is written: ``range(2)``."""
    return isinstance(loop, ForStatement | ast.While | ast.comprehension) and _has_passes(ev, loop, 2, by_default=False)


def once_by_default(ev: Evaluator, loop: ast.AST) -> bool:
    """Whether a loop has one pass unless somebody asks for more: ``range(args.epochs)``, ``range(epochs)`` of a
    function with ``epochs=1`` that nobody calls."""
    return isinstance(loop, ForStatement | ast.While | ast.comprehension) and _has_passes(ev, loop, 1, by_default=True)


def counts_epochs(loop: ast.AST) -> bool:
    """Whether a loop goes over epochs, by its names."""
    match loop:
        case ast.While(test=named):
            spoken: tuple[ast.AST, ...] = (named,)
        case (
            ast.For(target=target, iter=over)
            | ast.AsyncFor(target=target, iter=over)
            | ast.comprehension(target=target, iter=over)
        ):
            spoken = (target, over)
        case _:
            return False
    return any("epoch" in name.lower() for one in spoken for name in _names(one))


def _names(expr: ast.AST) -> Iterator[str]:
    waiting = [expr]
    while waiting:
        node = waiting.pop()
        match node:
            case ast.Name(id=name):
                yield name
            case ast.Attribute(attr=name):
                yield name
            case _:
                pass
        waiting.extend(children(node))


def _has_passes(ev: Evaluator, loop: LoopNode, most: int, *, by_default: bool) -> bool:
    """Whether a loop has ``most`` passes or fewer."""
    if isinstance(loop, ast.While):
        return False
    over = loop.iter
    while isinstance(over, ast.Call) and dotted(over.func) not in RANGES and over.args:
        over = over.args[0]  # a progress bar around it
    if isinstance(over, Display):
        return len(over.elts) <= most and not any(isinstance(one, ast.Starred) for one in over.elts)
    match ev.value(over) if isinstance(over, ast.Name) else None:
        case Collection(items=tuple() as items, grown=()):
            return len(items) <= most
    if not isinstance(over, ast.Call) or dotted(over.func) not in RANGES:
        return False
    ends = [_number(ev, one, by_default=by_default) for one in over.args]
    match ends:
        case [int(stop)]:
            return stop <= most
        case [int(start), int(stop)]:
            return stop - start <= most
        case _:
            return False


def _number(ev: Evaluator, expr: ast.expr, *, by_default: bool) -> int | None:
    value = ev.value(expr)
    if by_default and isinstance(value, Option):
        value = value.default
    return value.value if isinstance(value, Const) and type(value.value) is int else None
