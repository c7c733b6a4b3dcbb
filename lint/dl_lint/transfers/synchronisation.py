"""Synchronisation: whether the host waits for the device beside a copy whatever that copy does."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.flow import call_graph, enclosing
from dl_lint.flow.features import feature
from dl_lint.flow.values import Batch, alternatives
from dl_lint.source.syntax import Comprehension, FunctionDefinition, called

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


@feature("copies that the next statement waits for")
def is_read_next(program: Program, transfer: Transfer) -> bool:
    """Whether the statement after a copy, or after others beside it, reads what was copied back to the host, which
    waits for it: here, or first thing in a function that is given it."""
    stmt = enclosing.statement_of(program, transfer.call)
    copied = set(enclosing.assigned(stmt))
    for later in enclosing.onward(program, stmt) if _only_copies(stmt) else ():
        if _only_copies(later):
            copied |= enclosing.assigned(later)
        else:
            return _reads_first(program, later, frozenset(copied), depth=1)
    return False


def _only_copies(stmt: ast.stmt | None) -> bool:
    """Whether a statement gives names to copies, and does no more."""
    values = stmt.value.elts if isinstance(stmt, ast.Assign) and isinstance(stmt.value, ast.Tuple) else [
        stmt.value if isinstance(stmt, ast.Assign) else None]  # fmt: skip
    return all(isinstance(one, ast.Call) and called(one) in ("to", "cuda") for one in values)


def _reads_first(program: Program, stmt: ast.stmt, copied: frozenset[str], depth: int) -> bool:
    """Whether a simple statement takes what is ``copied`` back to the host."""
    for node in enclosing.simple(stmt):
        if isinstance(node, ast.Name) and node.id in copied and _is_read_as_it_is(program, node):
            return True
        if isinstance(node, ast.Call) and depth:
            for entered in call_graph.entered(program, node):
                names = zip(entered.positions, node.args, strict=False)
                given = frozenset(name for name, one in names if isinstance(one, ast.Name) and one.id in copied)
                body = entered.node.body if isinstance(entered.node, FunctionDefinition) else []
                code = [one for one in body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))]
                if given and code and _reads_first(program, code[0], given, depth - 1):
                    return True
    return False


def _is_read_as_it_is(program: Program, name: ast.Name) -> bool:
    """Whether a tensor is read on the host, itself or what its own methods and arithmetic make of it: ``(x *
    255).cpu()``, and not what a model does."""
    child: ast.AST = name
    for above in enclosing.ancestors(program, name):
        match above:
            case ast.Attribute(attr=attr):
                model = program.models.get(f"torch.Tensor.{attr}")
                if model.has("Read", "Array") or attr == "cpu":
                    return True
                if not model.has("Fresh", "View", "Cast"):
                    return False
            case ast.Call(func=func) if func is not child:
                return False
            case ast.Call() | ast.BinOp() | ast.UnaryOp():
                pass
            case _:
                return False
        child = above
    return False


PARTS = frozenset({"keys", "values", "items"})
"""Methods of a batch that is a dict, through which a loop goes over its tensors."""


@feature("copies without work beside them", True)
def delays(program: Program, transfer: Transfer) -> bool:
    """Whether batch after batch is copied, with something else to do meanwhile."""
    loops = call_graph.repeating(program, transfer.call)
    repeated = any(not _is_over_one_batch(program, loop) for loop in loops)
    return repeated and not is_read_at_once(program, transfer.call) and not is_read_next(program, transfer)


def _is_over_one_batch(program: Program, loop: LoopNode) -> bool:
    """Whether a loop goes over the tensors of a batch."""
    if isinstance(loop, ast.While):
        return False
    over = loop.iter
    if isinstance(over, ast.Call) and isinstance(over.func, ast.Attribute) and over.func.attr in PARTS:
        over = over.func.value
    return any(isinstance(one, Batch) for one in alternatives(program.value(over)))
