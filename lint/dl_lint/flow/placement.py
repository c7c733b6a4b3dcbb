"""Tensors by where they live: what an operation makes of the placement of its operand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.flow.values import Batch, Tensor

if TYPE_CHECKING:
    import ast

ACCELERATORS = frozenset({"cuda", "xpu", "npu", "hpu", "mlu", "musa", "privateuseone"})
"""Device types that copies go to asynchronously from pinned memory. mps is not one: it shares memory with the host."""

_ON_HOST = frozenset({"batch", "pinned", "pageable", "cpu", "host"})


def computed(operand: Batch | Tensor, node: ast.AST) -> Tensor:
    """New memory where ``operand`` lives: on the host pageable, even if the operand is pinned."""
    where = placement_of(operand)
    return Tensor(operand, "pageable" if where in _ON_HOST else where, node)


def scattered(operand: Batch | Tensor, node: ast.AST) -> Tensor:
    """What may not lie in one piece of the memory of ``operand``, or be new: of the host, no one knows if pinned."""
    return Tensor(operand, "device" if placement_of(operand) == "device" else "unknown", node)


def renewed(operand: Batch | Tensor, node: ast.AST) -> Tensor:
    """The memory of ``operand``, or new memory where that lives, which of the host is pageable."""
    where = placement_of(operand)
    return Tensor(operand, "host" if where in ("batch", "pinned") else where, node)


def _unmoved(operand: Batch | Tensor) -> str:
    """Where the result of ``type(…)`` is, which may be given a type of the device."""
    return "device" if placement_of(operand) == "device" else "unknown"


def placement_of(value: Batch | Tensor) -> str:
    """Where a tensor lives: batch (wherever its loader put it), or as ``Tensor.placement``."""
    return "batch" if isinstance(value, Batch) else value.placement
