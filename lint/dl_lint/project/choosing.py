"""What a function never comes to for one of its callers: ``if subset is not None:``, where that caller gives none, or
``if mode == "train":``, where it gives another word."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.project import callers, truth
from dl_lint.project.values import NONE, Const, Parameter, alternatives, literal

if TYPE_CHECKING:
    from dl_lint.project.model import Project
    from dl_lint.project.values import Frame, Frames, Value


def is_never(project: Project, node: ast.AST | None, frames: Frames) -> bool:
    """Whether a test around ``node``, of a parameter of its function, fails for the caller in ``frames``."""
    if node is None:
        return False
    function = project.function_of(node)
    frame = next((one for one in frames if one.scope is function), None)
    return frame is not None and any(
        _holds(project, test, frame) is (not outcome) for test, outcome in project.tests_around(node)
    )


def _holds(project: Project, test: ast.expr, frame: Frame) -> bool | None:
    """The outcome of a test where a function is entered by one call; None if that is not known."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            held = _holds(project, inner, frame)
            return None if held is None else not held
        case ast.Compare(
            ops=(ast.Is() | ast.IsNot() | ast.Eq() | ast.NotEq() as op,),
            left=left,
            comparators=(ast.Constant(value=None),),
        ):
            found = {one == NONE for one in _given(project, left, frame)}
            return found.pop() is isinstance(op, ast.Is | ast.Eq) if len(found) == 1 else None
        case ast.Compare(ops=(ast.Eq() | ast.NotEq() as op,), left=left, comparators=(ast.Constant() as wanted,)):
            same = {one == literal(wanted) for one in _given(project, left, frame)}
            return same.pop() is isinstance(op, ast.Eq) if len(same) == 1 else None
        case ast.Name():
            known = {truth.truth_of(one) for one in _given(project, test, frame)}
            return known.pop() if len(known) == 1 else None
        case _:
            return None


def _given(project: Project, name: ast.expr, frame: Frame) -> tuple[Value, ...]:
    """What a parameter can be; nothing where that is not known."""
    found = project.evaluator.symbolic(name)
    if not isinstance(found, Parameter) or found.scope is not frame.scope:
        return ()
    given = alternatives(project.evaluator.resolve(callers.argument(project.evaluator, frame, found)))
    return given if all(isinstance(one, Const) for one in given) else ()
