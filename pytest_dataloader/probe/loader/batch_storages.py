"""Where the tensors of a batch lie in memory, and how much of it crosses to another process by which way."""

from __future__ import annotations

import contextlib
import pickle
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.internals import torch_private
from pytest_dataloader.probe.loader.referents import is_object_array

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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


@dataclass(frozen=True, slots=True)
class BatchWeight:
    """Bytes of a batch on its way: each storage crosses whole by shared memory, once, and the rest through a pipe.

    ``tensor_bytes`` are those that tensors show of their storages, ``array_bytes`` those of numpy's arrays among the
    ``piped_bytes``.
    """

    storage_bytes: tuple[int, ...] = ()
    tensor_bytes: int = 0
    piped_bytes: int = 0
    array_bytes: int = 0

    @property
    def shared_bytes(self) -> int:
        """By shared memory in all."""
        return sum(self.storage_bytes)

    @property
    def crossing_bytes(self) -> int:
        """By either way."""
        return self.shared_bytes + self.piped_bytes


def weigh(thing: Any) -> BatchWeight:
    """Weigh a batch, or whatever else is pickled for another process; empty tensors weigh nothing.

    Nothing is copied but what is neither tensor nor array. Raises what pickling the thing raises.
    """
    scale = _scaled(thing)
    shown = sum(min(size, scale.shown[address]) for address, size in scale.storages.items())
    return BatchWeight(tuple(scale.storages.values()), shown, scale.sink.bytes + scale.arrays, scale.arrays)


@dataclass(slots=True)
class CompactCollate:
    """A collate function whose batches have tensors in place of numpy's arrays, and copies in place of tensors that
    show less than half of a storage.
    """

    collate: Callable[[Any], Any]

    def __call__(self, samples: Any) -> Any:
        batch = self.collate(samples)
        scale = _scaled(batch)
        shown_little = {address for address, size in scale.storages.items() if 2 * scale.shown[address] < size}
        return _compact(batch, shown_little, 0)


def _compact(part: Any, shown_little: set[int], depth: int) -> Any:
    import torch

    if isinstance(part, torch.Tensor):
        return part.clone() if shown_little.intersection(storage_addresses(part)) else part
    if type(part).__name__ == "ndarray" and part.dtype.kind in "biuf":
        with contextlib.suppress(TypeError, ValueError):  # a type or strides that torch does not have
            return torch.from_numpy(part if part.flags.writeable else part.copy())
    if depth < _DEPTH and type(part) in (dict, list, tuple):
        pairs = part.items() if isinstance(part, dict) else enumerate(part)
        made = [(key, _compact(value, shown_little, depth + 1)) for key, value in pairs]
        return dict(made) if isinstance(part, dict) else type(part)(value for _, value in made)
    return part


def _scaled(thing: Any) -> _Scale:
    scale = _Scale(_Sink())
    scale.dump(thing)
    return scale


class _Sink:
    """Counts what is written to it."""

    def __init__(self) -> None:
        self.bytes = 0

    def write(self, data: Any) -> int:
        self.bytes += len(data)
        return len(data)


class _Scale(pickle.Pickler):
    """Pickles a thing to nowhere, as a queue does, and notes the storages of the tensors that it meets."""

    def __init__(self, sink: _Sink) -> None:
        super().__init__(sink, protocol=pickle.HIGHEST_PROTOCOL)
        self.sink = sink
        self.storages: dict[int, int] = {}
        self.shown: Counter[int] = Counter()
        self.arrays = 0

    def reducer_override(self, thing: Any) -> Any:
        if type(thing).__name__ == "ndarray" and not is_object_array(thing):
            self.arrays += thing.nbytes
            return int, ()
        if not hasattr(thing, "untyped_storage"):
            return NotImplemented
        for part in torch_private.dense_parts(thing):
            self._note(part)
        return int, ()

    def _note(self, tensor: Any) -> None:
        with contextlib.suppress(NotImplementedError, RuntimeError):  # kinds of tensors that have no storage
            storage = tensor.untyped_storage()
            size = int(storage.nbytes())
            if size and tensor.device.type == "cpu":
                self.storages[storage.data_ptr()] = size
                self.shown[storage.data_ptr()] += tensor.numel() * tensor.element_size()
