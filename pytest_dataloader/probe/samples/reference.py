"""What a dataset gives when one process reads it: read in a forked child, which leaves the user's as it is."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.host import child_process
from pytest_dataloader.probe.internals import torch_private
from pytest_dataloader.probe.loader.counting import samples_for, samples_in
from pytest_dataloader.probe.loader.sampling import fetches_batches, what_takes_epochs
from pytest_dataloader.probe.samples.digests import digest
from pytest_dataloader.probe.samples.generators import seed_child

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST_REREAD = 64
"""Samples that are read again, to see which of them hold still and which follow the epoch."""


@dataclass(frozen=True, slots=True)
class Reference:
    """Digests in the order read: of epoch 0; again, with other random seeds; of epoch 1, with the seeds of epoch 0.

    ``complete`` where the dataset was read to its end. Indexed datasets are read at the indices given; ``random`` are
    those of them at which another random seed gives another sample.
    """

    first: tuple[str, ...]
    again: tuple[str, ...]
    next_epoch: tuple[str, ...]
    complete: bool
    random: frozenset[Any] = frozenset()

    @property
    def steady(self) -> bool:
        """Whether random seeds change nothing."""
        return self.again == self.first[: len(self.again)]

    @property
    def follows_epoch(self) -> bool:
        """Whether being told the epoch changes what is read."""
        return self.steady and self.next_epoch != self.first[: len(self.next_epoch)]


def read_alone(loader: Any, indices: Sequence[Any] | None, *, most: int, seconds: float) -> Reference | None:
    """Read a dataset in one process; None where that cannot be done (no fork, an error, too slow to begin)."""

    def read() -> Reference:
        first, complete = _read(loader, indices, 0, 1, most, seconds)
        few = len(first) if indices is None else min(_MOST_REREAD, len(first))
        again, _ = _read(loader, indices, 0, 2, few, seconds / 2)
        other, _ = _read(loader, indices, 1, 1, few, seconds / 2)
        return Reference(first, again, other, complete)

    return child_process.ask(read, 6 * seconds + 1)  # type: ignore[no-any-return]  # what read returns


def random_among(loader: Any, indices: Sequence[Any], *, seconds: float) -> frozenset[Any]:
    """Those of the indices at which another random seed gives another sample, and those that were not read for it where
    there are such: a few samples may be drawn at random where others are not, as a broken one is replaced.
    """
    seen = read_alone(loader, indices, most=len(indices), seconds=seconds)
    if seen is None or seen.steady:
        return frozenset()
    varying = [index for index, one, other in zip(indices, seen.first, seen.again, strict=False) if one != other]
    return frozenset([*varying, *indices[len(seen.again) :]])


def _read(
    loader: Any, indices: Sequence[Any] | None, epoch: int, seed: int, most: int, seconds: float
) -> tuple[tuple[str, ...], bool]:
    seed_child(seed)
    for part in what_takes_epochs(loader).values():
        part.set_epoch(epoch)
    deadline = time.monotonic() + seconds
    if indices is not None and torch_private.reads_by_iteration(loader):
        raise TypeError("an iterable dataset has no indices")
    source = iter(loader.dataset) if indices is None else read_at(loader, indices)
    whole = torch_private.iterates_batches(loader)
    found: list[str] = []
    read = 0
    for read, sample in enumerate(itertools.islice(source, most), 1):  # noqa: B007  # how many is told below
        found += map(digest, samples_in(sample) if whole else (sample,))
        if time.monotonic() > deadline:
            return tuple(found), False
    return tuple(found), read < most or indices is not None


def read_at(loader: Any, indices: Sequence[Any]) -> Iterator[Any]:
    """The samples at indices, asked for as torch does: in batches of a dataset with ``__getitems__``, else singly."""
    if not fetches_batches(loader):
        yield from (loader.dataset[index] for index in indices)
        return
    size = loader.batch_size or 1
    for start in range(0, len(indices), size):
        asked = list(indices[start : start + size])
        made = loader.dataset.__getitems__(asked)
        samples = samples_for(list(made) if isinstance(made, Iterator) else made, len(asked))
        if samples is None or len(samples) != len(asked):
            raise ValueError("__getitems__ does not answer for each index")
        yield from samples
