"""Loops that count steps, not epochs: how often they go over their data depends on how much there is."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project.repetition import STEPS, names_in, words
from dl_lint.project.syntax import children, dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.context import LoopNode
    from dl_lint.project.model import Project

DEEPEST = 3
"""Names that a limit is followed through."""

_ORDER = frozenset({"<", "<=", ">", ">=", "=="})


def are_counted(project: Project, again: t.Node | None, loop: LoopNode | None) -> bool:
    """Whether ``again``, which begins ``loop`` over a loader anew, ends after so many steps, whatever epochs they make.

    Not where another loop repeats it, nor where the number of steps is made from epochs or from a length.
    """
    while isinstance(again, t.For) and isinstance(again.iter, t.Sequence):
        again = next((node for node in project.loops_around(again) if node is not again), None)
    if not isinstance(again, t.For | t.While) or any(node is not again for node in project.repeating(again)):
        return False
    limits = list(_limits(project, again, by_batch=loop is not None and _is_by_batch(project, again, loop)))
    return bool(limits) and not any(_speaks_of_epochs(project, one, DEEPEST) for one in limits)


def _is_by_batch(project: Project, again: t.For | t.While, loop: LoopNode) -> bool:
    """Whether each pass of ``again`` takes a batch of each of a few iterators, and no more."""
    drawn = any(one.node is loop and project.parent(one.source) is not loop for one in project.loader_loops())
    between = takewhile(lambda node: node is not again, (loop, *project.loops_around(loop)))
    return drawn and all(isinstance(one, t.For) and isinstance(one.iter, t.Sequence) for one in between)


def _limits(project: Project, again: t.For | t.While, *, by_batch: bool) -> Iterator[t.Expr]:
    """What ends a loop at a number of steps; ``by_batch`` if each of its passes is a step."""
    if isinstance(again, t.For):
        over = again.iter
        while isinstance(over, t.Call) and dotted(over.func) not in ("range", "trange") and over.args:
            over = over.args[0]
        if by_batch and isinstance(over, t.Call) and dotted(over.func) in ("range", "trange"):
            yield from over.args
    elif not isinstance(again.test, t.Constant):
        if _compares_steps(again.test):
            yield again.test
    else:
        for owner, arms in project.site(again).scope.file.arms.items():
            if isinstance(owner, t.If) and again in project.loops_around(owner):
                ends = any(arm.exits in ("leave", "break") for arm in arms)
                if ends and (_compares_steps(owner.test) or _is_of_epochs(owner.test)):
                    yield owner.test


def _compares_steps(test: t.Expr) -> bool:
    """Whether a test compares what is called a number of steps: ``i >= max_iterations``."""
    if isinstance(test, t.BoolOp):
        return any(_compares_steps(one) for one in test.values)
    if not isinstance(test, t.Compare) or not _ORDER.issuperset(test.ops):
        return False
    sides = (test.left, *test.comparators)
    if any(isinstance(one, t.BinOp) and one.op == "%" for one in sides):
        return False
    return any(STEPS & set(words(name)[-1:]) for one in sides for name in names_in(one))


def _speaks_of_epochs(project: Project, expr: t.Expr, depth: int) -> bool:
    """Whether a number is made from epochs, or from the length of something."""
    if _is_of_epochs(expr):
        return True
    return depth > 0 and any(
        _speaks_of_epochs(project, value, depth - 1) for name in names_in(expr) for value in _given(project, expr, name)
    )


def _is_of_epochs(expr: t.Expr) -> bool:
    waiting: list[t.Node] = [expr]
    while waiting:
        node = waiting.pop()
        if isinstance(node, t.Call) and dotted(node.func) == "len":
            return True
        waiting.extend(children(node))
    return any({"epoch", "epochs"} & set(words(name)) for name in names_in(expr))


def _given(project: Project, near: t.Expr, name: str) -> Iterator[t.Expr]:
    """What a name or an attribute is assigned in the same function or class."""
    scope = project.site(near).scope.function
    bound = [*scope.bindings.get(name, ())]
    if "." in name and scope.parent is not None:
        bound += (one for other in scope.parent.children for one in other.bindings.get(name, ()))
    yield from (one.value for one in bound if one.value is not None and one.kind == "assign")
