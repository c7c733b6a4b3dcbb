"""What one rank of a real job reads in an epoch, as it tells the others: indices, contents, marks of its dataset."""

from __future__ import annotations

import dataclasses
import itertools
import json
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.host import child_process
from pytest_dataloader.probe.internals import torch_private
from pytest_dataloader.probe.loader import sampling
from pytest_dataloader.probe.loader.positions import length_of
from pytest_dataloader.probe.samples.digests import digest
from pytest_dataloader.probe.samples.generators import seed_child
from pytest_dataloader.probe.samples.provenance import traced

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_INDICES = 32_768
"""Indices, and contents, that a rank tells: half a megabyte. Of more, one in 2, 4, 8... is told, by its checksum, so
that all ranks leave out the same ones."""
_MOST_READ = 100_000
_DIGITS = 12
_MARKS = 8
_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class RankShare:
    """What one rank reads. ``indices`` are what its sampler gives in an epoch (none of a dataset that is iterated);
    ``contents`` are digests of the samples that each of its workers made, in order; ``one_in`` of each is told.

    ``marks`` are digests of a few fixed samples: ranks whose marks agree index one and the same dataset. Empty where
    they could not be read or are never twice the same.
    """

    size: int = 0
    iterable: bool = False
    indices: tuple[Any, ...] = ()
    all_given: bool = False
    batches: int | None = None
    contents: tuple[tuple[str, ...], ...] = ()
    all_read: bool = False
    one_in: tuple[int, int] = (1, 1)
    counts: tuple[int, int] = (0, 0)
    """Of indices and contents, all of them."""
    marks: tuple[str, ...] = ()
    steady: bool = False
    covers: bool = False
    shuffles: bool = False
    drops: bool = False
    batch_size: int = 1
    """Of a batch sampler, that of its largest batch."""
    total_size: int = 0
    """Samples of all ranks together, by the sampler's own account; 0 where it gives none."""
    by_batches: bool = False
    """Whether a sampler shares out whole batches."""
    sampler: str = ""
    dataset: str = ""

    def encode(self) -> str:
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def decode(cls, text: str) -> RankShare:
        fields = json.loads(text)
        lists = {name: tuple(value) for name, value in fields.items() if isinstance(value, list)}
        return cls(**{**fields, **lists, "contents": tuple(map(tuple, fields["contents"]))})


def rank_share(loader: Any, *, seconds: float) -> RankShare:
    """Trace two epochs of a copy of a rank's loader, each cut off after ``seconds``, and its sampler's whole epoch.

    The user's errors come out as they are; raises NotMeasured for a loader that hangs or can be iterated only once.
    """
    iterable = torch_private.reads_by_iteration(loader)
    with traced(loader) as run, sampling.epochs_told(loader) as tell:
        for number in range(2):
            tell(number)
            run.epoch(seconds=seconds, most=_MOST_READ)
        each = run.epochs[0].given.indices
        given = list(itertools.chain.from_iterable(each))
        all_given = run.epochs[0].given.exhausted
        if not iterable and not all_given:
            tell(0)
            given, all_given = run.given_in_full(seconds)
    made = [_by_worker(epoch.samples) for epoch in run.epochs]
    one_in = (1 if iterable else thinning(len(given))), thinning(sum(map(len, made[0])))
    batches = getattr(loader, "batch_sampler", None)
    by_batches = batches is not None and sampling.named_sampler(loader) is batches
    largest = max(map(len, each), default=1) if by_batches else 1
    return RankShare(
        size=0 if iterable else length_of(loader.dataset),
        iterable=iterable,
        indices=() if iterable else thin_by_checksum(given, one_in[0]),
        all_given=all_given,
        batches=None if iterable else _length(torch_private.index_sampler(loader)),
        contents=tuple(thin_by_checksum(of_worker, one_in[1]) for of_worker in made[0]),
        all_read=not run.epochs[0].cut,
        one_in=one_in,
        counts=(len(given), sum(map(len, made[0]))),
        marks=() if iterable else _marks(loader),
        steady=_again(made[0], made[1]),
        covers=_covers(loader),
        shuffles=sampling.shuffles(loader),
        drops=bool(loader.drop_last or getattr(sampling.inner_sampler(loader), "drop_last", False)),
        batch_size=max(getattr(batches, "batch_size", None) or loader.batch_size or 1, largest),
        total_size=sampling.total_size_of(loader),
        by_batches=by_batches,
        sampler=type(sampling.named_sampler(loader)).__name__,
        dataset=type(loader.dataset).__name__,
    )


def thinning(many: int) -> int:
    """One in how many is told: a power of two, so that the coarser of two thinnings is part of the finer."""
    one_in = 1
    while many > MOST_INDICES * one_in:
        one_in *= 2
    return one_in


def thin_by_checksum(items: Sequence[Any], one_in: int) -> tuple[Any, ...]:
    """The items that every rank would tell, in order."""
    return tuple(item for item in items if one_in == 1 or zlib.crc32(str(item).encode()) % one_in == 0)


def _by_worker(entries: Sequence[Any]) -> list[list[str]]:
    found: dict[int, list[str]] = {}
    for entry in entries:
        found.setdefault(entry.worker, []).extend(content[:_DIGITS] for content in entry.digests)
    return [found[worker] for worker in sorted(found)]


def _again(first: list[list[str]], second: list[list[str]]) -> bool:
    """Whether the samples of one epoch come again in the next: contents that change in each tell nothing apart."""
    one, other = (set(itertools.chain.from_iterable(made)) for made in (first, second))
    return bool(one) and 2 * len(one & other) >= min(len(one), len(other))


def _marks(loader: Any) -> tuple[str, ...]:
    """Digests of a few samples, each made with the same random seed on every rank; empty where that is in vain."""
    size = length_of(loader.dataset)
    few = min(_MARKS, size)

    def look() -> tuple[tuple[str, ...], ...]:
        return tuple(tuple(_mark(loader.dataset, each * size // few) for each in range(few)) for _ in range(2))

    read = child_process.ask(look, _SECONDS) if size else None
    return read[0] if read is not None and read[0] == read[1] else ()


def _mark(dataset: Any, index: int) -> str:
    seed_child(1)
    return digest(dataset[index])[:_DIGITS]


def _covers(loader: Any) -> bool:
    """Whether the ranks' samplers are known to give every sample together."""
    from torch.utils.data import DistributedSampler

    return type(sampling.named_sampler(loader)) is DistributedSampler or sampling.expected_indices(loader) is not None


def _length(sampler: Any) -> int | None:
    try:
        return len(sampler)
    except Exception:  # of the user's, which may raise whatever it likes
        return None
