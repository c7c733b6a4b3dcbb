"""Expressions that take pageable memory to the device: the host waits for that, and for what was queued before."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.project import casts, tensors, transfers
from dl_lint.project.values import Batch, Collection, External, Tensor, alternatives
from dl_lint.source.syntax import Display

if TYPE_CHECKING:
    from dl_lint.project.model import Project

MOVES = frozenset({"to", "cuda"})

_FROM_DATA = frozenset(f"torch.{name}" for name in tensors.FROM_DATA)

_HOST = frozenset({"cpu", "pageable", "pinned", "host"})


def blocks(project: Project, node: ast.AST) -> bool:
    """Whether an expression takes pageable memory to the device, for which the host waits."""
    match node:
        case ast.Call(func=ast.Attribute(attr=name)) if name in MOVES:
            return _copies(project, node)
        case ast.Call(args=(data, *_)) if any(keyword.arg == "device" for keyword in node.keywords):
            return _makes_from_data(project, node, data)
        case ast.Subscript(value=base, slice=index):
            where = [index] if not isinstance(index, Display) or isinstance(index, ast.List) else index.elts
            return project.placement(project.value(base)) == "device" and any(
                _is_of_host(project, one) for one in where
            )
        case _:
            return False


def _copies(project: Project, call: ast.Call) -> bool:
    if not isinstance(call.func, ast.Attribute):
        return False
    move = transfers.transfer(project.evaluator, call, call.func)
    found = alternatives(move.receiver)
    return (
        move.destination == "device"
        and move.asynchronous is False
        and bool(found)
        and all(isinstance(one, Tensor) and _is_pageable(project, one) for one in found)
    )


def _makes_from_data(project: Project, call: ast.Call, data: ast.expr) -> bool:
    """Whether ``torch.tensor([…], device=device)`` makes a tensor on the host first, to copy it to the device."""
    found = alternatives(project.value(call.func))
    named = bool(found) and all(isinstance(one, External) and one.name in _FROM_DATA for one in found)
    on_device = project.placement(project.value(call)) == "device"
    return named and on_device and tensors.is_data(project.evaluator, data)


def _is_of_host(project: Project, index: ast.expr) -> bool:
    """Whether an index is a list or a tensor of the host, which is copied to the device that what it indexes is on."""
    found = alternatives(project.value(index))
    return bool(found) and all(
        (isinstance(one, Collection) and one.kind == "list") or project.placement(one) in _HOST for one in found
    )


def _is_pageable(project: Project, tensor: Tensor) -> bool:
    """Whether a tensor is, or may for all that is known be, of pageable memory, such as ``labels.float()``.

    Also one joined of batches that only the callers know, and ``torch.tensor(…)`` of whatever it is made.
    """
    if tensor.placement == "unknown":
        match tensor.node:
            case ast.Call(func=func) if project.value(func) == External("torch.tensor"):
                return True
            case ast.Call() if isinstance(tensor.source, Tensor) and casts.dtype(project.evaluator, tensor.node):
                return _is_pageable(project, tensor.source)
            case ast.Call(args=(ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts), *_)) if parts:
                return all(isinstance(one, Batch) for part in parts for one in alternatives(project.value(part)))
    return tensor.placement in ("pageable", "host")
