"""Memory of a worker that reference cycles alone hold: what its collector gives back, and how seldom it comes."""

from __future__ import annotations

import gc
import statistics
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.host.allocator import BLOCK, Allocated, allocated

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

LARGE_CYCLES = 32 << 20
"""Bytes in cycles at a time, in one worker, from which they are a fault by themselves: of 131 kinds of
``benchmarks/memory_calibration.py`` two have any, 0.16 MB at most; decoded pictures of 150 kB, each in a cycle of ten
objects, come to 10 MB."""
_FEW_COLLECTIONS = 3
"""Automatic collections in what was read from which the most that one gave back is the peak; below it is predicted."""
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Collected:
    """What the garbage collector gave back while so many samples and batches were read, and in one run at most.

    ``automatic``: how often it came by itself; ``interval``: after how many more objects it comes, 0 for never.
    """

    samples: int = 0
    batches: int = 0
    objects: int = 0
    freed_bytes: int = 0
    most_bytes: int = 0
    automatic: int = 0
    interval: int = 0
    reachable_bytes: int = 0
    """Allocated since the reader began, and still there once the collector has been."""


@dataclass(frozen=True, slots=True)
class ReferenceCycles:
    """Memory that nothing but cycles of references keeps in a worker: ``peak_bytes`` at a time, until the collector
    comes, after so many samples (0: never in an epoch). ``reachable_bytes`` is what remains after it has been.
    """

    peak_bytes: int = 0
    bytes_per_sample: float = 0.0
    samples_between_collections: int = 0
    reachable_bytes: int = 0
    types: tuple[str, ...] = ()
    """Of the objects in the cycles, the most frequent first."""


NO_CYCLES = ReferenceCycles()


class Collector:
    """Listens to the garbage collector of this process, for ever: for forked children alone."""

    def __init__(self) -> None:
        self._began = self._before = allocated()
        self._objects = self._freed = self._most = self._runs = 0
        gc.callbacks.append(self._hear)

    def _hear(self, phase: str, told: Mapping[str, int]) -> None:
        if phase == "start":
            self._before = allocated()
            return
        freed = _bytes(self._before) - _bytes(allocated())
        self._objects += told["collected"]
        self._freed += max(0, freed)
        self._most = max(self._most, freed)
        self._runs += 1

    def collect(self, samples: int, batches: int) -> Collected:
        """Run the collector, and tell what it has given back since it was last asked."""
        gc.collect()
        told = Collected(
            samples,
            batches,
            self._objects,
            self._freed,
            self._most,
            self._runs - 1,
            gc.get_threshold()[0] if gc.isenabled() else 0,
            max(0, _bytes(allocated()) - _bytes(self._began)),
        )
        self.forget()
        return told

    def forget(self) -> None:
        """Begin anew: what was given back so far is of something else than reading."""
        self._objects = self._freed = self._most = self._runs = 0


def _bytes(seen: Allocated) -> int:
    return max(0, seen.blocks) * BLOCK + max(0, seen.malloc_bytes)


def cycles_of(windows: Sequence[Collected], samples_of_epoch: float) -> ReferenceCycles:
    """What cycles cost a worker that reads so many samples in an epoch; nothing, unless every window of samples had
    some in each batch: what imports and first calls leave comes once.
    """
    if not windows or not all(0 < seen.batches <= seen.objects and seen.samples > 0 for seen in windows):
        return NO_CYCLES
    each = statistics.median(seen.freed_bytes / seen.samples for seen in windows)
    objects = statistics.median(seen.objects / seen.samples for seen in windows)
    last = windows[-1]
    between = last.interval / objects if last.interval else 0.0
    seen_at_once = max(seen.most_bytes for seen in windows)
    if sum(seen.automatic for seen in windows) < _FEW_COLLECTIONS:
        span = min(between or samples_of_epoch, samples_of_epoch or between)
        seen_at_once = max(seen_at_once, round(each * span))
    return ReferenceCycles(seen_at_once, round(each, 1), round(between), last.reachable_bytes)


def types_of(garbage: Iterable[Any]) -> tuple[str, ...]:
    """The types of objects in cycles, the most frequent first; those of the language only where there are no others."""
    kinds = Counter(type(thing) for thing in garbage)
    told = [kind for kind, _ in kinds.most_common() if kind.__module__ != "builtins"]
    return tuple(kind.__qualname__ for kind in (told or [kind for kind, _ in kinds.most_common()])[:_NAMED])


def garbage_now() -> tuple[str, ...]:
    """The types of what the collector finds in this process now. The garbage itself is given back."""
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        gc.collect()
        return types_of(gc.garbage)
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.collect()
