"""Copies of a few numbers in a loop that evaluates: in each pass results come back to the host anyway."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project import roles
from dl_lint.project.beside import READS
from dl_lint.project.values import Collection, Tensor, alternatives

if TYPE_CHECKING:
    from dl_lint.project.context import LoopNode
    from dl_lint.project.model import Project

FEW = 256
"""Numbers that are copied in less time than the host waits for a result."""

_TRAINING = ("backward", "zero_grad", "step", "train")
"""Methods of loops that train, and of a model that is set to do so."""


def is_beside_the_point(project: Project, source: t.Expr, loop: LoopNode) -> bool:
    """Whether what is copied is written out in the code as a few numbers, and each pass of ``loop`` reads results back
    or is without gradients, and trains nothing."""
    inside = [call for call in project.site(loop).scope.calls if loop in project.loops_around(call)]
    methods = {call.func.attr for call in inside if isinstance(call.func, t.Attribute)}
    evaluates = not READS.isdisjoint(methods) or roles.is_without_gradients(project, loop)
    return evaluates and methods.isdisjoint(_TRAINING) and _is_small(project, source)


def _is_small(project: Project, source: t.Expr) -> bool:
    if isinstance(source, t.Subscript) and isinstance(source.index, t.Slice):
        return _is_small(project, source.value)
    found = alternatives(project.value(source))
    return bool(found) and all(
        (isinstance(one, Collection) and one.items is not None and len(one.items) <= FEW)
        or (isinstance(one, Tensor) and _is_made_of_few(project, one.node))
        for one in found
    )


def _is_made_of_few(project: Project, node: t.Node | None) -> bool:
    return isinstance(node, t.Call) and bool(node.args) and _is_small(project, node.args[0])
