"""How many samples a batch holds.

The rule, first that applies:

1. map-style dataset: the number of indices that the sampler asked for at a time (where torch makes the batches, a key,
   a tuple or a number is one sample);
2. iterable dataset or StatefulDataLoader with ``batch_size``: the common first dimension of the batch, at most
   ``batch_size``; ``batch_size`` itself where the batch has none;
3. otherwise (``batch_size=None`` of a stream or with single indices, a loader that makes up its own batches): the
   common first dimension of the batch, or one sample where it has none.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sized
from typing import Any, Literal

from pytest_dataloader.probe.loader.positions import count_indices_in

CountedBy = Literal["indices", "batch_size", "first dimension"]


class CountedSampler:
    """A sampler that notes how many samples it asks for at a time; everything else is the wrapped sampler's."""

    def __init__(self, sampler: Iterable[Any], sizes: deque[int | None], *, many: bool) -> None:
        self._sampler = sampler
        self._sizes = sizes
        self._many = many

    def __iter__(self) -> Iterator[Any]:
        self._sizes.clear()
        for indices in self._sampler:
            self._sizes.append(count_indices_in(indices, many=self._many))
            yield indices

    def __len__(self) -> int:
        return len(self._sampler)  # type: ignore[arg-type]  # a sampler without a length raises its own TypeError

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sampler, name)


def count_indices(copy: Any) -> deque[int | None] | None:
    """Have a copied loader note the sizes of its index lists; None where there are no indices to count.

    A size is None where only the batch that comes of the index tells how many samples it holds.

    Not for StatefulDataLoader, which asks the sampler's iterator for its state.
    """
    from torch.utils.data import IterableDataset

    name = "sampler" if vars(copy).get("batch_sampler") is None else "batch_sampler"
    sampler = vars(copy).get(name)
    if sampler is None or hasattr(copy, "state_dict") or isinstance(vars(copy).get("dataset"), IterableDataset):
        return None
    sizes: deque[int | None] = deque()
    vars(copy)[name] = CountedSampler(sampler, sizes, many=name == "batch_sampler")
    return sizes


def first_dimension(batch: object) -> int | None:
    """The length that all parts of a batch share along their first axis; None where they share none.

    >>> first_dimension({"name": ["a", "b"], "size": (3, 4)})
    2
    >>> first_dimension("text") is None
    True
    """
    if isinstance(batch, Mapping):
        parts: list[object] = list(batch.values())
    elif isinstance(batch, list | tuple) and batch and not isinstance(batch[0], int | float | str | bytes):
        parts = list(batch)
    else:
        parts = [batch]
    lengths = {_length(part) for part in itertools.islice(parts, 64)}
    return lengths.pop() if len(lengths) == 1 else None


def _length(part: object) -> int | None:
    shape = getattr(part, "shape", None)
    if shape is not None:
        return int(shape[0]) if len(shape) else None
    if isinstance(part, Mapping):
        return first_dimension(part)
    return len(part) if isinstance(part, list | tuple) else None


def samples_in(batch: Any) -> list[Any]:
    """The samples of a batch that was made whole, by its first dimension; the batch itself where it has none.

    >>> samples_in({"name": ["a", "b"], "size": (3, 4)})
    [{'name': 'a', 'size': 3}, {'name': 'b', 'size': 4}]

    A list of what has no dimension is one of samples.
    """
    if (
        isinstance(batch, list)
        and batch
        and not any(isinstance(each, list) or getattr(each, "shape", ()) for each in batch)
    ):
        return batch
    size = first_dimension(batch)
    return [batch] if size is None else [_sample_at(batch, position) for position in range(size)]


def samples_for(made: Any, asked: int) -> list[Any] | None:
    """The sample of each index in what ``__getitems__`` gave, a list of them or a batch by columns.

    None where that cannot be told. A list of another length than was asked for is one of too few samples, or too many.

    >>> samples_for({"name": ["a", "b"], "size": (3, 4)}, 2)
    [{'name': 'a', 'size': 3}, {'name': 'b', 'size': 4}]
    >>> samples_for(["a", "b"], 3)
    ['a', 'b']
    >>> samples_for({"name": ["a", "b"]}, 3) is None
    True
    """
    rows = samples_in(made) if first_dimension(made) == asked else None
    listed = isinstance(made, Sized) and isinstance(made, Iterable) and not isinstance(made, Mapping | str | bytes)
    if listed and len(made) == asked:
        return None if isinstance(made, tuple) and rows else list(made)  # (inputs, labels) of two samples, or two
    if isinstance(made, list):
        return None if rows else made
    return rows


def _sample_at(batch: Any, position: int) -> Any:
    if isinstance(batch, Mapping):
        return {key: _sample_at(part, position) for key, part in batch.items()}
    if isinstance(batch, list | tuple) and batch and _length(batch[0]) is not None:
        return tuple(_sample_at(part, position) for part in batch)
    return batch[position]


def count_samples(batch: object, batch_size: int | None) -> int:
    """Samples of a batch by rules 2 and 3."""
    seen = first_dimension(batch)
    if batch_size is None:
        return 1 if seen is None else seen
    return batch_size if seen is None else min(seen, batch_size)
