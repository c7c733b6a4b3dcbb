"""Batches that go to the device sample by sample, each read back before the next, as scripts that draw do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project.values import Batch, alternatives

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.model import Project
    from dl_lint.project.transfers import Transfer

_READS = frozenset({"cpu", "numpy"})


def is_read_back(project: Project, transfer: Transfer) -> bool:
    """Whether one sample is copied, and the function that copies it brings a result back to the host."""
    calls = project.function_of(transfer.call).calls
    behind = (one for one in calls if one.at > transfer.call.at and isinstance(one.func, t.Attribute))
    if not any(isinstance(one.func, t.Attribute) and one.func.attr in _READS for one in behind):
        return False
    sources = list(_sources(project, transfer))
    return bool(sources) and all(_is_sample(project, one) for one in sources)


def _sources(project: Project, transfer: Transfer) -> Iterator[t.Expr]:
    """The parts of batches that may be copied: what is written there, or what the callers pass for it."""
    copied = transfer.receiver_expr
    function = project.function_of(transfer.call)
    positions = tuple(one.name for one in function.params if one.kind in ("plain", "positional"))
    if not isinstance(copied, t.Name) or copied.id not in positions or function.is_method:
        yield copied
        return
    for frame in project.callers(function):
        passed = project.passed(frame.call, copied.id, *positions)
        if any(isinstance(one, Batch) for one in alternatives(passed.value)) and isinstance(passed.expr, t.Expr):
            yield passed.expr


def _is_sample(project: Project, expr: t.Expr) -> bool:
    """Whether an expression is ``images[i]`` or ``images[i : i + 1]``, of a loop over ``range``."""
    match expr:
        case t.Subscript(index=t.Name(id=name)):
            pass
        case t.Subscript(
            index=t.Slice(
                lower=t.Name(id=name), upper=t.BinOp(left=t.Name(id=again), right=t.Constant(value=1)), step=None
            )
        ) if name == again:
            pass
        case _:
            return False
    return any(
        isinstance(loop, t.For)
        and isinstance(loop.target, t.Name)
        and loop.target.id == name
        and isinstance(loop.iter, t.Call)
        and isinstance(loop.iter.func, t.Name)
        and loop.iter.func.id == "range"
        for loop in project.loops_around(expr)
    )
