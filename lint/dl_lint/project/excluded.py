"""Loaders that a call cannot get, as its arguments decide a test that the construction depends on."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.project import attributes, context, passes
from dl_lint.project.truth import decide, truth_of
from dl_lint.project.values import Collection, Const, Parameter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.evaluate import Evaluator
    from dl_lint.project.values import Frames, Loader, Value

_PLAIN = frozenset({"staticmethod", "classmethod"})
"""Decorators that pass on the arguments as they are given."""


def is_excluded(ev: Evaluator, loader: Loader) -> bool:
    """Whether a call on the way to ``loader`` passes what keeps it from being made: ``if split == "train":``.

    Of each function on the way, the tests around the construction count, or around the call that leads on to it, and
    those of earlier ``if`` statements with an arm that returns.
    """
    inner = loader.call
    for at, frame in enumerate(loader.frames):
        if attributes.decorators(frame.scope) <= _PLAIN:
            for test, wanted in _tests(ev, inner):
                if _outcome(ev, test, loader.frames[at:]) is (not wanted):
                    return True
        inner = frame.call
    return False


def _tests(ev: Evaluator, node: ast.Call) -> tuple[tuple[ast.expr, bool], ...]:
    return ev.read_off(("tests around", node), lambda: (*context.tests_around(ev, node), *_returning(ev, node)))


def _returning(ev: Evaluator, node: ast.Call) -> Iterator[tuple[ast.expr, bool]]:
    for block in context.blocks(ev, node):
        yield from passes.jumps(ev, block, node, "leave")


def _outcome(ev: Evaluator, test: ast.expr, frames: Frames) -> bool | None:
    """How a test of parameters, and of nothing else, goes for one chain of calls; None if that is not known."""
    match test:
        case ast.Name():
            value = _passed(ev, test, frames)
            return truth_of(value) if value is not None else None
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            found = _outcome(ev, inner, frames)
            return None if found is None else not found
        case ast.BoolOp(op=op, values=parts):
            decisive = isinstance(op, ast.Or)
            outcomes = [_outcome(ev, one, frames) for one in parts]
            return decisive if decisive in outcomes else None if None in outcomes else not decisive
        case ast.Compare(left=ast.Name() as name, ops=(op,), comparators=(ast.expr() as other,)):
            return _compared(_passed(ev, name, frames), op, ev.symbolic(other))
        case _:
            return None


def _passed(ev: Evaluator, name: ast.Name, frames: Frames) -> Value | None:
    """What the calls pass for a parameter; None for another name, and for one that is assigned since."""
    value = ev.symbolic(name)
    if not isinstance(value, Parameter) or value.scope is not frames[0].scope:
        return None
    return ev.through(value, frames)


def _compared(left: Value | None, op: ast.cmpop, right: Value) -> bool | None:
    if not isinstance(left, Const):
        return None
    if isinstance(op, ast.In | ast.NotIn):
        others = right.items if isinstance(right, Collection) and not right.grown else None
        if others is None or not all(isinstance(one, Const) for one in others):
            return None
        return any(isinstance(one, Const) and one.value == left.value for one in others) is isinstance(op, ast.In)
    return decide(op, left, right) if isinstance(right, Const) else None
