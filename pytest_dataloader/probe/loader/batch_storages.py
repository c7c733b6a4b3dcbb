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
        return with_leaves(batch, lambda leaf, _path: _compact(leaf, shown_little))


def _compact(leaf: Any, shown_little: set[int]) -> Any:
    import torch

    if isinstance(leaf, torch.Tensor):
        return leaf.clone() if shown_little.intersection(storage_addresses(leaf)) else leaf
    if type(leaf).__name__ == "ndarray" and leaf.dtype.kind in "biuf":
        with contextlib.suppress(TypeError, ValueError):  # a type or strides that torch does not have
            return torch.from_numpy(leaf if leaf.flags.writeable else leaf.copy())
    return leaf


@dataclass(frozen=True, slots=True)
class EightBits:
    """A tensor of a batch whose values are 256 steps of one size, as of a uint8 image, in numbers of a wider type."""

    path: str
    """In the batch: ``[1]['image']``."""
    type: str
    bytes: int
    uint8_bytes: int


def eight_bit_fields(batch: Any) -> tuple[EightBits, ...]:
    """The tensors of a batch that uint8 would hold, but for a scale and an offset of each channel.

    Certain for the samples looked at, the first two: they must have so many numbers, in so many steps, that no other
    data would by chance.
    """
    found = []
    for path, leaf in leaves_by_path(batch):
        with contextlib.suppress(Exception):  # no tensor, or one whose numbers are elsewhere
            array = leaf.numpy()
            if array.dtype.name in _WIDE and _is_eight_bit(array):
                found.append(EightBits(path, array.dtype.name, array.nbytes, array.size))
    return tuple(found)


_WIDE = ("float32", "float64", "int32", "int64")
_MOST_CHANNELS = 4
_LEAST_NUMBERS = 4096
"""In a channel: fewer could have 256 values because there are no more of them."""
_FEW_STEPS = 16
"""Values from which their spacing says that they are steps; integers from 0 to 255 are themselves."""


def _is_eight_bit(array: Any) -> bool:
    looked = array[:2] if array.ndim and array.shape[0] > _MOST_CHANNELS else array
    if any(sample.min() == sample.max() for sample in looked):
        return False  # a sample of one value says nothing of its type
    axes = [axis for axis, size in enumerate(looked.shape) if size <= _MOST_CHANNELS]
    return any(
        all(_are_steps(looked.take(at, axis)) for at in range(looked.shape[axis])) for axis in reversed(axes)
    ) or _are_steps(looked)


def _are_steps(numbers: Any) -> bool:
    import numpy as np

    flat = numbers.reshape(-1)
    if flat.size < _LEAST_NUMBERS or np.unique(flat[:: flat.size // _LEAST_NUMBERS]).size > 256:
        return False
    values = np.unique(flat)
    if not 1 < values.size <= 256:
        return False
    if values[0] >= 0 and values[-1] <= 255 and (values == values.round()).all():
        return True
    steps = (values - values[0]) / np.diff(values).min()
    return bool(values.size >= _FEW_STEPS and steps[-1] < 255.5 and np.abs(steps - steps.round()).max() < 0.1)


@dataclass(slots=True)
class Uint8Collate:
    """A collate function whose batches have uint8 in some fields: with torch's own, the samples have."""

    collate: Callable[[Any], Any]
    paths: frozenset[str]

    def __call__(self, samples: Any) -> Any:
        from torch.utils.data import default_collate

        if self.collate is default_collate:
            return self.collate([with_leaves(sample, self._narrow) for sample in samples])
        return with_leaves(self.collate(samples), self._narrow)

    def _narrow(self, leaf: Any, path: str) -> Any:
        import numpy as np
        import torch

        if path not in self.paths:
            return leaf
        if isinstance(leaf, torch.Tensor):
            return leaf.to(torch.uint8)
        with np.errstate(invalid="ignore"):  # the values are of no matter
            return leaf.astype(np.uint8)


def leaves_by_path(part: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """What plain containers of a batch or a sample hold, each with its path in it: ``[1]['label']``."""
    if depth < _DEPTH and type(part) in (dict, list, tuple):
        for key, value in part.items() if isinstance(part, dict) else enumerate(part[:_PARTS]):
            yield from leaves_by_path(value, f"{path}[{key!r}]", depth + 1)
    else:
        yield path, part


def with_leaves(part: Any, change: Callable[[Any, str], Any], path: str = "", depth: int = 0) -> Any:
    """A batch or a sample with other leaves: what ``change`` makes of each, given its path in it."""
    if depth < _DEPTH and type(part) in (dict, list, tuple):
        pairs = part.items() if isinstance(part, dict) else enumerate(part)
        made = [(key, with_leaves(value, change, f"{path}[{key!r}]", depth + 1)) for key, value in pairs]
        return dict(made) if isinstance(part, dict) else type(part)(value for _, value in made)
    return change(part, path)


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
