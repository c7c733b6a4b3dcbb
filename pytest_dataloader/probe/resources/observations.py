"""What a run of short epochs gathers, before anybody judges it: levels at rest, and peaks on the way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_dataloader.probe.host.segments import Segment
    from pytest_dataloader.probe.resources.referrers import Referrer


@dataclass(frozen=True, slots=True)
class Level:
    """What is open when nothing is under way: in a worker that has sent its last batch of a round, or in this process
    once the round has ended. ``batches`` are those that the process has handled since it began.
    """

    round: int
    batches: int
    pid: int
    targets: tuple[str, ...]
    names: tuple[str, ...] = ()


def most_by_round(levels: Iterable[Level]) -> tuple[int, ...]:
    """How many were open in each round, in the process that then had most of them."""
    found: dict[int, int] = {}
    for level in levels:
        found[level.round] = max(found.get(level.round, 0), len(level.targets))
    return tuple(found[number] for number in sorted(found))


@dataclass(slots=True)
class Usage:
    """What was seen. Counts of descriptors are of one process, segments are of the process tree."""

    before: int = 0
    peak_main: int = 0
    peak_worker: int = 0
    peak_segments: int = 0
    peak_bytes: int = 0
    main: list[Level] = field(default_factory=list)
    main_left_early: list[Level] = field(default_factory=list)
    """In this process after each epoch that was left early."""
    workers: list[Level] = field(default_factory=list)
    idle: tuple[str, ...] = ()
    """What was opened in this process while the loader stood still."""
    remaining: tuple[Segment, ...] = ()
    left: list[int] = field(default_factory=list)
    """Segments with a name after each epoch that was left early."""
    drained: bool = False
    """Whether all that workers that persist had under way was taken in before they were shut down."""
    rounds: int = 0
    batches: int = 0
    batches_in_epoch: int = 0
    batches_in_round: int = 0
    replayed: bool = False
    handed_over: int = 0
    kept_by: tuple[Referrer, ...] = ()
    exhausted: str = ""
    """What ran out, in torch's own words."""
    hung: bool = False
