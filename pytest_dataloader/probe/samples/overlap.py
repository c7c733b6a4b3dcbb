"""What the ranks of a real job say together of what they read: shared, lost, of unequal length; pure."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pytest_dataloader.probe.samples.share import thin_by_checksum

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_dataloader.probe.samples.share import RankShare

By = Literal["indices", "contents"]

_TELLING = 8
"""Samples that must agree before contents count as shared."""
NATURAL = 0.1
"""Where more of a rank's own contents come again, samples are alike by nature, or drawn with replacement."""
_LISTED = 16


@dataclass(frozen=True, slots=True)
class Overlap:
    """What the ranks of a job have in common; ``by`` what their samples are told apart, and how ``sure`` that is.

    ``pairs`` are ranks that share samples, with how many, the most first. ``padding`` repeats are what makes shares
    equal, ``repeated`` are beyond that; ``lost`` come on no rank, beyond ``dropped``. ``alike``: two ranks read the
    same samples in the same order. ``whole``: every rank reads all that any of them does. ``one_in`` samples were
    compared: where that is more than one, what ranks share or lose is an estimate.
    """

    ranks: tuple[int, ...]
    silent: tuple[int, ...]
    by: By
    sure: bool
    samples: tuple[int, ...]
    batches: tuple[int, ...]
    pairs: tuple[tuple[int, int, int], ...]
    repeated: int
    padding: int
    lost: int
    dropped: int
    alike: bool
    whole: bool
    replaces: bool
    complete: bool
    iterable: bool
    shuffles: bool
    one_in: int
    sampler: str
    dataset: str

    @property
    def unequal(self) -> bool:
        """Whether ranks have different numbers of batches: those with more wait for the others for ever."""
        return len(set(self.batches)) > 1

    @property
    def most_shared(self) -> float:
        """The largest part of a rank's samples that another has as well; 0 where they are too few to say."""
        sizes = dict(zip(self.ranks, self.samples, strict=True))
        return max((n / min(sizes[one], sizes[other]) for one, other, n in self.pairs if n >= _TELLING), default=0.0)


def overlap(shares: Mapping[int, RankShare], world_size: int) -> Overlap:
    """Hold what real ranks read against each other, by index where all index one dataset, else by content."""
    ranked = sorted(shares.items())
    first = ranked[0][1]
    by, sure = _by([share for _, share in ranked])
    told, one_in = _told([share for _, share in ranked], by)
    counts = [Counter(items) for items in told]
    pairs = [
        (ranked[one][0], ranked[other][0], (counts[one] & counts[other]).total() * one_in)
        for one, other in itertools.combinations(range(len(counts)), 2)
    ]
    union = Counter(itertools.chain.from_iterable(counts))  # in how many ranks each comes
    within = 1 - sum(map(len, counts)) / max(1, sum(count.total() for count in counts))
    repeated = sum(times - 1 for times in union.values()) * one_in
    complete = all(share.all_given if by == "indices" else share.all_read for _, share in ranked)
    drops = any(share.drops for _, share in ranked)
    filled_up = first.by_batches and len({share.batches for _, share in ranked}) == 1
    slack = world_size * (first.batch_size if drops or filled_up else 1) - 1
    if by == "contents":  # streams are padded to whole batches of all ranks, by each worker
        each = world_size * first.batch_size * max(1, len(first.contents)) - 1
        slack = each if complete and len({count.total() for count in counts}) == 1 else 0
    padded = complete and by == "indices" and _is_padded(ranked, union, one_in)
    padding = repeated if repeated <= slack or padded else 0
    everybody = complete and by == "indices" and len(ranked) == world_size and all(share.covers for _, share in ranked)
    expected = len(thin_by_checksum(range(first.size), one_in)) if everybody else 0
    lost = max(0, expected - len(union)) * one_in if everybody else 0
    dropped = lost if drops and lost <= slack else 0
    return Overlap(
        ranks=tuple(rank for rank, _ in ranked),
        silent=tuple(rank for rank in range(world_size) if rank not in shares),
        by=by,
        sure=sure,
        samples=tuple(share.counts[by == "contents"] for _, share in ranked),
        batches=tuple(share.batches for _, share in ranked if share.batches is not None),
        pairs=tuple(sorted((pair for pair in pairs if pair[2]), key=lambda pair: -pair[2])[:_LISTED]),
        repeated=repeated - padding,
        padding=padding,
        lost=lost - dropped,
        dropped=dropped,
        alike=_alike([share for _, share in ranked], told, by),
        whole=len(ranked) > 1 and bool(counts[0]) and all(count.keys() == counts[0].keys() for count in counts),
        replaces=within > NATURAL,
        complete=complete,
        iterable=first.iterable,
        shuffles=any(share.shuffles for _, share in ranked),
        one_in=one_in,
        sampler=first.sampler,
        dataset=first.dataset,
    )


def _is_padded(ranked: Sequence[tuple[int, RankShare]], union: Counter[object], one_in: int) -> bool:
    """Whether equal shares hold every sample, and as many together as their sampler says that padding makes."""
    first = ranked[0][1]
    given = [share.counts[0] for _, share in ranked]
    whole = len(union) >= len(thin_by_checksum(range(first.size), one_in))
    return whole and len(set(given)) == 1 and sum(given) == first.total_size


def _by(shares: Sequence[RankShare]) -> tuple[By, bool]:
    """By what the samples of ranks are told apart, and whether what differs by it does differ.

    An index means the same on all ranks only where it leads to the same sample: each may number its own part.
    """
    if not all(share.indices for share in shares):
        return "contents", all(share.steady for share in shares)
    marked = all(share.marks for share in shares)
    if len({(share.size, share.marks if marked else ()) for share in shares}) == 1:
        return "indices", marked
    return "contents", all(share.steady for share in shares)


def _told(shares: Sequence[RankShare], by: By) -> tuple[list[Sequence[object]], int]:
    """What each rank says it reads, all thinned alike, and one in how many that is."""
    indexed = by == "indices"
    one_in = max(share.one_in[0 if indexed else 1] for share in shares)
    items = [share.indices if indexed else tuple(itertools.chain.from_iterable(share.contents)) for share in shares]
    return [thin_by_checksum(each, one_in) for each in items], one_in


def _alike(shares: Sequence[RankShare], told: Sequence[Sequence[object]], by: By) -> bool:
    """Whether two ranks, or a worker of each, read the same samples in the same order."""
    if by == "indices":
        return any(_same_beginning(one, other) for one, other in itertools.combinations(told, 2))
    return any(
        _same_beginning(mine, other)
        for one, two in itertools.combinations(shares, 2)
        for mine, other in itertools.product(one.contents, two.contents)
    )


def _same_beginning(one: Sequence[object], other: Sequence[object]) -> bool:
    length = min(len(one), len(other))
    return length > 0 and one[:length] == other[:length] and len(set(one[:length])) >= min(_TELLING, max(2, len(one)))
