"""What a training takes from one loader, counted as it is iterated: waits, steps, epochs, samples."""

from __future__ import annotations

import contextlib
import statistics
import threading
import weakref
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.host import clocks
from pytest_dataloader.probe.internals import torch_private, worker_errors
from pytest_dataloader.probe.loader import counting
from pytest_dataloader.probe.training.evidence import COMPUTING, INPUT_BOUND, Rates, Training
from pytest_dataloader.probe.training.processes import ProcessReadings, descriptor_limit
from pytest_dataloader.probe.workers import attribution, fault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pytest_dataloader.probe.training.evidence import TrainingStage

_REMEMBERED = 1000
"""Steps and waits that medians are taken of."""
_FIRST_READING = 2
"""The batch of an epoch at which workers are first read: they have made some by then."""


@dataclass(slots=True)
class Totals:
    """Running totals of a meter: nanoseconds, and numbers."""

    epochs: int = 0
    batches: int = 0
    samples: int = 0
    waited_ns: int = 0
    startup_ns: int = 0
    stepped_ns: int = 0
    later: int = 0
    """Batches but the first of each epoch."""
    ready: int = 0
    """Of these, those that were ready when they were asked for."""
    received_ns: int = 0
    """Of the time waited, for those that were ready."""

    @property
    def loop_ns(self) -> int:
        """Waits and steps."""
        return self.waited_ns + self.stepped_ns

    def since(self, before: Totals) -> Rates:
        """What came on top of earlier totals."""
        return Rates(
            batches=self.batches - before.batches,
            samples=self.samples - before.samples,
            seconds=(self.loop_ns - before.loop_ns) / 1e9,
            waiting_seconds=(self.waited_ns - before.waited_ns) / 1e9,
        )

    def waits_since(self, before: Totals) -> dict[str, float]:
        """Seconds waited on top of earlier totals: for the first batches of epochs, for batches that were ready, and
        for those that were still being made.
        """
        startup, received = self.startup_ns - before.startup_ns, self.received_ns - before.received_ns
        others = self.waited_ns - before.waited_ns - startup - received
        return {"startup": startup / 1e9, "receive": received / 1e9, "fetch": others / 1e9}


class Meter:
    """Counts the iterations of a loader; of all that are made at one place, where they follow each other.

    Its methods are called by the thread that iterates. ``others`` are the meters of this process: what another loader
    was iterated for between two batches of this one, as a validation is, is no part of its step.
    """

    def __init__(self, loader: Any, others: Iterable[Meter] = (), *, wall: Callable[[], int] = clocks.wall_ns) -> None:
        self.totals = Totals()
        self.readings = ProcessReadings()
        self.loaders = 1
        self.batch_size: int | None = getattr(loader, "batch_size", None)
        self.workers = int(getattr(loader, "num_workers", 0))
        self.persistent_workers = bool(getattr(loader, "persistent_workers", False))
        self.step_hooks: list[Callable[[Meter], None]] = []
        """Called after each batch, with the meter."""
        self.fault = ""
        self.thread = threading.get_ident()
        self._others, self._wall = others, wall
        self._iterator: weakref.ref[Any] | None = None
        self._end_of_iterator: weakref.ref[Any] | None = None
        self._open: dict[int, Any] = {}
        """The batches under way, while the iterator is there."""
        self._owed: dict[int, int] = {}
        """Those that were, by their workers, once it is gone."""
        self.worker_pids: set[int] = set()
        """All workers so far."""
        self._started: list[int] = []
        """The workers of the latest epoch, also once they are gone."""
        self._steps: deque[int] = deque(maxlen=_REMEMBERED)
        self._waits: deque[int] = deque(maxlen=_REMEMBERED)
        self._longest = (0, 0)
        self._computed_ns = 0
        """CPU time of this process while it waited, without workers."""
        self._asked = self._asked_cpu = self._got = 0
        self._ready = False
        self._starting_ns = 0
        self._number = 0
        self.began = self.last = wall()
        """When the epoch under way was begun, and when it was last heard of."""

    def begin(self, iterator: weakref.ref[Any], took_ns: int) -> None:
        """An epoch begins with an iterator, which was made, or made ready again, in so many nanoseconds."""
        self.totals.epochs += 1
        self._iterator, self._starting_ns, self._number, self._got = iterator, took_ns, 0, 0
        self._ready = False
        self.last = self._wall()
        self.began = self.last - took_ns
        self.thread = threading.get_ident()
        self._started = self.pids
        self.worker_pids.update(self._started)
        current = iterator()
        if current is not None:
            self._open, self._owed = torch_private.open_tasks(current), {}
            self._end_of_iterator = weakref.ref(current, self._note_owed)

    def ask(self) -> None:
        """The next batch is asked for."""
        now = self._wall()
        if self._got:
            step = now - self._got - self._of_others(self._got)
            self.totals.stepped_ns += step
            self._steps.append(step)
        if not self.workers:
            self._asked_cpu = clocks.thread_cpu_ns()
        elif self._number:
            self._ready = self._is_ready()
            self.totals.later += 1
            self.totals.ready += self._ready
        self._asked = self.last = now

    def get(self, batch: Any) -> None:
        """A batch came."""
        now = self._wall()
        wait, totals = now - self._asked, self.totals
        if self._number == 0:
            wait += self._starting_ns
            totals.startup_ns += wait
        else:
            self._waits.append(wait)
            if wait > self._longest[0]:
                self._longest = wait, self._number
        totals.waited_ns += wait
        totals.received_ns += wait * self._ready
        totals.batches += 1
        totals.samples += self._count(batch)
        self._number += 1
        self.fault = ""
        if not self.workers:
            self._computed_ns += clocks.thread_cpu_ns() - self._asked_cpu
        if now >= self.readings.due_ns and (self._number >= _FIRST_READING or not self.workers):
            with contextlib.suppress(Exception):  # a training does not end for what /proc says
                self.readings.read(self.pids)
        for hook in self.step_hooks:
            hook(self)
        self._got = self.last = self._wall()

    def end(self) -> None:
        """The epoch has ended: what it took to say so, and to end the workers, was waited for too."""
        self.totals.waited_ns += self._wall() - self._asked
        self._got, self.last = 0, self._wall()

    def fail(self, error: BaseException) -> None:
        """The loader raised in place of a batch."""
        self.end()
        self.fault = self._describe(error) if isinstance(error, Exception) else ""

    def blame(self, error: BaseException) -> None:
        """What ended the training: torch raises the death of a worker wherever the main thread is just then."""
        dead = worker_errors.dead_workers(error) & set(self._started)
        if dead and not self.fault and isinstance(error, Exception):
            self.fault = self._describe(error)

    @property
    def pids(self) -> list[int]:
        """The workers of the epoch under way, in the order of their numbers."""
        iterator = None if self._iterator is None else self._iterator()
        processes = [] if iterator is None else torch_private.worker_processes(iterator)
        return [process.pid for process in processes if process.pid is not None]

    def evidence(self, made_at: str = "", iterated_at: str = "") -> Training:
        """What is known so far."""
        totals = self.totals
        loops = {id(each): each.totals.loop_ns for each in (self, *self._others)}
        busy = self.readings.busy_share if self.workers else self._computed_ns / max(1, totals.waited_ns)
        return Training(
            made_at=made_at,
            iterated_at=iterated_at,
            loaders=self.loaders,
            epochs=totals.epochs,
            batches=totals.batches,
            samples=totals.samples,
            seconds=totals.loop_ns / 1e9,
            waiting_seconds=totals.waited_ns / 1e9,
            startup_seconds=totals.startup_ns / 1e9,
            step_ms=statistics.median(self._steps) / 1e6 if self._steps else 0.0,
            wait_ms=statistics.median(self._waits) / 1e6 if self._waits else 0.0,
            longest_wait_ms=self._longest[0] / 1e6,
            longest_wait_batch=self._longest[1],
            workers=self.workers,
            persistent_workers=self.persistent_workers,
            stage=self._stage(busy),
            busy_share=busy,
            ready_share=totals.ready / totals.later if totals.later else None,
            training_seconds=sum(loops.values()) / 1e9,
            quietness=self.readings.quietness,
            worker_uses=self.readings.uses,
            peak_private_bytes=self.readings.peak_private_bytes,
            peak_growth_bytes=self.readings.peak_growth_bytes,
            descriptors=self.readings.peak_descriptors,
            descriptor_limit=descriptor_limit(),
            segment_bytes=self.readings.peak_segment_bytes,
            fault=self.fault,
        )

    def _note_owed(self, _gone: object) -> None:
        """The iterator is gone, and with it the batches that it had: those that its workers owed are remembered."""
        self._open, self._owed = {}, torch_private.pending_among(self._open)

    def _is_ready(self) -> bool:
        iterator = None if self._iterator is None else self._iterator()
        return iterator is not None and (torch_private.ready_batches(iterator) or 0) > 0

    def _count(self, batch: Any) -> int:
        try:
            return counting.count_samples(batch, self.batch_size)
        except Exception:  # whatever a batch of the user's makes of being asked for its shape
            return self.batch_size or 1

    def _stage(self, busy: float | None) -> TrainingStage:
        totals = self.totals
        if not totals.batches:
            return ""
        if totals.waited_ns < INPUT_BOUND * totals.loop_ns:
            return "consumer"
        if self.workers and 2 * totals.startup_ns > totals.waited_ns:
            return "startup"
        if 2 * totals.received_ns > totals.waited_ns:
            return "receive"
        if busy is None:
            return ""
        return "fetch" if busy >= COMPUTING else "read"

    def _of_others(self, since: int) -> int:
        """Time in which another loader was iterated, from its epoch's begin on, where that is after ``since``."""
        return sum(
            other.last - other.began
            for other in self._others
            if other is not self and other.began >= since and other.thread == self.thread
        )

    def _describe(self, error: BaseException) -> str:
        """What was raised in a line; for a worker that died, its number, its signal and the batch that it owed. Empty
        where Ctrl-C has ended the worker.
        """
        if worker_errors.caught(error):
            return worker_errors.told(error)
        iterator = None if self._iterator is None else self._iterator()
        dead = None if iterator is None else attribution.dead_worker(iterator, error)
        if dead is not None:
            number, process = dead
            pid, signal = process.pid, fault.signal_name(process.exitcode)
            ended = f"exited with code {process.exitcode}"
            owed = torch_private.pending_batches(iterator)
        elif named := worker_errors.dead_workers(error) & set(self._started):  # the loop that it was raised in is gone
            pid = min(named)
            number, signal, owed = self._started.index(pid), worker_errors.signal_told(error), self._owed
            ended = "exited"
        else:
            return worker_errors.told(error)
        if signal == "SIGINT":
            return ""
        batch = min((each for each, worker in owed.items() if worker == number), default=None)
        doing = f" while it made batch {batch} of the epoch" if batch is not None else ""
        return f"worker {number} (pid {pid}) {f'was killed by {signal}' if signal else ended}{doing}"
