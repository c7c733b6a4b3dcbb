"""Synchronisation: whether the host waits for the device beside a copy whatever that copy does."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.flow import call_graph, enclosing
from dl_lint.flow.features import feature
from dl_lint.flow.interpreter import tensor_memory
from dl_lint.flow.interpreter.tensor_memory import VIEWS
from dl_lint.flow.values import Batch, External, Tensor, alternatives
from dl_lint.source.positions import span
from dl_lint.source.syntax import (
    Assignment,
    Comprehension,
    called,
    targets,
    walk,
)
from dl_lint.transfers import copies
from dl_lint.transfers.host_reads import READING

if TYPE_CHECKING:
    from dl_lint.flow.enclosing import LoopNode
    from dl_lint.flow.program import Program
    from dl_lint.transfers.copies import Transfer


_READS = frozenset({"item", "tolist", "cpu", "numpy"})
"""Methods that hand the host what a tensor of the device holds."""

SHAPES = frozenset({"shape", "dtype", "device", "ndim", "is_cuda", "size", "dim", "numel", "type", "ndimension"})
"""Attributes and methods of a tensor that are known without its values."""

_CHEAP = frozenset(
    {"size", "dim", "numel", "len", "zero_grad", "index", "append", "time", "perf_counter", "record", "fill_", "zero_",
     "numpy"}
)  # fmt: skip
"""Calls that are done before a copy has got anywhere; ``numpy`` is one of tensors of the host only."""

_COMPUTED = VIEWS | tensor_memory.COPIES | tensor_memory.CASTS | {"type", "type_as"}

_MADE = tensor_memory.LEGACY | tensor_memory.FROM_DATA | {"zeros", "ones", "full", "empty", "arange"}
"""Functions that make a tensor of numbers at hand."""


@feature("copies that the host waits for anyway")
def is_waited_for(program: Program, call: ast.Call) -> bool:
    """Whether the host waits soon after a copy in any case: for a number computed of it, or, with only what is done at
    once before it, for a copy of pageable memory."""
    stmt = enclosing.statement_of(program, call)
    if _is_read_in(program, call):
        return True
    if any(_copies(program, other) for other in enclosing.simple(stmt) if span(other) > span(call)):
        return True
    for later in enclosing.onward(program, stmt):
        if any(_copies(program, other) for other in enclosing.simple(later)):
            return True
        if not _is_cheap(later):
            return False
    return False


def _is_read_in(program: Program, copy: ast.Call) -> bool:
    """Whether the expression around a copy gives the host what little is computed of it: ``(best ==
    labels.to(d)).sum().item()``."""
    for above in enclosing.ancestors(program, copy):
        if isinstance(above, ast.stmt | ast.Lambda | Comprehension):
            return False
        if isinstance(above, ast.Call) and isinstance(above.func, ast.Attribute) and above.func.attr in _READS:
            return _costs_little(above.func.value, _READS | READING)
    return False


def _is_cheap(stmt: ast.stmt) -> bool:
    """Whether a statement only assigns, copies to the device, or computes a little with tensors, in some cases only."""
    if isinstance(stmt, ast.If):
        return _costs_little(stmt.test) and all(_is_cheap(one) for one in (*stmt.body, *stmt.orelse))
    if isinstance(stmt, ast.AugAssign):
        return _costs_little(stmt.value)
    return isinstance(stmt, Assignment | ast.Expr) and _costs_little(stmt)


def _costs_little(node: ast.AST, besides: frozenset[str] = frozenset()) -> bool:
    allowed = _CHEAP | MOVES | _COMPUTED | _MADE | besides
    parts = [*targets(node), node.value] if isinstance(node, Assignment) and node.value is not None else [node]
    return all(called(one) in allowed for part in parts for one in walk(part) if isinstance(one, ast.Call))


MOVES = frozenset({"to", "cuda"})


def _copies(program: Program, call: ast.AST) -> bool:
    """Whether an expression takes pageable memory to the device, for which the host waits."""
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr not in MOVES:
        return False
    move = copies.transfer(program, call, call.func)
    found = alternatives(move.receiver)
    return (
        move.destination == "device"
        and move.asynchronous is False
        and bool(found)
        and all(isinstance(one, Tensor) and _is_pageable(program, one) for one in found)
    )


def _is_pageable(program: Program, tensor: Tensor) -> bool:
    """Whether a tensor is, or may for all that is known be, of pageable memory, such as ``labels.float()``.

    Also one joined of batches that only the callers know, and ``torch.tensor(…)`` of whatever it is made.
    """
    if tensor.placement == "unknown":
        match tensor.node:
            case ast.Call(func=func) if program.value(func) == External("torch.tensor"):
                return True
            case ast.Call() if isinstance(tensor.source, Tensor) and tensor_memory.cast_dtype(program, tensor.node):
                return _is_pageable(program, tensor.source)
            case ast.Call(args=(ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts), *_)) if parts:
                return all(isinstance(one, Batch) for part in parts for one in alternatives(program.value(part)))
    return tensor.placement in ("pageable", "host")


PARTS = frozenset({"keys", "values", "items"})
"""Methods of a batch that is a dict, through which a loop goes over its tensors."""


@feature("copies without work beside them", True)
def delays(program: Program, transfer: Transfer) -> bool:
    """Whether batch after batch is copied, with something else to do meanwhile."""
    loops = call_graph.repeating(program, transfer.call)
    repeated = any(not _is_over_one_batch(program, loop) for loop in loops)
    return repeated and not is_waited_for(program, transfer.call)


def _is_over_one_batch(program: Program, loop: LoopNode) -> bool:
    """Whether a loop goes over the tensors of a batch."""
    if isinstance(loop, ast.While):
        return False
    over = loop.iter
    if isinstance(over, ast.Call) and isinstance(over.func, ast.Attribute) and over.func.attr in PARTS:
        over = over.func.value
    return any(isinstance(one, Batch) for one in alternatives(program.value(over)))
