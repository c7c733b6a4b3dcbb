"""Synchronisation: whether the host waits for the device beside a copy whatever that copy does."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.flow import call_graph, enclosing
from dl_lint.flow.features import feature
from dl_lint.flow.values import Batch, alternatives
from dl_lint.source.syntax import Comprehension

if TYPE_CHECKING:
    from dl_lint.flow.enclosing import LoopNode
    from dl_lint.flow.program import Program
    from dl_lint.transfers.copies import Transfer


@feature("copies that the host waits for anyway")
def is_read_at_once(program: Program, copy: ast.Call) -> bool:
    """Whether the expression around a copy reads it back: ``(best == x.to(d)).sum().item()``."""
    for above in enclosing.ancestors(program, copy):
        if isinstance(above, ast.stmt | ast.Lambda | Comprehension):
            return False
        if isinstance(above, ast.Call) and isinstance(above.func, ast.Attribute):
            model = program.models.get(f"torch.Tensor.{above.func.attr}")
            if model.has("Read", "Array") or above.func.attr == "cpu":
                return True
            if not model.has("Fresh", "View", "Cast"):
                return False
    return False


PARTS = frozenset({"keys", "values", "items"})
"""Methods of a batch that is a dict, through which a loop goes over its tensors."""


@feature("copies without work beside them", True)
def delays(program: Program, transfer: Transfer) -> bool:
    """Whether batch after batch is copied, with something else to do meanwhile."""
    loops = call_graph.repeating(program, transfer.call)
    repeated = any(not _is_over_one_batch(program, loop) for loop in loops)
    return repeated and not is_read_at_once(program, transfer.call)


def _is_over_one_batch(program: Program, loop: LoopNode) -> bool:
    """Whether a loop goes over the tensors of a batch."""
    if isinstance(loop, ast.While):
        return False
    over = loop.iter
    if isinstance(over, ast.Call) and isinstance(over.func, ast.Attribute) and over.func.attr in PARTS:
        over = over.func.value
    return any(isinstance(one, Batch) for one in alternatives(program.value(over)))
