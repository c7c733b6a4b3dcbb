"""The user's own loop over a loader, watched: clocks on its first batches, and the steps between them."""

from __future__ import annotations

import functools
import weakref
from typing import Any

from pytest_dataloader.probe.host.clocks import close_kept_delay
from pytest_dataloader.probe.internals import torch_private, torch_stamps
from pytest_dataloader.probe.internals.envelopes import NEVER, WALL, Moment, stamp_after, stamp_before
from pytest_dataloader.probe.loader.sampling import loaders_inside
from pytest_dataloader.probe.timing.instrumented_run import TRACED, EpochStart, Handout, stamp_log_of
from pytest_dataloader.probe.timing.resident_memory import ResidentMemory


class WatchedLoop:
    """A block in which every iterator that a loader makes has clocks, until a hundred batches were handed out.

    A loader that persistent workers were started for before goes unseen.
    """

    def __init__(self, loader: Any) -> None:
        self.stamp_log = stamp_log_of(loader)
        self.handouts: list[Handout] = []
        self.starts: list[EpochStart] = []
        self.sparse_from: int | None = None
        self.taken: list[tuple[int, int, int, int]] = []
        self.memory = ResidentMemory()
        self._loaders = _with_inner(loader)
        self._made_here: list[weakref.ref[Any]] = []
        """Held by nobody but the loop: one that is left by ``break`` ends its workers."""
        self._at = 0
        self._begun: Moment = NEVER
        self._fresh = True
        self._asked: Moment = NEVER
        self._got: Moment = NEVER

    def __enter__(self) -> WatchedLoop:
        for loader in self._loaders:
            torch_private.watch_iterators(loader, self._made, self._being_made)
        self.stamp_log.open()
        return self

    def __exit__(self, *_raised: object) -> None:
        self._end()

    def _end(self) -> None:
        for loader in self._loaders:
            torch_private.unwatch_iterators(loader)
        self.stamp_log.close()
        for iterator in self._iterators:
            torch_stamps.release(iterator)
        self._made_here.clear()
        close_kept_delay()

    @property
    def _iterators(self) -> list[Any]:
        return [iterator for made in self._made_here if (iterator := made()) is not None]

    def _being_made(self, iterator: Any) -> None:
        self._begin(fresh=True)
        torch_stamps.stamp(iterator, self.stamp_log)
        self._made_here.append(weakref.ref(iterator))

    def _made(self, iterator: Any) -> None:
        torch_stamps.stamp_pinning(iterator)
        torch_stamps.watch_consumer(iterator, self._ask, self._get)
        torch_stamps.watch_reuse(iterator, functools.partial(self._begin, fresh=False))

    def _begin(self, *, fresh: bool) -> None:
        self.stamp_log.epoch += 1
        self._at, self._fresh, self._begun, self._got = 0, fresh, stamp_before(), NEVER

    def _ask(self) -> None:
        self._asked = stamp_before()
        if self._got[WALL]:
            self.taken.append((self.stamp_log.epoch, self._at - 1, self._got[WALL], self._asked[WALL]))

    def _get(self, number: int) -> None:
        self._got = stamp_after()
        if self._at == 0:
            self.starts.append(EpochStart(self.stamp_log.epoch, self._begun[WALL], self._got[WALL], self._fresh))
        else:
            self.handouts.append(Handout(self.stamp_log.epoch, number, self._asked, self._got, early=False, held=0))
        self._at += 1
        workers = [worker for iterator in self._iterators for worker in torch_private.worker_processes(iterator)]
        self.memory.read(self._got[WALL], workers)
        if len(self.starts) + len(self.handouts) >= TRACED:
            self._end()


def _with_inner(loader: Any) -> list[Any]:
    """A loader and those that it holds: accelerate's iterates one inside."""
    found = [loader]
    for each in found:
        found += [inner for inner in loaders_inside(each) if inner not in found]
    return found
