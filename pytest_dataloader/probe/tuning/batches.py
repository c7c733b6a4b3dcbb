"""What is in a batch: how large it is, and whether two are the same."""

from __future__ import annotations

from collections.abc import Mapping


def size_bytes(batch: object) -> int:
    """Bytes of the tensors in a batch, which is what goes through shared memory."""
    size = getattr(batch, "nbytes", None)
    if isinstance(size, int):
        return size
    if isinstance(batch, Mapping):
        return sum(size_bytes(part) for part in batch.values())
    if isinstance(batch, list | tuple):
        return sum(size_bytes(part) for part in batch)
    return 0


def same(one: object, other: object) -> bool:
    """Whether two batches hold the same values; False where that cannot be told."""
    import torch

    if type(one) is not type(other):
        return False
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        return torch.equal(one, other)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return isinstance(one, int | float | str | bytes) and one == other
