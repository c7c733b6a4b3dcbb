"""Whether what a resumed run gives is what the uninterrupted one gave next; pure."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_dataloader.probe.samples.resumption import Batch, Resumed, Stop, Uninterrupted

Key = tuple[tuple[str, str], ...]
Continued = Literal["exact", "repeats", "skips", "differs", "raises", "short"]


@dataclass(frozen=True, slots=True)
class Resumption:
    """One stop and how it went on. ``place`` says where; ``off_by`` counts batches that come again or never.

    ``next_epoch`` says whether the epoch after it was that of the uninterrupted run; None where it was not seen.
    """

    place: str
    outcome: Continued
    off_by: int = 0
    detail: str = ""
    next_epoch: bool | None = None


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


def describe_stop(stop: Stop, run: Uninterrupted) -> str:
    """Where a run was stopped, in words."""
    epoch = f" of epoch {stop.epoch}" if stop.epoch else ""
    if stop.ended:
        return f"after the epoch's end{epoch}"
    last = run.ended[stop.epoch] and stop.batches == len(run.epochs[stop.epoch])
    return f"after {'the last batch' if last else f'batch {stop.batches}'}{epoch}"


def continued(run: Uninterrupted, stop: Stop, resumed: Resumed, parts: frozenset[str]) -> Resumption:
    """Hold a resumed run against the uninterrupted one, by the parts that can be compared."""
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
        return _shifted(place, epoch, stop.batches, first)
    if run.ended[stop.epoch] and len(first) != len(expected) and (len(first) > len(expected) or len(got) > 1):
        outcome: Continued = "short" if len(first) < len(expected) else "differs"
        return Resumption(place, outcome, abs(len(first) - len(expected)), f"{len(first)} batches of {len(expected)}")
    later = got[1] if len(got) > 1 else []
    alike = later == following[: len(later)] if later and following else None
    return Resumption(place, "exact", next_epoch=alike)


def _next(place: str, epoch: Sequence[Key], following: Sequence[Key], got: Sequence[Sequence[Key]]) -> Resumption:
    """What follows a finished epoch: another whole one, whose order may be its own."""
    if not got:
        return Resumption(place, "short", len(epoch), "no batch comes any more")
    alike = list(got[0]) == list(following[: len(got[0])])
    return Resumption(place, "exact", next_epoch=alike if following else None)


def _shifted(place: str, epoch: Sequence[Key], at: int, got: Sequence[Key]) -> Resumption:
    length = min(2, len(got))
    for shift in itertools.chain(range(at - 1, -1, -1), range(at + 1, len(epoch))):
        if list(epoch[shift : shift + length]) == list(got[:length]):
            return Resumption(place, "repeats" if shift < at else "skips", abs(shift - at))
    return Resumption(place, "differs", detail="other batches come")


def _key(batch: Batch, parts: frozenset[str]) -> Key:
    return tuple(sorted((path, content) for path, content in batch.items() if path in parts))
