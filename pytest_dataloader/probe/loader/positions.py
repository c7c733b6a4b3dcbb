"""Which samples a reader reads, and where those lie in datasets behind Subset, ConcatDataset and their like."""

from __future__ import annotations

import bisect
import contextlib
import operator
import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.internals import torch_private

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_dataloader.probe.loader.referents import Reach


NAMED_SAMPLES = 8
"""Of a batch, so many are named in a timeline."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to read: dataset indices in order, of how many; ``batches`` where a sampler of the user's makes them."""

    indices: tuple[int, ...] = ()
    universe: int = 0
    batches: tuple[Any, ...] = ()
    iterable: bool = False
    shuffled: bool = True
    note: str = ""
    empty: bool = False
    """Whether the sampler gives nothing to read."""


def length_of(thing: Any) -> int:
    """``len(thing)``, 0 where it has none: a length of the user's may raise whatever it likes."""
    try:
        return len(thing)
    except Exception:
        return 0


def batches_in_epoch(loader: Any) -> int:
    """Batches of an epoch; 0 where unknown. An iterable dataset's ``len(loader)`` would leave a mark on the loader."""
    return 0 if torch_private.reads_by_iteration(loader) else length_of(loader)


def indices_in(given: Any, *, many: bool, size: int = 0) -> Sequence[Any]:
    """The indices in what a sampler gave at a time: ``many`` where it makes batches, of whatever type.

    Without, a dataset may still be asked for many indices at once, which is how batches are read whole: for a list, an
    array, a set of cuts, a slice of the ``size`` that it has. There, a tuple is one index.
    """
    if isinstance(given, slice) and size and not many:
        return range(*given.indices(size)) or (given,)
    return tuple(given) if holds_indices(given, many=many) else (given,)


def count_indices_in(given: Any, *, many: bool) -> int | None:
    """How many samples what a sampler gave at a time asks for; None for a single index without ``many``, which a
    dataset may answer with a whole batch.
    """
    return len(given) if holds_indices(given, many=many) else 1 if many else None


def leading_indices(given: Any, most: int) -> tuple[int, ...]:
    """Up to ``most`` of the integers in what a sampler gave at a time; none where nobody knows what reading it does."""
    if isinstance(given, int):
        return (given,)
    part = given[:most] if type(given) in (list, tuple, range) or getattr(given, "ndim", 0) == 1 else ()
    return flat_indices([part])


def holds_indices(given: Any, *, many: bool) -> bool:
    """Whether what a sampler gave at a time is a container of indices, and no index itself."""
    one = isinstance(given, str | bytes) or (not many and isinstance(given, tuple | Mapping))
    return isinstance(given, Collection) and not one and getattr(given, "ndim", 1) > 0


def draw(universe: int, most: int, seed: int = 0) -> tuple[int, ...]:
    """Distinct positions of ``range(universe)`` in random order, by dice of their own."""
    return tuple(random.Random(seed).sample(range(universe), min(most, universe)))


def flat_indices(batches: Sequence[Any]) -> tuple[int, ...]:
    """The integers in what a sampler yielded, single indices and batches of them."""
    found = []
    for index in (index for batch in batches for index in indices_in(batch, many=True)):
        with contextlib.suppress(TypeError):  # a key of another kind
            found.append(operator.index(index))
    return tuple(found)


def nested_datasets(thing: Any, reach: Reach) -> Iterator[tuple[str, Any, Reach]]:
    """Datasets inside a wrapper that renumbers samples: (step, dataset, reach with that dataset's own positions)."""
    fields = getattr(thing, "__dict__", {})
    if not isinstance(fields, dict):
        return
    if "dataset" in fields and "indices" in fields:
        yield from _subset(fields["dataset"], fields["indices"], reach)
    if "datasets" in fields and "cumulative_sizes" in fields:
        yield from _concatenated(fields["datasets"], fields["cumulative_sizes"], reach)


def _subset(dataset: Any, indices: Any, reach: Reach) -> Iterator[tuple[str, Any, Reach]]:
    size = length_of(indices)
    if not size or size < reach.universe:
        return
    try:
        inner = [None if at is None or not 0 <= at < size else int(indices[at]) for at in reach.positions]
    except (TypeError, ValueError, KeyError, IndexError):
        return
    steps = [abs(int(indices[at + 1]) - int(indices[at])) for at in draw(size - 1, 64)]
    scattered = reach.scattered or sum(step > 8 for step in steps) > len(steps) / 2
    yield ".dataset", dataset, replace(reach, positions=inner, universe=length_of(dataset), scattered=scattered)


def _concatenated(datasets: Any, ends: Any, reach: Reach) -> Iterator[tuple[str, Any, Reach]]:
    if not isinstance(datasets, list | tuple) or len(datasets) != length_of(ends):
        return
    homes = [None if at is None else bisect.bisect_right(ends, at) for at in reach.positions]
    for number, dataset in enumerate(datasets):
        start = ends[number - 1] if number else 0
        inner = [
            at - start if at is not None and home == number else None
            for at, home in zip(reach.positions, homes, strict=True)
        ]
        yield f".datasets[{number}]", dataset, replace(reach, positions=inner, universe=ends[number] - start)
