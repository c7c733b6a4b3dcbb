"""Where the tensors of a batch lie in memory."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.internals import torch_private

if TYPE_CHECKING:
    from collections.abc import Iterator

_DEPTH = 4
_PARTS = 256


def storage_addresses(batch: Any) -> Iterator[int]:
    """Where the storage of each tensor of a batch begins."""
    for tensor in tensors(batch):
        with contextlib.suppress(NotImplementedError, RuntimeError):  # kinds of tensors that have no storage
            yield tensor.untyped_storage().data_ptr()


def awaiting_their_turn() -> set[int]:
    """Where the tensors of batches begin that loaders in use hold back, because an earlier one is still to come."""
    early = [batch for iterator in torch_private.live_iterators() for batch in torch_private.early_batches(iterator)]
    return {address for batch in early for address in storage_addresses(batch)}


def arrays_by_address(sample: Any) -> dict[int, Any]:
    """The tensors and arrays of a sample, by where they begin in memory; an image by the address of the object."""
    return {_address(array): array for array in _arrays(sample)}


def _address(array: Any) -> int:
    with contextlib.suppress(NotImplementedError, RuntimeError, AttributeError):  # no memory of its own to be seen
        return int(array.data_ptr() if hasattr(array, "untyped_storage") else array.ctypes.data)
    return id(array)


def tensors(batch: Any) -> Iterator[Any]:
    """The tensors of a batch, those inside containers and objects too; of many, the first."""
    return (array for array in _arrays(batch) if hasattr(array, "untyped_storage"))


def _arrays(batch: Any) -> Iterator[Any]:
    """Tensors, and what else gives its content as bytes."""
    layer = [batch]
    for _ in range(_DEPTH):
        following: list[Any] = []
        for part in layer[:_PARTS]:
            if hasattr(part, "untyped_storage") or hasattr(part, "tobytes"):
                yield part
            elif isinstance(part, dict):
                following += part.values()
            elif isinstance(part, list | tuple):
                following += part
            elif not isinstance(part, str | bytes | int | float) and hasattr(part, "__dict__"):
                following += vars(part).values()
        layer = following
