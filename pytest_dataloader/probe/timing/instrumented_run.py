"""A borrowed loader with clocks on some of its batches, and a consumer that takes its time."""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import random
import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.host.clocks import close_kept_delay, thread_cpu_ns, wall_ns
from pytest_dataloader.probe.internals import torch_private, torch_stamps
from pytest_dataloader.probe.internals.envelopes import (
    CPU,
    DELAY,
    MOST_NAMED,
    NEVER,
    WALL,
    Moment,
    StampLog,
    between,
    stamp_after,
    stamp_before,
    stamp_cheap,
)
from pytest_dataloader.probe.loader.batch_storages import BatchWeight, EightBits, eight_bit_fields, tensors, weigh
from pytest_dataloader.probe.loader.borrowing import Borrowed
from pytest_dataloader.probe.loader.counting import count_samples
from pytest_dataloader.probe.loader.positions import NAMED_SAMPLES, count_indices_in, leading_indices, length_of
from pytest_dataloader.probe.timing.resident_memory import ResidentMemory
from pytest_dataloader.probe.timing.training_step import Steps

if TYPE_CHECKING:
    from collections.abc import Callable

_STAMPS_NS = 900_000
_STAMPS_HERE_NS = 230_000
"""CPU time that stamping one batch costs the main process and a worker together; without workers. With 3.3 ms of other
work between two batches, whose caches are cold then, 1.0 to 1.2 ms (twelve pairs of instrumented and bare loaders at
each of four rates, +- 0.15 ms; reading a thread's times by a bare descriptor has since made it less); in a hot loop
60 us."""
_OVERHEAD = 0.003
"""Share of a batch's time that stamps may take: of batches of 3 ms one in 100 is timed, of those of 0.3 s each."""
_FIRST = 12
"""Batches of each worker that are all timed, so that there are some in a short run."""
TRACED = 100
"""As many in a row are timed for a trace."""
_TIMED = 16
"""Where batches are pulled one by one, the time of one in so many is taken."""
_SMOOTHING = 0.2
_LONG, _LONG_NS = 4.0, 30_000_000
"""A wait for a batch that is so many times as long as others, and so long, may be that for a slow sample."""
_MOST_SLOW = 8
BRIEF_NS = 200_000
"""Waits that differ by less are alike."""


@dataclass(frozen=True, slots=True)
class Handout:
    """One batch as the consumer got it."""

    epoch: int
    number: int
    """-1 where the loader hands out batches as they come, or has no workers."""
    asked: Moment
    got: Moment
    early: bool
    """Whether it lay ready because it had come before its turn."""
    held: int
    """Later batches that lay ready when it was handed out."""

    @property
    def blocked_ns(self) -> int:
        """Time in which the consumer neither worked nor waited for a CPU."""
        wall, cpu, _, delay = between(self.asked, self.got)
        return max(0, wall - cpu - delay)


@dataclass(frozen=True, slots=True)
class EpochStart:
    """How an epoch began: wall clock when it was asked for, and when the first batch was there."""

    epoch: int
    asked_ns: int
    first_ns: int
    fresh: bool
    """Whether its workers were started for it; without workers, whether it is the first."""
    delay_ns: int = 0
    """Of this time, what the main process waited for a CPU."""


def stamp_log_of(loader: Any) -> StampLog:
    """An empty log for a loader's batches, which knows how many samples an index of it asks for, and which."""
    return StampLog(
        functools.partial(count_indices_in, many=torch_private.reads_batches(loader)),
        name=functools.partial(leading_indices, most=NAMED_SAMPLES),
    )


class InstrumentedLoader(Borrowed):
    """Pulls as ``Borrowed`` does; one batch in ``stride`` is timed, so that this costs less than 1 % of CPU time.

    Which one is drawn: with a fixed step the timed ones could all be those that, say, each eighth file makes slow.
    """

    def __init__(
        self,
        loader: Any,
        *,
        in_process: bool = False,
        step_ms: float | None = None,
        step: Callable[[Any], object] | None = None,
        traced: bool = False,
    ) -> None:
        self.stamp_log = stamp_log_of(loader)
        self.handouts: list[Handout] = []
        self.starts: list[EpochStart] = []
        self.ending_ns: dict[int, int] = {}
        """By epoch that ended: from asking for one more batch to being told that there is none."""
        self.pulling_cpu_ns = 0
        """Of the consuming thread, first batches of epochs left out."""
        self.pulled = 0
        """Batches that these were spent on."""
        self.waited_ns = 0
        """What a consumer of ``step_ms`` waited for batches, without waiting for a CPU."""
        self.wall_waited_ns = 0
        self.waits = 0
        self.slow: list[tuple[float, list[Any]]] = []
        """Waits that were much longer than others: nanoseconds, and the indices of the batches that were waited for."""
        self.stride = 1
        self.sparse_from: int | None = None
        """The epoch from which not every batch was timed any more."""
        self.taken: list[tuple[int, int, int, int]] = []
        """The first steps: epoch, number of the batch, wall clock before and after."""
        self.memory = ResidentMemory()
        """Looked at while every batch is timed for a trace."""
        self.step_ns: float = 0 if step_ms is None else int(step_ms * 1e6)
        """What a step takes: as given, or the mean of those that were taken."""
        self.steps: Steps | None = None
        if step is not None:
            self.steps, self.step_ns = Steps(step), 1
        self._batch: list[Any] = []
        """The one that the next step is given, where there is a step; none once the epoch has ended."""
        self.tensors = self.tensor_bytes = 0
        """Of the first batch."""
        self.weight = BatchWeight()
        """The same, by the ways that it goes."""
        self.eight_bit_fields: tuple[EightBits, ...] = ()
        self._period_ns = 0.0
        self._spent_ns = 0.0
        self._working_ns = self._worked = 0
        self._due: deque[int] = deque()
        self._stamp_at = 0
        """While this batch is waited for, the one asked for gets clocks."""
        self._draw = random.Random(0)
        self._at = 0
        self._size = 1.0
        self._sized = [0, 0]
        self._epoch_batches = 0
        self._asked: Moment = NEVER
        self._known: list[int | None] = []
        self._late_ns = 0
        self._least_wait_ns: int | None = None
        self._traced = traced
        super().__init__(loader, in_process=in_process)

    @property
    def pins(self) -> bool:
        """Whether batches are copied to pinned memory."""
        return any(torch_private.pins(iterator) for iterator in self._made[-1:])

    @property
    def in_order(self) -> bool:
        """Whether batches are handed out in the order in which they were asked for."""
        return bool(getattr(self.loader, "in_order", True))

    @property
    def batches_per_epoch(self) -> int:
        """Of an epoch that ended, else what the loader's length promises; 0 where that is not known."""
        if self._epoch_batches or torch_private.reads_by_iteration(self.loader):
            return self._epoch_batches
        return length_of(self.loader)

    def begin_epoch(self) -> None:
        """Ask the loader for a new epoch, whose first batches are timed."""
        self.stamp_log.epoch += 1
        self._at = self._stamp_at = self._late_ns = 0
        self._due.clear()
        self._arm(True)
        self.stamp_log.open()
        self._asked = stamp_before()
        super().begin_epoch()

    def pull(self, most: int) -> tuple[int, int]:
        """Pull up to ``most`` batches, as ``Borrowed`` does; with a step, one is spent between two batches."""
        batches = samples = 0
        if most == 1 and not self.step_ns and self._at % _TIMED != 1 and self._until_next():
            return self._pull_untimed()
        while batches < most:
            if self.step_ns and self._at:
                self._step()
            run = min(1 if self.step_ns else most - batches, self._until_next())
            got, more = self._pull_run(run) if run else self._watch()
            batches, samples = batches + got, samples + more
            if got < max(1, run):
                break
        return batches, samples

    def close(self, *, kill: bool = False) -> None:
        """Stop every worker, and take nothing in any more."""
        super().close(kill=kill)
        self.stamp_log.close()
        close_kept_delay()

    def _being_made(self, iterator: Any) -> None:
        torch_stamps.stamp(iterator, self.stamp_log)

    def _remember(self, iterator: Any) -> None:
        super()._remember(iterator)
        torch_stamps.stamp_pinning(iterator)

    def _arm(self, armed: bool) -> None:
        for iterator in self._made[-1:]:
            torch_stamps.arm(iterator, armed)

    def _until_next(self) -> int:
        """Batches to pull before the next one that is to be watched."""
        soonest = min(self._stamp_at, self._due[0]) if self._due else self._stamp_at
        return max(0, soonest - self._at)

    def _pull_untimed(self) -> tuple[int, int]:
        asked = wall_ns()
        got = self._take(1)
        samples = round(got * self._size)
        self._suspect(got, wall_ns() - asked)
        self._at += got
        if not got:
            self._ended(wall_ns() - asked)
        return got, samples

    def _pull_run(self, run: int) -> tuple[int, int]:
        asked = stamp_before() if self.step_ns else stamp_cheap()
        got = self._take(run)
        spent = between(asked, stamp_after() if self.step_ns else stamp_cheap())
        samples = round(got * self._size)
        if got < run:
            self._at += got
            self._ended(spent[WALL] - got * self._period_ns)
        else:
            self._account(got, spent)
        return got, samples

    def _watch(self) -> tuple[int, int]:
        """Pull one batch and look at the clocks; now and then the one asked for meanwhile is timed."""
        stamping = self._at >= self._stamp_at
        if stamping and self._at:
            self._arm(True)
        number, early, _ = torch_private.turn(self._iterator) if self._made else (-1, False, 0)
        asked = stamp_before()
        taken = self._take_one()
        now = stamp_after()
        got = len(taken)
        if stamping:
            self._arm(False)
            self._due.append(self._at + self.depth)
        while self._due and self._due[0] <= self._at:
            self._due.popleft()
        samples = self._learn_size(taken[0]) if got else 0
        if got and not self.starts:
            self._weigh(taken[0])
        if self.steps is not None and got:
            self._batch = [taken[0]]
        freeing = thread_cpu_ns()
        taken.clear()  # what a loop does once it has the next batch: unmapping a large one takes as long as mapping it
        freed = thread_cpu_ns() - freeing
        if not got:
            self._ended(now[WALL] - asked[WALL])
            return 0, 0
        if self._at == 0:
            self._began(now)
        else:
            after, _, held = torch_private.turn(self._iterator)
            seen = number if after == number + 1 else -1
            self.handouts.append(Handout(self.stamp_log.epoch, seen, asked, now, early, held))
        wall, cpu, process, delay = between(asked, now)
        self._account(got, (wall + freed, cpu + freed, process, delay))
        self._choose_stride()
        if stamping:
            self._stamp_at = self._at - 1 + self._draw.randint(1, 2 * self.stride - 1)
        if self._traced and self.sparse_from is None:
            self.memory.read(now[WALL], self.workers)
        return got, samples

    def _take_one(self) -> list[Any]:
        assert self._batches is not None
        return list(itertools.islice(self._batches, 1))

    def _take(self, most: int) -> int:
        assert self._batches is not None
        got = 0
        for batch in itertools.islice(self._batches, most):
            got += 1
            if self.steps is not None:
                self._batch = [batch]
        return got

    def _count_indices(self, copy: Any) -> None:
        """Not every batch: those that are watched tell."""

    def _learn_size(self, batch: Any) -> int:
        """How many samples are in a batch, by the rules of ``samples``, the mean of the timed batches."""
        if torch_private.reads_by_iteration(self.loader) or not self.stamp_log.sized[1]:
            self._sized[0] += count_samples(batch, self.batch_size)
            self._sized[1] += 1
        samples, batches = self._sized if self._sized[1] else self.stamp_log.sized
        self._size = samples / batches
        return round(self._size)

    def _weigh(self, batch: Any) -> None:
        held = list(tensors(batch))
        parts = [part for tensor in held for part in torch_private.dense_parts(tensor)]
        self.tensors, self.tensor_bytes = len(held), sum(part.element_size() * part.numel() for part in parts)
        with contextlib.suppress(Exception):  # what came may not go again
            self.weight = weigh(batch)
        self.eight_bit_fields = eight_bit_fields(batch)

    def _began(self, now: Moment) -> None:
        workers = [worker.pid for worker in self.workers]
        fresh = not self.starts or workers != self._known
        self._known = workers
        delay = between(self._asked, now)[DELAY]
        self.starts.append(EpochStart(self.stamp_log.epoch, self._asked[WALL], now[WALL], fresh, delay))

    def _suspect(self, got: int, wall_ns: float) -> None:
        """Remember which batches made a wait much longer than others: one of their samples may be slow."""
        if not self._period_ns or wall_ns < max(_LONG_NS, _LONG * got * self._period_ns):
            return
        wanted = range(self._at, self._at + got)
        asked = [
            index for epoch, number, index in self.stamp_log.asked if epoch == self.stamp_log.epoch and number in wanted
        ]
        self.slow.append((wall_ns, asked))
        if len(self.slow) > _MOST_SLOW:
            self.slow.remove(min(self.slow, key=lambda each: each[0]))

    def _account(self, got: int, spent: Moment) -> None:
        first = self._at == 0
        if not first:
            self._suspect(got, spent[WALL])
        self._at += got
        wall, cpu = spent[WALL], spent[CPU]
        if self.step_ns and not first:
            self._wait_ended(wall, max(cpu, wall - spent[DELAY]))
        if first:
            return
        self.pulled += got
        self.pulling_cpu_ns += cpu
        self._period_ns += (wall / got - self._period_ns) * (_SMOOTHING if self._period_ns else 1.0)
        self._spent_ns += (cpu / got - self._spent_ns) * (_SMOOTHING if self._spent_ns else 1.0)

    def _choose_stride(self) -> None:
        workers = len(self.workers)
        stamps = _STAMPS_NS if workers else _STAMPS_HERE_NS
        work = self._work_ns()
        batch = self.step_ns + (self._spent_ns + work if workers else max(self._spent_ns, work))
        enough = len(self.stamp_log.arrived) >= max(_FIRST * max(1, workers), TRACED if self._traced else 0)
        self.stride = max(1, math.ceil(stamps / (_OVERHEAD * max(1.0, batch)))) if enough else 1
        if self.stride > 1 and self.sparse_from is None:
            self.sparse_from = self.stamp_log.epoch

    def _work_ns(self) -> float:
        """What making a timed batch took, the mean of all, without the time that others held its CPU. By the last one
        alone, those behind a slow batch would be timed more often than others.
        """
        arrived = len(self.stamp_log.arrived)
        for at in range(self._worked, arrived):
            one = self.stamp_log.stamps(at)
            wall, _, _, delay = between(one.index, one.collated)
            self._working_ns += max(0, wall - delay)
        self._worked = arrived
        return self._working_ns / max(1, arrived)

    def _wait_ended(self, wall: int, served: int) -> None:
        """A consumer that slept too long gave the loader more time: a wait after it counts from its due end."""
        self._least_wait_ns = served if self._least_wait_ns is None else min(served, self._least_wait_ns)
        late = self._late_ns if served > 2 * self._least_wait_ns + BRIEF_NS else 0
        self.waited_ns += served + late
        self.wall_waited_ns += wall + late
        self.waits += 1

    def _step(self) -> None:
        began = wall_ns()
        if self.steps is not None:
            if not self._batch:
                return
            self.step_ns = self.steps.take(self._batch.pop())
        else:
            time.sleep(self.step_ns / 1e9)
            self._late_ns = max(0, int(wall_ns() - began - self.step_ns))
        if len(self.taken) < MOST_NAMED:
            self.taken.append((self.stamp_log.epoch, self._at - 1, began, wall_ns()))

    def _ended(self, spent_ns: float) -> None:
        self._epoch_batches = self._at
        self.ending_ns[self.stamp_log.epoch] = max(0, int(spent_ns))
