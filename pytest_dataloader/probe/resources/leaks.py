"""What stays open, and grows: told from what was open whenever nothing was under way; pure."""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from pytest_dataloader.probe.host.descriptors import SEGMENT, TORCH, example, kind
from pytest_dataloader.quantities import counted, plural

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_dataloader.probe.resources.observations import Level, Usage

NAMED_SEGMENT = "named shared-memory segment"
_BY_BATCH = 1.5
"""Rounds read the same batches 1, 2, 3, 1 times: what a batch opens grows by as much, what an epoch opens does not."""
_ENOUGH = 3
"""Growth this often in a row is a leak, and never chance: at rest the same loader has the same number open."""
_SURE = 2
"""Two looks at growth: so much in each, where no connection that comes and goes explains more than one. One look: as
much as there were batches, and twice this."""


LeakPlace = Literal["the main process", "a worker", "/dev/shm"]


@dataclass(frozen=True, slots=True)
class Leak:
    """One sort of thing that is opened again and again: where, how many were seen to stay, and in what rhythm."""

    where: LeakPlace
    sort: str
    count: int
    per: Literal["batch", "epoch", "epoch that is left early"]
    rate: float
    example: str

    def __str__(self) -> str:
        # torch names its own by number.
        example = f", such as {self.example}" if self.sort in ("file", SEGMENT, NAMED_SEGMENT) else ""
        rate = counted(round(self.rate), self.sort) if self.rate >= 1 else f"{self.rate:.2g} {plural(self.sort)}"
        return f"{rate} per {self.per}, in {self.where} ({self.count:,} seen{example})"


@dataclass(frozen=True, slots=True)
class Found:
    """Leaks, and in words what looked like one and may be none."""

    leaks: tuple[Leak, ...]
    unclear: tuple[str, ...] = ()

    def only(self, *sorts: str) -> Found:
        """The leaks of these sorts."""
        return Found(tuple(leak for leak in self.leaks if leak.sort in sorts), self.unclear)

    @property
    def count(self) -> int:
        return sum(leak.count for leak in self.leaks)


def in_main(seen: Usage) -> Found:
    """What rounds leave open in this process, beyond the first, which imports and opens what is opened once."""
    leaks, unclear = [], []
    idle = set(map(kind, seen.idle))
    for sort in _sorts(seen.main):
        leak = _leak("the main process", sort, seen.main)
        if leak is not None and sort in idle:
            unclear.append(f"something else in this process opens a {sort} meanwhile")
        elif leak is not None:
            leaks.append(leak)
    return Found(tuple(leaks), tuple(unclear))


def after_leaving(seen: Usage) -> Found:
    """Segments that epochs left early keep in this process, though each epoch that is read to its end keeps none."""
    if len(seen.main_left_early) < _SURE or not seen.main:
        return Found(())
    levels = [seen.main[-1], *seen.main_left_early]
    found = [leak for sort in (TORCH, SEGMENT) if (leak := _leak("the main process", sort, levels)) is not None]
    epochs = len(seen.main_left_early)
    return Found(tuple(replace(leak, per="epoch that is left early", rate=leak.count / epochs) for leak in found))


def segments_in(targets: Sequence[str]) -> int:
    """How many of these targets are segments of shared memory."""
    return sum(kind(target) in (TORCH, SEGMENT) for target in targets)


def segments_of(level: Level) -> int:
    """Segments that are open or have a name, where one may be both."""
    return max(segments_in(level.targets), len(level.names))


def in_workers(seen: Usage, *, persistent: bool) -> Found:
    """What workers leave open from batch to batch; the worst of them where several do."""
    leaks, unclear = [], []
    for sort in _sorts(seen.workers):
        rows = _by_pid(seen.workers) if persistent else [_longest(seen.workers, functools.partial(_count, sort=sort))]
        found = [leak for row in rows if (leak := _leak("a worker", sort, row)) is not None]
        if not found:
            continue
        worst = max(found, key=lambda leak: leak.count)
        if seen.replayed or sort != "file" or _opens_again(seen.workers, worst):
            leaks.append(worst)
        else:
            unclear.append(f"workers open a file for each new part of the dataset ({worst.count} so far)")
    return Found(tuple(leaks), tuple(unclear))


def by_name(seen: Usage, *, persistent: bool) -> Found:
    """Names that stay in /dev/shm from round to round, or while the workers of one round are alive.

    Of two rounds of a length the one with fewer names counts: on a busy machine Python's resource tracker may not have
    removed yet what workers of the round before had left (one miss in 20 runs of "segments not unlinked" at load 12).
    """
    rows = [seen.main, seen.workers if persistent else _longest(seen.workers, lambda level: -len(level.names))]
    for row in rows:
        levels = _first_of_rounds(row)
        rhythm = _rhythm([(level.batches, len(level.names)) for level in levels])
        if rhythm is not None:
            return Found((Leak("/dev/shm", NAMED_SEGMENT, *rhythm, levels[-1].names[-1]),))
    return Found(())


def _first_of_rounds(levels: Sequence[Level]) -> list[Level]:
    by_round = {level.round: level for level in reversed(levels)}
    return sorted(by_round.values(), key=lambda level: level.batches)


def _sorts(levels: Sequence[Level]) -> list[str]:
    return sorted({kind(target) for level in levels[-4:] for target in level.targets})


def _leak(where: LeakPlace, sort: str, levels: Sequence[Level]) -> Leak | None:
    rhythm = _rhythm([(level.batches, _count(level, sort)) for level in levels])
    return None if rhythm is None else Leak(where, sort, *rhythm, example(levels[-1].targets, sort))


def _count(level: Level, sort: str) -> int:
    return sum(kind(target) == sort for target in level.targets)


def _rhythm(points: Sequence[tuple[int, int]]) -> tuple[int, Literal["batch", "epoch"], float] | None:
    """How many were left open, by batches or epochs, and how many for each; None where it does not keep growing."""
    steps = [(after[0] - before[0], after[1] - before[1]) for before, after in itertools.pairwise(points)]
    if not steps or any(more < _least(batches, len(steps)) for batches, more in steps):
        return None
    count, batches = points[-1][1] - points[0][1], points[-1][0] - points[0][0]
    fewest, most = min(steps), max(steps)
    alike = most[0] < _BY_BATCH * fewest[0]  # of workers that live for an epoch: only batches can tell
    if batches and (alike or most[1] >= _BY_BATCH * fewest[1]):
        return count, "batch", count / batches
    return count, "epoch", count / len(steps)


def _least(batches: int, steps: int) -> int:
    """How much growth from one look to the next is a leak, and no chance."""
    if steps >= _ENOUGH:
        return 1
    return _SURE if steps > 1 else max(batches, 2 * _SURE)


def _by_pid(levels: Sequence[Level]) -> list[list[Level]]:
    """The levels of each worker that lived through several rounds."""
    by_pid: dict[int, list[Level]] = {}
    for level in levels:
        by_pid.setdefault(level.pid, []).append(level)
    return list(by_pid.values())


def _longest(levels: Sequence[Level], size: Callable[[Level], int]) -> list[Level]:
    """One worker for each length of a round, as if it were one worker at several times: the one of the largest size."""
    by_length: dict[int, Level] = {}
    for level in levels:
        known = by_length.get(level.batches)
        if known is None or size(level) > size(known):
            by_length[level.batches] = level
    return [by_length[length] for length in sorted(by_length)]


def _opens_again(levels: Sequence[Level], leak: Leak) -> bool:
    """Whether the same file is open several times over: a cache of handles opens each file once."""
    counted = Counter(levels[-1].targets)
    return counted[leak.example] >= leak.count // 2 > 1
