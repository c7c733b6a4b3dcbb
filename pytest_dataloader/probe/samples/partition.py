"""What the views of all ranks say together: disjoint, complete, of equal length, reshuffled; pure."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

LISTED = 16
"""Padded indices that evidence lists."""


@dataclass(frozen=True, slots=True)
class View:
    """What one rank reads in two epochs: indices in order, or digests where the dataset is iterated, by worker.

    ``error`` says what its code raised. ``seed`` is what its workers would be seeded with; ``largest_batch`` counts
    indices. ``total_size``: samples of all ranks together, by the sampler's own account; 0 where it gives none.
    """

    epochs: tuple[tuple[Any, ...], ...] = ()
    batches: int = 0
    per_worker: tuple[int, ...] = ()
    complete: bool = True
    seed: int = 0
    error: str = ""
    largest_batch: int = 1
    total_size: int = 0


@dataclass(frozen=True, slots=True)
class World:
    """All ranks of one world size. ``padding`` is how many samples are repeated to make the shares equal; ``repeated``
    are repeated beyond that, ``lost`` come on no rank beyond ``dropped``, which drop_last leaves out; ``foreign`` come
    on a rank and not where there is one rank alone, told by what they hold.
    """

    world_size: int
    samples: tuple[int, ...]
    batches: tuple[int, ...]
    padding: int
    padded: tuple[Any, ...]
    repeated: int
    lost: int
    dropped: int
    unsharded: bool
    same_order: bool
    complete: bool
    error: str = ""
    foreign: int = 0

    @property
    def unequal(self) -> bool:
        """Whether ranks have different numbers of batches: those with more wait for the others for ever."""
        return len(set(self.batches)) > 1

    @property
    def clean(self) -> bool:
        """Whether the shares are disjoint and complete."""
        return not (self.repeated or self.lost or self.unsharded or self.error)

    @property
    def incomparable(self) -> bool:
        """Whether what is lost may be what is foreign: a sample that holds its rank, how its batch was padded, or the
        documents packed into it, of which ranks have fewer for the rests that they drop.
        """
        mostly = self.foreign >= min(self.lost, sum(self.samples) / 2)
        return bool(self.lost and self.foreign) and not self.repeated and mostly


def partition(
    views: Sequence[View], whole: Sequence[Any], *, slack: int, drops: bool, pads: int = 0, whole_batches: int = 0
) -> World:
    """Hold the shares of all ranks against ``whole``, what one rank alone reads.

    ``slack`` samples may be repeated to make shares equal, or dropped to the same end; ``pads`` may be repeated by
    shares that are equal, or cut off where each worker's is one of ``whole_batches``, which are of so many samples.
    """
    error = next((view.error for view in views if view.error), "")
    shares = [view.epochs[0] if view.epochs else () for view in views]
    complete = all(view.complete for view in views)
    expected = Counter(whole)
    found = Counter(itertools.chain.from_iterable(shares))
    # A sample that one rank alone does not have is its reader's own: a rank may have a dataset that others do not.
    own = Counter({sample: 1 for sample in found if sample not in expected})
    # A number is no content: one that a rank alone does not give is another sample.
    foreign = sum(found[sample] for sample in own if not isinstance(sample, int))
    more, less = (found - expected - own, expected - found) if complete else (Counter[Any](), Counter[Any]())
    doubled = not whole or not complete or found.total() >= len(views) * expected.total()
    unsharded = len(views) > 1 and not error and doubled and _is_unsharded(views, shares, complete)
    equal = len(set(map(len, shares))) == 1
    if equal and found.total() == views[0].total_size and found.keys() >= expected.keys():
        # It pads each of its groups, and says how many samples that makes.
        slack, less = max(slack, more.total()), Counter()
    most = max(slack, pads) if equal else slack
    padding = more.total() if more.total() <= most and not unsharded else 0
    lost = less.total()
    # Cutting a rest that does not go round is what drop_last does, and what people do by hand.
    cut = whole_batches > 0 and all(read % whole_batches == 0 for view in views for read in view.per_worker)
    dropped = lost if lost <= (most if equal and cut else slack) and (drops or equal) else 0
    first = views[0]
    return World(
        world_size=len(views),
        samples=tuple(map(len, shares)),
        batches=tuple(view.batches for view in views) if complete else (),
        padding=padding,
        padded=tuple(sorted(more, key=str)[:LISTED]) if padding else (),
        repeated=more.total() - padding,
        lost=lost - dropped,
        dropped=dropped,
        unsharded=unsharded,
        same_order=len(first.epochs) == 2 and first.epochs[0] == first.epochs[1] and len(first.epochs[0]) > 1,
        complete=complete,
        error=error,
        foreign=foreign if complete else 0,
    )


def differ(views: Sequence[View]) -> bool:
    """Whether ranks were seen to read different samples, however little of their shares was read."""
    shares = [view.epochs[0] if view.epochs else () for view in views]
    if all(view.complete for view in views):
        return any(Counter(share) != Counter(shares[0]) for share in shares)
    return any(part != parts[0] for parts in _beginnings(views, shares) for part in parts)


def _beginnings(views: Sequence[View], shares: Sequence[Sequence[Any]]) -> list[list[Sequence[Any]]]:
    """What the ranks read first, as far as all of them came: each worker was cut off on its own."""
    begun = zip(*(_of_workers(view, share) for view, share in zip(views, shares, strict=True)), strict=False)
    return [[part[: min(map(len, parts))] for part in parts] for parts in begun]


def _is_unsharded(views: Sequence[View], shares: Sequence[Sequence[Any]], complete: bool) -> bool:
    if not shares[0]:
        return False
    if complete:
        return all(Counter(share) == Counter(shares[0]) for share in shares)
    compared = _beginnings(views, shares)
    alike = all(part == parts[0] for parts in compared for part in parts)
    return alike and len(set(itertools.chain.from_iterable(parts[0] for parts in compared))) > 1


def _of_workers(view: View, share: Sequence[Any]) -> list[Sequence[Any]]:
    """What each worker of a rank read."""
    if sum(view.per_worker) != len(share):
        return [share]
    ends = list(itertools.accumulate(view.per_worker))
    return [share[end - size : end] for size, end in zip(view.per_worker, ends, strict=True)]
