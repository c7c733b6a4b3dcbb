"""Whether what a resumed run gives is what the uninterrupted one gave next, or at least what is left; pure."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_dataloader.probe.samples.resumption import Batch, Resumed, Sample, Stop, Uninterrupted

Key = tuple[tuple[str, str], ...]
"""What tells a sample from others."""
BatchKey = tuple[Key, ...]
Continued = Literal["exact", "reordered", "repeats", "skips", "differs", "raises", "short", "twice", "random_states"]
UNSURE_STOPS = frozenset({"random_states"})
"""Outcomes that are right or wrong by what else a training keeps."""
RIGHT = frozenset({"exact", "reordered"})

_AGAIN = 5
"""Samples that come again where two uninterrupted runs repeat none: one of them can be two rows that are alike."""
_SAME = 0.8
"""Share of the values of a part that two whole epochs have in common: ``drop_last`` leaves out others each time."""


@dataclass(frozen=True, slots=True)
class Resumption:
    """One stop and how it went on. ``place`` says where; ``off_by`` counts batches that come again or never.

    ``next_epoch`` says whether the epoch after it was that of the uninterrupted run; None where it was not seen.
    ``twice`` and ``never`` count samples of the epoch, as far as it was seen. ``again``: what was stopped had been
    resumed itself.
    """

    place: str
    outcome: Continued
    off_by: int = 0
    detail: str = ""
    next_epoch: bool | None = None
    epoch: int = 0
    twice: int = 0
    never: int = 0
    again: bool = False


def stable_parts(one: Uninterrupted, other: Uninterrupted) -> frozenset[str] | None:
    """Paths of the parts of samples that other random states do not change; None where nothing can be compared.

    What is the same in all batches tells none from another.
    """
    pairs = list(zip(one.epochs[0], other.epochs[0], strict=False)) if one.epochs and other.epochs else []
    if not pairs or any(len(ours) != len(theirs) for ours, theirs in pairs):
        return None
    samples = [both for ours, theirs in pairs for both in zip(ours, theirs, strict=True)]
    if not samples:
        return None
    paths = set(samples[0][0])
    for ours, theirs in samples:
        paths = {path for path in paths if path in ours and ours.get(path) == theirs.get(path)}
    told = {_key(batch, frozenset(paths)) for batch in one.epochs[0]}
    return frozenset(paths) if paths and (len(told) > 1 or len(one.epochs[0]) == 1) else None


def identifying_parts(one: Uninterrupted, other: Uninterrupted) -> frozenset[str] | None:
    """Paths of the parts by which a sample is known wherever it comes: two whole epochs in other orders hold the same.

    None where there are none: the samples follow the random state themselves, or are drawn by lot.
    """
    if not (one.ended and other.ended and one.ended[0] and other.ended[0]):
        return None
    ours, theirs = ([sample for batch in run.epochs[0] for sample in batch] for run in (one, other))
    paths = set.intersection(*map(set, ours)) if ours else set()
    kept = [path for path in sorted(paths) if _same_values(ours, theirs, frozenset({path}))]
    whole = frozenset(kept)
    if not kept or _same_values(ours, theirs, whole):
        return whole or None
    return frozenset({max(kept, key=lambda path: len({sample[path] for sample in ours}))})


def _same_values(ours: Sequence[Sample], theirs: Sequence[Sample], paths: frozenset[str]) -> bool:
    one, other = (Counter(_sample_key(sample, paths) for sample in samples) for samples in (ours, theirs))
    return len(one) > 1 and (one & other).total() >= _SAME * max(one.total(), other.total())


def distinct_parts(one: Uninterrupted, other: Uninterrupted) -> tuple[str, ...]:
    """Paths of the parts of which no value comes twice in the first epoch of either run, as far as it went."""
    runs = [[sample for batch in run.epochs[0] for sample in batch] for run in (one, other) if run.epochs]
    paths = set.intersection(*(set(sample) for samples in runs for sample in samples)) if all(runs) else set()
    return tuple(
        path for path in sorted(paths) if all(len({each[path] for each in samples}) == len(samples) for samples in runs)
    )


def overlapping(run: Uninterrupted, stop: Stop, resumed: Resumed, paths: Sequence[str]) -> Resumption | None:
    """Samples that come before a stop and again after it, in a part of an epoch; None for few: none, as far as is seen.

    Each path counts alone: parts that are drawn anew for each sample come never again.
    """
    place, before = describe_stop(stop, run), run.epochs[stop.epoch][: stop.batches]
    if resumed.error:
        return Resumption(place, "raises", detail=resumed.error, epoch=stop.epoch)
    twice = 0
    for path in paths:
        ours, theirs = (
            {sample.get(path) for batch in batches for sample in batch}
            for batches in (before, (resumed.epochs or ((),))[0])
        )
        twice = max(twice, len(ours & theirs))
    return Resumption(place, "twice", epoch=stop.epoch, twice=twice) if twice >= _AGAIN else None


def chosen_stops(run: Uninterrupted) -> list[Stop]:
    """The stops that tell most, those first that differ most from each other: the budget may not do for all."""
    chosen: dict[tuple[int, int, bool], Stop] = {}
    for number, batches in enumerate(run.epochs):
        last = len(batches)
        wanted = {1, last // 2, last - 1, last} if number == 0 else {1, last // 2}
        for stop in run.stops:
            if stop.epoch == number and (stop.batches in wanted or (stop.ended and number == 0)):
                chosen[number, stop.batches, stop.ended] = stop
    beginnings = [stop for stop in chosen.values() if stop.batches == 1]
    endings = [stop for stop in reversed(chosen.values()) if stop not in beginnings]
    return beginnings + endings


def chosen_whole(run: Uninterrupted) -> list[Stop]:
    """Stops in epochs that were run to their ends: in the middle of each, then near the ends of the first."""
    found: dict[tuple[int, int], Stop] = {}
    for stop in run.stops:
        if run.ended[stop.epoch] and 0 < stop.batches < len(run.epochs[stop.epoch]):
            found[stop.epoch, stop.batches] = stop
    chosen: list[Stop] = []
    for epoch, share in ((0, 0.5), (1, 0.5), (0, 0.0), (0, 1.0)):
        there = [stop for stop in found.values() if stop.epoch == epoch and stop not in chosen]
        if there:
            chosen.append(min(there, key=lambda stop: abs(stop.batches - share * len(run.epochs[epoch]))))
    return chosen


def describe_stop(stop: Stop, run: Uninterrupted) -> str:
    """Where a run was stopped, in words."""
    if stop.ended:
        return f"after the end of epoch {stop.epoch + 1}"
    epoch = f" of epoch {stop.epoch + 1}" if stop.epoch else ""
    if stop.earlier:
        return f"twice, after batch {stop.earlier} and after batch {stop.batches}{epoch}"
    last = run.ended[stop.epoch] and stop.batches == len(run.epochs[stop.epoch])
    return f"after {'the last batch' if last else f'batch {stop.batches}'}{epoch}"


def continued(run: Uninterrupted, stop: Stop, resumed: Resumed, parts: frozenset[str]) -> Resumption:
    """Hold a resumed run against the uninterrupted one, by the parts that can be compared."""
    found = _continued(run, stop, resumed, parts)
    twice, never = (0, 0) if found.outcome in ("exact", "raises") else _counts(run, run, stop, resumed, parts)
    return replace(found, epoch=stop.epoch, twice=twice, never=never, again=stop.earlier > 0)


def completed(
    run: Uninterrupted, other: Uninterrupted, stop: Stop, resumed: Resumed, parts: frozenset[str]
) -> Resumption:
    """Hold a resumed run of a loader whose order follows the random state against what the epoch had left.

    ``other`` is a run with other random states: what its epoch holds that the first does not may come as well.
    """
    place = describe_stop(stop, run)
    if resumed.error:
        return Resumption(place, "raises", detail=resumed.error, epoch=stop.epoch)
    rest = [_key(batch, parts) for batch in run.epochs[stop.epoch][stop.batches :]]
    if [_key(batch, parts) for batch in (resumed.epochs or ((),))[0]] == rest:
        return Resumption(place, "exact", epoch=stop.epoch)
    twice, never = _counts(run, other, stop, resumed, parts)
    outcome: Continued = "twice" if twice or never else "reordered"
    return Resumption(place, outcome, epoch=stop.epoch, twice=twice, never=never)


def continued_with_workers(
    run: Uninterrupted, other: Uninterrupted, stop: Stop, resumed: Resumed, parts: frozenset[str]
) -> Resumption | None:
    """Hold what another number of workers made of a state against what was left; ``other`` is a run with that number.

    Where both runs give the same batches, the next ones must come; else, of whole epochs, each sample once more. None
    where the two have too little in common to be compared.
    """
    ours, theirs = ([_key(batch, parts) for batch in each.epochs[0]] for each in (run, other))
    if all(one == another for one, another in zip(ours, theirs, strict=False)):
        return continued(run, stop, resumed, parts)
    one, another = ([sample for batch in each.epochs[0] for sample in batch] for each in (run, other))
    whole = run.ended[0] and other.ended[0] and _same_values(one, another, parts)
    return completed(run, other, stop, resumed, parts) if whole else None


def _continued(run: Uninterrupted, stop: Stop, resumed: Resumed, parts: frozenset[str]) -> Resumption:
    place = describe_stop(stop, run)
    if resumed.error:
        return Resumption(place, "raises", detail=resumed.error)
    epoch = [_key(batch, parts) for batch in run.epochs[stop.epoch]]
    expected = epoch[stop.batches :]
    following = [_key(batch, parts) for batch in run.epochs[stop.epoch + 1]] if len(run.epochs) > stop.epoch + 1 else []
    got = [[_key(batch, parts) for batch in batches] for batches in resumed.epochs]
    if not expected and run.ended[stop.epoch]:
        return _next(place, epoch, following, [each for each in got if each][:1])
    first = got[0] if got else []
    seen = min(len(first), len(expected))
    if first[:seen] != expected[:seen]:
        if stop.batches and run.ended[stop.epoch] and _same(first, epoch):
            return Resumption(place, "repeats", stop.batches, "the whole epoch comes again")
        found = _shifted(place, epoch, stop.batches, first)
        ended = run.ended[stop.epoch] and len(got) > 1 and len(first) != len(expected)
        differing = f"{len(first)} batches come, not the {len(expected)} that were left"
        return replace(found, detail=differing) if ended and found.outcome == "differs" else found
    if run.ended[stop.epoch] and len(first) != len(expected) and (len(first) > len(expected) or len(got) > 1):
        outcome: Continued = "short" if len(first) < len(expected) else "differs"
        return Resumption(place, outcome, abs(len(first) - len(expected)), f"{len(first)} batches of {len(expected)}")
    later = got[1] if len(got) > 1 else []
    alike = later == following[: len(later)] if later and following else None
    return Resumption(place, "exact", next_epoch=alike)


def _same(some: Sequence[BatchKey], others: Sequence[BatchKey]) -> bool:
    """Whether two epochs hold the same samples, in whatever order."""
    one, other = (Counter(itertools.chain.from_iterable(batches)) for batches in (some, others))
    return one == other


def _next(
    place: str, epoch: Sequence[BatchKey], following: Sequence[BatchKey], got: Sequence[Sequence[BatchKey]]
) -> Resumption:
    """What follows a finished epoch: another whole one, whose order may be its own."""
    if not got:
        return Resumption(place, "short", len(epoch), "no batch comes")
    alike = list(got[0]) == list(following[: len(got[0])])
    return Resumption(place, "exact", next_epoch=alike if following else None)


def _shifted(place: str, epoch: Sequence[BatchKey], at: int, got: Sequence[BatchKey]) -> Resumption:
    length = min(2, len(got))
    for shift in itertools.chain(range(at - 1, -1, -1), range(at + 1, len(epoch))):
        if list(epoch[shift : shift + length]) == list(got[:length]):
            detail = f"batch {shift + 1} comes, not batch {at + 1}"
            return Resumption(place, "repeats" if shift < at else "skips", abs(shift - at), detail)
    return Resumption(place, "differs", detail="other batches come")


def _counts(
    run: Uninterrupted, other: Uninterrupted, stop: Stop, resumed: Resumed, parts: frozenset[str]
) -> tuple[int, int]:
    """Samples of a whole epoch that come twice, before a stop and after it, and that never come; at least so many.

    As many as two uninterrupted epochs have not in common may do so in any.
    """
    epoch = run.epochs[stop.epoch]
    if not run.ended[stop.epoch] or stop.batches >= len(epoch) or not resumed.epochs:
        return 0, 0
    whole, like = _samples(epoch, parts), _samples(other.epochs[0], parts) if other is not run else Counter[Key]()
    allowed, between = whole | like, (whole - like).total() if like else 0
    given = _samples((*epoch[: stop.batches], *resumed.epochs[0]), parts)
    twice = sum(max(0, given[key] - often) for key, often in allowed.items())
    ended = len(resumed.epochs) > 1
    never = max(0, whole.total() - (given & allowed).total()) if ended else 0
    return (twice, never) if max(twice, never) > between else (0, 0)


def _samples(batches: Sequence[Batch], parts: frozenset[str]) -> Counter[Key]:
    return Counter(_sample_key(sample, parts) for batch in batches for sample in batch)


def _key(batch: Batch, parts: frozenset[str]) -> BatchKey:
    return tuple(_sample_key(sample, parts) for sample in batch)


def _sample_key(sample: Sample, parts: frozenset[str]) -> Key:
    return tuple(sorted((path, content) for path, content in sample.items() if path in parts))
