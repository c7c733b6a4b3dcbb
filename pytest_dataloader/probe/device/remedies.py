"""What would shorten a training step: other ways to load and to copy, each timed in turn with the way it is now."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pytest_dataloader.errors import NotMeasured
from pytest_dataloader.probe.device.evidence import Gain
from pytest_dataloader.probe.device.training_loop import Copying, TrainingLoop
from pytest_dataloader.probe.host import clocks
from pytest_dataloader.probe.loader.settings import LoaderSettings, has_thread_workers, settings_of
from pytest_dataloader.probe.timing.windows import half_width
from pytest_dataloader.probe.tuning.trial import borrow_with

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_dataloader.probe.device.accelerator import AcceleratorKind
    from pytest_dataloader.probe.device.evidence import DeviceUse

_WORTH_TRYING = 0.03
"""Share of a step that a remedy could save at most, from which on it is tried."""
_MOST_WORKERS = 8
_ROUNDS = 4


@dataclass(frozen=True, slots=True)
class LoadingMode:
    """One way to load and to copy; ``copying`` is None where the user's own step copies."""

    settings: LoaderSettings
    pinned: bool
    copying: Copying | None

    @property
    def text(self) -> str:
        """What of it is an argument in code.

        >>> LoadingMode(LoaderSettings(4), True, Copying(non_blocking=True)).text
        'num_workers=4, pin_memory=True, non_blocking=True'
        """
        parts = [f"num_workers={self.settings.num_workers}", f"pin_memory={self.pinned}"]
        if self.copying is not None and self.copying.non_blocking:
            parts.append("non_blocking=True")
        if self.copying is not None and self.copying.prefetched:
            parts.append("copied on a stream of its own")
        return ", ".join(parts)


def way_of(loader: Any, *, copies: bool) -> LoadingMode:
    """How a loader loads now; ``copies`` where we copy its batches, as a loop does that takes no care of it."""
    pinned = bool(loader.pin_memory)
    return LoadingMode(settings_of(loader), pinned, Copying(non_blocking=pinned) if copies else None)


def remedies(loader: Any, now: LoadingMode, seen: DeviceUse) -> Iterator[LoadingMode]:
    """Ways that could be quicker than the present one, by what was seen of it, each with all before it."""
    way = now
    if seen.idle_waiting.value >= _WORTH_TRYING and not has_thread_workers(loader):
        more = min(_MOST_WORKERS, int(clocks.cpus_allowed()), max(2, 2 * now.settings.num_workers))
        if more > now.settings.num_workers:
            way = replace(way, settings=replace(way.settings, num_workers=more))
            yield way
    if seen.copying.value < _WORTH_TRYING:
        return
    if not way.pinned:
        copying = None if way.copying is None else replace(way.copying, non_blocking=True)
        way = replace(way, pinned=True, copying=copying)
        yield way
    if way.copying is not None and not way.copying.prefetched:
        yield replace(way, copying=replace(way.copying, non_blocking=True, prefetched=True))


def gain(
    loader: Any,
    now: LoadingMode,
    other: LoadingMode,
    *,
    kind: AcceleratorKind,
    step: Callable[[Any], object],
    seconds: float,
    rounds: int,
) -> Gain:
    """The step's length under another way beside its present length, timed in turns, so long each."""
    lengths: dict[LoadingMode, list[float]] = {now: [], other: []}
    for number in range(rounds):
        for way in (now, other) if number % 2 == 0 else (other, now):
            with borrow_with(loader, way.settings, pin_memory=way.pinned) as borrowed:
                loop = TrainingLoop(borrowed, kind, step, way.copying)
                loop.warm_up()
                lengths[way].append(loop.time(seconds))
    ratios = [math.log(after / before) for before, after in zip(lengths[now], lengths[other], strict=True)]
    mean = sum(ratios) / len(ratios)
    half = half_width(ratios) if len(ratios) > 1 else math.log(2)
    saved = [1 - math.exp(each) for each in (mean, mean + half, mean - half)]
    code = "DL207" if other.settings.num_workers and not now.settings.num_workers else ""
    before, after = (sum(each) / rounds for each in lengths.values())
    return Gain(other.text, code, before, after, saved[0], (saved[1], saved[2]))


def gains(
    loader: Any,
    now: LoadingMode,
    seen: DeviceUse,
    *,
    kind: AcceleratorKind,
    step: Callable[[Any], object],
    seconds: float,
    quick: bool,
) -> Iterator[Gain]:
    """What each remedy brings, in about ``seconds`` together; what a loader does not take is left out."""
    ways = list(remedies(loader, now, seen))
    rounds = 2 if quick else _ROUNDS
    for way in ways:
        try:
            each = seconds / len(ways) / rounds / 2
            yield gain(loader, now, way, kind=kind, step=step, seconds=each, rounds=rounds)
        except NotMeasured:
            continue
