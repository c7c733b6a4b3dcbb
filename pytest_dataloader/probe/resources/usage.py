"""A loader run through a few short epochs, left early too, with a look at its descriptors and segments on the way."""

from __future__ import annotations

import contextlib
import functools
import gc
import itertools
import os
import threading
import time
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.host import child_process, clocks, descriptors, process_tree, segments, waits
from pytest_dataloader.probe.internals import torch_private
from pytest_dataloader.probe.loader.batch_storages import storage_addresses
from pytest_dataloader.probe.loader.borrowing import Borrowed, borrow, receive_what_would_stay
from pytest_dataloader.probe.loader.positions import batches_in_epoch
from pytest_dataloader.probe.loader.replay import Replay, replay
from pytest_dataloader.probe.loader.settings import start_method_of, worker_processes_of
from pytest_dataloader.probe.loader.shortening import can_be_shortened
from pytest_dataloader.probe.loader.timeout import Hang, time_limit
from pytest_dataloader.probe.resources import leaks
from pytest_dataloader.probe.resources.garbage_collection import all_objects, small_collections
from pytest_dataloader.probe.resources.observations import Level, Usage
from pytest_dataloader.probe.resources.referrers import referrers
from pytest_dataloader.probe.resources.segment_registry import SegmentRegistry, keep_segment_registry
from pytest_dataloader.probe.resources.shortage import what_ran_out

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_dataloader.probe.host.process_tree import ProcessRegistry
    from pytest_dataloader.probe.host.segments import Segment

ROUNDS = (1, 2, 3, 1)
"""How often each round reads the same batches: what a leak opens grows with them, what a cache opens does not."""
LEFT_EARLY = 2
TELLING_ROUNDS = 2
"""Growth takes two looks."""
_PATIENT = 3
_MOST_STRETCHED = 8.0
TEST_SECONDS = 3.0
"""Rounds of a loader of two forked workers take 0.1 s each; those that are begun after this are left out."""
SHORT_EPOCHS = "short epochs"
"""What ``fds`` hands to ``shm`` in a quick run: what the loader asks for, and what was seen."""
_FILL_SECONDS = 0.5
_TIMEOUT_SECONDS = 60.0
_SHARE_FOR_READING = 0.25
"""Of the time, at most, goes into counting: 0.1 ms for a process of a hundred descriptors."""
_SETTLES = 10
_SETTLE_SECONDS = 0.005
_LOOKS_AT_REST = 4
"""In a row: between being woken and running, a thread is ``R``, but a batch is in no queue for a moment."""
GRACE_SECONDS = 3.0
"""What the manager of torch's named segments waits, 2 s, before it removes what dead processes left."""
CRASH_GRACE_SECONDS = 10.0
"""Workers look for their parent every 5 s; then the manager waits."""


def run_short_epochs(loader: Any, *, seconds: float, leave_early: bool = False) -> Usage:
    """Run the rounds on a copy of the loader, in a forked child where it has no workers.

    ``leave_early``: break out of epochs too, and look what that leaves in /dev/shm.

    Exceptions of the loader come out as they are, but for those that say that descriptors or shared memory ran out.
    """
    if not worker_processes_of(loader) and hasattr(os, "fork"):
        seen = child_process.ask(lambda: _in_child(loader, seconds), seconds + _TIMEOUT_SECONDS)
        if isinstance(seen, Usage):
            return seen
    with keep_registries() as (process_registry, registry):
        return _Run(loader, process_registry, registry, seconds, leave_early=leave_early).run()


def _in_child(loader: Any, seconds: float) -> Usage:
    import torch

    torch.set_num_threads(1)  # the threads of the parent were not forked
    with keep_registries() as (process_registry, registry):
        return _Run(
            loader, process_registry, registry, seconds, leave_early=False
        ).run()  # no worker makes batches ahead


@contextlib.contextmanager
def keep_registries() -> Iterator[tuple[ProcessRegistry, SegmentRegistry]]:
    with process_tree.keep_process_registry() as process_registry, keep_segment_registry() as registry:
        yield process_registry, registry


class _Run:
    def __init__(
        self,
        loader: Any,
        process_registry: ProcessRegistry,
        registry: SegmentRegistry,
        seconds: float,
        *,
        leave_early: bool,
    ) -> None:
        self.loader = loader
        self.leave_early = leave_early
        self.process_registry = process_registry
        self.registry = registry
        self.seconds = seconds * _busyness()
        self.deadline = float("inf")  # set by the first batch: starting workers by spawn takes seconds
        self.seen = Usage(before=descriptors.count_descriptors() or 0)
        self.handed_over: set[str] = set()
        self.at_first = segments.named(None, registry.names)
        self.replay: Replay | None = None
        self.reading_seconds = 0.0
        self.seconds_per_batch = 0.0
        self.restart_seconds = 0.0
        self.began = time.monotonic()
        self.batches_of_workers: dict[int, int] = {}
        self.here: Counter[str] = Counter()
        self.inherited: dict[int, Counter[str]] = {}
        self.forks = start_method_of(loader) == "fork"

    def run(self) -> Usage:
        tick: Callable[[], None]
        with small_collections(), borrow(self.loader) as borrowed:
            self._prepare(borrowed)
            try:
                with time_limit(_TIMEOUT_SECONDS) as tick:
                    self._rounds(borrowed, tick)
            except Hang:
                self.seen.hung = True
                borrowed.close(kill=True)
            except (RuntimeError, OSError) as error:
                self.seen.exhausted = what_ran_out(error)
                if not self.seen.exhausted:
                    raise
                borrowed.close()  # or nothing could be opened to look further
                self._name_holders(borrowed)
        self._settle()
        return self.seen

    def _prepare(self, borrowed: Borrowed) -> None:
        workers = max(1, self.loader.num_workers)
        prefetch = getattr(self.loader, "prefetch_factor", None) or 2
        self.length = workers * (prefetch + 2)  # the queue full, and some; the same number for each worker
        self.seen.batches_in_epoch = batches_in_epoch(self.loader)
        if 0 < self.seen.batches_in_epoch < self.length:
            self.length = max(1, self.seen.batches_in_epoch // workers * workers)
        self.seen.batches_in_round = self.length
        self.replay = replay(borrowed.loader, self.length) if can_be_shortened(self.loader) else None
        self.seen.replayed = self.replay is not None
        if worker_processes_of(self.loader) and start_method_of(self.loader) != "fork":
            first = vars(borrowed.loader)["worker_init_fn"]
            vars(borrowed.loader)["worker_init_fn"] = self.registry.told_to_workers(first)

    def _rounds(self, borrowed: Borrowed, tick: Callable[[], None]) -> None:
        for number, times in enumerate(ROUNDS):
            if number >= TELLING_ROUNDS and time.monotonic() > self.deadline:
                break
            if self._hopeless(number, times):
                break
            if not self._round(borrowed, number, times, tick):
                break
            self.seen.main.append(self._level(number))
        self.seen.rounds = len(self.seen.main)
        self._look_at_idleness()
        self._name_holders(borrowed)
        if self.leave_early and self.seen.rounds >= TELLING_ROUNDS:  # with fewer, nothing could be told of it
            self._leave_early(borrowed, tick)

    def _hopeless(self, number: int, times: int) -> bool:
        """Whether a round that must be read to its end could not be, at twice the pace of those before."""
        expected = self.seconds_per_batch * self.length * times / 2
        return 0 < number < TELLING_ROUNDS and time.monotonic() + expected > self._deadline_of(number)

    def _leave_early(self, borrowed: Borrowed, tick: Callable[[], None]) -> None:
        """Break out of epochs while the queue is full; then take in what workers that persist had under way."""
        for _ in range(LEFT_EARLY):
            self._begin(borrowed, 1)
            for batch in itertools.islice(borrowed.each(), 1):
                self._note_names(batch)
                self.seen.batches += 1
                del batch
            tick()
            self._fill(borrowed, self.length)
            borrowed.leave()
            if torch_private.iterates_its_own_way(self.loader):
                _await_rest(borrowed)
            borrowed.abandon(receiving=False)
            gc.collect()
            self.seen.left.append(len(self._ours_now() - self.at_first))
            self.seen.main_left_early.append(self._level_once_ended(borrowed.iterator))
            if time.monotonic() > self.deadline and not self._grew():  # else it takes a second look
                break
        if borrowed.iterator is not None:  # those that do not persist are gone
            self.seen.drained = receive_what_would_stay(borrowed.iterator)

    def _begin(self, borrowed: Borrowed, times: int) -> None:
        if self.replay is not None:
            self.replay.times = times
        self.here = Counter(descriptors.links().values() if self.forks else ())
        borrowed.begin_epoch()
        self._count(borrowed)

    def _round(self, borrowed: Borrowed, number: int, times: int, tick: Callable[[], None]) -> bool:
        """Whether the round was read to its end."""
        began = time.monotonic()
        self._begin(borrowed, times)
        got, wanted, first = 0, self.length * times, began
        batches = borrowed.each()
        for got, batch in enumerate(itertools.islice(batches, wanted), 1):
            tick()
            self._note_names(batch)
            del batch
            self._count(borrowed)
            if got == 1:
                first = time.monotonic()
                self.restart_seconds = first - began if number else 0.0
                self.deadline = min(self.deadline, first + self.seconds)
                self._fill(borrowed, wanted)
            if got >= self.loader.num_workers and time.monotonic() > self._deadline_of(number):
                break
        self.seen.batches += got
        self.seconds_per_batch = (time.monotonic() - first) / (got - 1) if got > 1 else time.monotonic() - began
        late = got < wanted and time.monotonic() > self._deadline_of(number)
        if not late:
            self._read_workers(borrowed, number, got)
        if next(batches, self) is self:  # the epoch's natural end, which workers that do not persist take as theirs
            borrowed.forget_ended()
        else:
            borrowed.abandon()
        return not late

    def _deadline_of(self, number: int) -> float:
        """The first rounds may take longer, as may workers that start again: without them nothing can be said."""
        return self.deadline + (_PATIENT * self.seconds + self.restart_seconds if number < TELLING_ROUNDS else 0)

    def _note_names(self, batch: Any) -> None:
        """Segments that a batch names belong to whoever takes the batch."""
        created = self.registry.names
        if created:
            self.handed_over |= created & set(_names_in(batch))
            self.seen.handed_over = len(self.handed_over)

    def _count(self, borrowed: Borrowed) -> None:
        now = time.monotonic()
        if self.reading_seconds > _SHARE_FOR_READING * (now - self.began):
            return
        self.seen.peak_main = max(self.seen.peak_main, descriptors.count_descriptors() or 0)
        counts = (descriptors.count_descriptors(worker.pid) or 0 for worker in borrowed.workers)
        self.seen.peak_worker = max(self.seen.peak_worker, *counts, 0)
        self.reading_seconds += time.monotonic() - now

    def _fill(self, borrowed: Borrowed, wanted: int) -> None:
        """Wait until the workers have made all that they may make ahead: no loader holds more at any time."""
        for worker in borrowed.workers:  # where __iter__ is a generator, they began with the first batch
            self.inherited.setdefault(worker.pid or 0, self.here)
        deadline = time.monotonic() + _FILL_SECONDS
        most = min(borrowed.depth, wanted - 1)
        while time.monotonic() < deadline and (ready := borrowed.ready) is not None and ready < most:
            time.sleep(_SETTLE_SECONDS)
        self.reading_seconds = 0.0
        self._count(borrowed)
        held = segments.open_segments()
        for worker in borrowed.workers:
            held |= segments.open_segments(worker.pid)
        ours = {segment for segment in held | self._ours_now() if segment not in self.at_first}
        self.seen.peak_segments = max(self.seen.peak_segments, len({segment.inode for segment in ours}))
        self.seen.peak_bytes = max(self.seen.peak_bytes, segments.total_bytes(ours))

    def _read_workers(self, borrowed: Borrowed, number: int, batches: int) -> None:
        names = tuple(sorted(segment.name for segment in self._ours_now() - self.at_first))
        for worker in borrowed.workers:
            pid = worker.pid or 0
            done = self.batches_of_workers.get(pid, 0) + batches // max(1, self.loader.num_workers)
            self.batches_of_workers[pid] = done
            targets = Counter(_quiet(functools.partial(_targets, pid))) - self.inherited.get(pid, Counter())
            if targets:
                self.seen.workers.append(Level(number, done, pid, tuple(targets.elements()), names))

    def _level(self, number: int) -> Level:
        gc.collect()
        targets = _quiet(_targets)
        names = tuple(sorted(segment.name for segment in self._ours_now() - self.at_first))
        return Level(number, self.seen.batches, os.getpid(), targets, names)

    def _level_once_ended(self, iterator: Any) -> Level:
        """What is open after an epoch that was left early, once threads have had the time to notice.

        Not what workers that persist had handed over before its turn: ``iterator`` drops that as the next epoch begins.
        """
        deadline = time.monotonic() + GRACE_SECONDS
        while True:
            early = [list(storage_addresses(batch)) for batch in torch_private.early_batches(iterator)]
            level = self._level(self.seen.rounds)
            held = [each for each in level.targets if descriptors.kind(each) == descriptors.TORCH]
            kept = Counter(level.targets) - Counter(held[: sum(map(len, early))])
            level = replace(level, targets=tuple(kept.elements()))
            if not self._grew(level) or time.monotonic() > deadline:
                return level
            time.sleep(10 * _SETTLE_SECONDS)

    def _grew(self, level: Level | None = None) -> bool:
        """Whether epochs that were left early keep more batches than those that were read to their end."""
        level = level or self.seen.main_left_early[-1]
        return bool(self.seen.main) and leaks.segments_in(level.targets) > leaks.segments_in(self.seen.main[-1].targets)

    def _look_at_idleness(self) -> None:
        """Whatever opens something now is not the loader."""
        if len(self.seen.main) < 2:
            return
        last = self.seen.main[-1].targets
        if len(last) <= len(self.seen.main[0].targets):
            return
        time.sleep(min(0.5, (time.monotonic() - self.began) / self.seen.rounds))
        now = list(descriptors.links().values())
        for target in last:
            if target in now:
                now.remove(target)
        self.seen.idle = tuple(now)

    def _name_holders(self, borrowed: Borrowed) -> None:
        kept = leaks.in_main(self.seen).only(descriptors.TORCH).leaks or leaks.by_name(self.seen, persistent=True).leaks
        if kept or self.seen.exhausted:
            with all_objects():
                self.seen.kept_by = referrers({"loader": borrowed.loader, "loader.dataset": borrowed.loader.dataset})

    def _ours_now(self) -> set[Segment]:
        """Segments with a name in /dev/shm that this process or one that it started has made and not handed over."""
        found = segments.named({os.getpid(), *self.process_registry.pids}, self.registry.names)
        # Where batches name segments, those of batches that were made and never received cannot be told from a leak.
        handed = self.registry.names if self.handed_over else self.handed_over
        return {segment for segment in found if segment.name not in handed}

    def _settle(self) -> None:
        """Wait until what ends by itself has ended, then take down what remains."""
        patient = self.seen.hung or self.seen.exhausted
        deadline = time.monotonic() + (CRASH_GRACE_SECONDS if patient else GRACE_SECONDS)
        gc.collect()
        while (left := self._left()) and time.monotonic() < deadline:
            time.sleep(10 * _SETTLE_SECONDS)
        self.seen.remaining = tuple(sorted(left, key=lambda segment: segment.name))

    def _left(self) -> set[Segment]:
        inodes = {segment.inode for segment in self.at_first}
        return {segment for segment in self._ours_now() if segment.inode not in inodes}


def _await_rest(borrowed: Borrowed) -> None:
    """Wait until threads of the loader's own hold all that they will: one that is behind when its workers end drops it.

    After a ``break`` the workers go on for such a thread.
    """
    deadline, looks = time.monotonic() + GRACE_SECONDS, 0
    while looks < _LOOKS_AT_REST and time.monotonic() < deadline:
        pids = [os.getpid(), *(worker.pid or 0 for worker in borrowed.workers)]
        looks = looks + 1 if borrowed.all_made and waits.at_rest(*pids, without=threading.get_native_id()) else 0
        time.sleep(_SETTLE_SECONDS)


def _busyness() -> float:
    """How many processes want each CPU: a budget of seconds is worth as much less."""
    if not hasattr(os, "getloadavg"):
        return 1.0
    return min(_MOST_STRETCHED, max(1.0, os.getloadavg()[0] / clocks.cpus_allowed()))


def _targets(pid: int | None = None) -> tuple[str, ...]:
    return tuple(descriptors.links(pid).values())


def _quiet(look: Callable[[], tuple[str, ...]]) -> tuple[str, ...]:
    """The least that is open within a few looks: connections that hand a segment over come and go."""
    least = look()
    for _ in range(_SETTLES):
        time.sleep(_SETTLE_SECONDS)
        now = look()
        if len(now) >= len(least):
            break
        least = now
    return least


def _names_in(batch: Any, depth: int = 3) -> Iterator[str]:
    if isinstance(batch, str):
        yield batch.removeprefix("/")
    elif isinstance(batch, dict) and depth:
        for value in batch.values():
            yield from _names_in(value, depth - 1)
    elif isinstance(batch, list | tuple | set) and depth:
        for value in batch:
            yield from _names_in(value, depth - 1)
    elif isinstance(getattr(batch, "name", None), str):  # a SharedMemory
        yield batch.name.removeprefix("/")
