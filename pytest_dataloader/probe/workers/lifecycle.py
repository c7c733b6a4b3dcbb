"""The lives of a loader's workers: started, watched through an epoch or two, ended; and what went wrong first."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import os
import reprlib
import signal
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_dataloader.errors import DataLoaderCheckError
from pytest_dataloader.probe.host import clocks, process_tree, segments
from pytest_dataloader.probe.internals import torch_private
from pytest_dataloader.probe.loader.borrowing import Borrowed, borrow_as, receive_what_would_stay
from pytest_dataloader.probe.loader.sampling import epochs_told
from pytest_dataloader.probe.loader.settings import make_shallow, worker_processes_of
from pytest_dataloader.probe.loader.thread_errors import is_of_shutdown
from pytest_dataloader.probe.workers import attribution, fault, file_events, status_slots
from pytest_dataloader.probe.workers.fault import NONE, WorkerFault
from pytest_dataloader.probe.workers.handover import drain_pipe_of_dead_child
from pytest_dataloader.probe.workers.tasks import TaskLog, log_tasks
from pytest_dataloader.probe.workers.watchdog import GivenUp, Watchdog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.process import BaseProcess

_SHM_MANAGER = "torch_shm_manag"
_FEEDER = "QueueFeederThread"
"""Of the queues to other workers: each worker has queues of its own."""
_LOOKED_AT = 2
"""Batches of each worker after which it is seen where it may run: what it loads first may bind it."""
_PATIENCE = 6
"""Times as long as torch waits for a worker's end, at most, where others keep it from a CPU."""
_LEAST_SECONDS = 0.05
_ORPHAN_SECONDS = 5.0
"""For children of workers: torch's shared-memory manager ends two seconds after its last client."""


@dataclass(frozen=True, slots=True)
class EpochTimes:
    """One epoch as it was watched; seconds from asking for it, None for what did not come.

    ``worker_start_seconds`` is when the slowest worker began with ``worker_init_fn``, ``end_seconds`` what ending the
    workers took after the last batch. ``delay_seconds`` is how long neighbours kept the first batch from a CPU.
    """

    pids: tuple[int, ...]
    started: int
    start_seconds: float
    worker_start_seconds: float | None
    first_batch_seconds: float | None
    delay_seconds: float
    batches: int
    whole: bool
    seconds: float
    end_seconds: float | None = None


@dataclass(slots=True)
class Lifecycle:
    """What was seen of the workers. ``oom_kills`` counts what the kernel ended meanwhile for want of memory; None where
    it does not say.
    """

    epochs: list[EpochTimes] = field(default_factory=list)
    fault: WorkerFault = NONE
    zombies: tuple[int, ...] = ()
    lingering: tuple[str, ...] = ()
    forked_threads: tuple[str, ...] = ()
    native_threads: int = 0
    """Threads of libraries, such as OpenMP's, that ran when the workers were forked."""
    oom_kills: int | None = None
    hollow: int = 0
    """Batches that were None, or the same number or text as all others that were made of several samples."""
    torn_files: tuple[str, ...] = ()
    temporary_left: tuple[str, ...] = ()
    """Temporary files and folders of workers that have ended."""
    worker_cpus: int = 0
    process_cpus: int = 0
    """CPUs that all workers together may run on once the first batch has come, and this process."""
    hollow_batch: str = "None"
    """What they were."""


def observe_lifecycle(
    loader: Any, *, method: str, seconds: float, epochs: int, one_worker: bool = False, shallow: bool = False
) -> Lifecycle:
    """Watch a copy of the loader for up to ``epochs`` epochs and ``seconds``; afterwards nothing of it is left.

    ``one_worker`` gives it one worker, started by ``method``, however many it has and however it starts them;
    ``shallow`` has each make one batch ahead.
    """
    prefix = f"dl-{os.getpid()}-"
    with tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as name:
        folder = Path(name)
        slots = status_slots.StatusSlots(folder, 1 if one_worker else loader.num_workers)
        try:
            return _Observation(loader, slots, folder, method, one_worker=one_worker, shallow=shallow).run(
                seconds, epochs
            )
        finally:
            slots.close()


class _Observation:
    def __init__(
        self,
        loader: Any,
        slots: status_slots.StatusSlots,
        folder: Path,
        method: str,
        *,
        one_worker: bool,
        shallow: bool,
    ) -> None:
        self.method = method
        self.shallow = shallow
        self.one_worker = one_worker
        self.loader = loader
        self.slots = slots
        self.folder = folder
        self.in_process = not worker_processes_of(loader) and not one_worker
        self.forks = method == "fork"
        self.watchdog = Watchdog(slots)
        self.task_log = TaskLog()
        self.lifecycle = Lifecycle()
        self.processes: dict[int, BaseProcess] = {}
        self.pids: set[int] = set()
        self.children: set[int] = set()
        self.terminated: set[int] = set()
        self.starved: set[int] = set()
        self.gone: frozenset[int] = frozenset()
        self.of_threads: list[BaseException] = []

    def run(self, seconds: float, epochs: int) -> Lifecycle:
        killed = _oom_kills()
        borrowed: Borrowed | None = None
        with contextlib.ExitStack() as stack:
            stack.enter_context(self.watchdog.interrupting())
            stack.enter_context(self._hearing_threads())
            if not self.forks:
                stack.enter_context(drain_pipe_of_dead_child())
            if self.in_process:
                stack.enter_context(status_slots.main_process_slot(self.slots))
            try:
                borrowed = stack.enter_context(borrow_as(functools.partial(_ObservedLoader, self), self.loader))
                self._run_epochs(borrowed, seconds, epochs, stack.enter_context(epochs_told(self.loader)))
                self._end(borrowed)
            except GivenUp:
                self._abort(borrowed, None)
            except DataLoaderCheckError:
                raise
            except (Exception, SystemExit) as error:
                self._abort(borrowed, error)
            except BaseException:
                self._kill(borrowed)
                raise
        self.lifecycle.oom_kills = None if killed is None else (_oom_kills() or 0) - killed
        events = file_events.events_in(self.folder)
        self.lifecycle.torn_files = file_events.torn_files(events)
        if self.lifecycle.fault is NONE:
            self.lifecycle.temporary_left = file_events.temporary_left(events)
        return self.lifecycle

    @contextlib.contextmanager
    def _hearing_threads(self) -> Iterator[None]:
        """Note what threads raise: one that takes batches ahead ends with it, and the loop as if all had been read."""
        tell = threading.excepthook

        def noting(raised: Any) -> None:
            if raised.exc_value is not None and not is_of_shutdown(raised.exc_traceback):
                self.of_threads.append(raised.exc_value)
            tell(raised)

        threading.excepthook = noting
        try:
            yield
        finally:
            threading.excepthook = tell

    def prepare(self, copy: Any) -> None:
        """What a copied loader gets before it is iterated."""
        if self.one_worker:
            vars(copy).update(num_workers=1, prefetch_factor=copy.prefetch_factor or 2)
            copy.multiprocessing_context = self.method
        if self.shallow:
            make_shallow(copy)
        self.task_log = log_tasks(copy)
        if worker_processes_of(copy):
            vars(copy)["worker_init_fn"] = status_slots.WorkerInit(
                copy.worker_init_fn, str(self.slots.path), str(self.folder)
            )

    def making(self, _iterator: Any) -> None:
        """What happens before workers start."""
        self.watchdog.iterator = None
        self.slots.forget_workers()
        if self.forks:
            self.watchdog.stop()
            self.lifecycle.forked_threads = self.lifecycle.forked_threads or _threads()
            self.lifecycle.native_threads = self.lifecycle.native_threads or _native_threads()

    def made(self, iterator: Any) -> None:
        """What happens once they have started."""
        self._know(iterator)
        self.watchdog.start()

    def _know(self, iterator: Any) -> None:
        torch_private.disown_workers(iterator)
        self.processes.update(enumerate(torch_private.worker_processes(iterator)))
        for process in self.processes.values():
            self.pids.add(process.pid or 0)
            self._note_termination(process)
        self.watchdog.iterator = iterator

    def _note_termination(self, process: BaseProcess) -> None:
        """Torch terminates a worker that does not end in five seconds, which then exits with 0 as if nothing was.

        Seconds in which others had the CPU that it wanted do not count: it is waited for as long again, and nothing is
        said of one that others kept from a CPU to the last.
        """
        pid, terminate, join = process.pid or 0, type(process).terminate, type(process).join

        def noted() -> None:
            self.terminated.add(pid)
            terminate(process)

        def patient(timeout: float | None = None) -> None:
            begun, delay = time.monotonic(), clocks.delay_of_ns(pid) or 0
            join(process, timeout)
            while timeout is not None and process.exitcode is None:
                spent = time.monotonic() - begun
                own = spent - ((clocks.delay_of_ns(pid) or 0) - delay) * 1e-9
                if own >= timeout:
                    return
                if spent >= _PATIENCE * timeout:
                    self.starved.add(pid)
                    return
                join(process, max(_LEAST_SECONDS, timeout - own))

        vars(process).update(terminate=noted, join=patient)

    def _run_epochs(self, borrowed: Borrowed, seconds: float, epochs: int, tell: Callable[[int], None]) -> None:
        """An epoch, and shorter ones where starting workers again costs less than what was planned for all of it."""
        while len(self.lifecycle.epochs) < epochs:
            tell(len(self.lifecycle.epochs))
            epoch = self._epoch(borrowed, seconds)
            self.lifecycle.epochs.append(epoch)
            if epoch.first_batch_seconds is None or (
                not self.loader.persistent_workers and epoch.first_batch_seconds > seconds
            ):
                break
            seconds /= 2

    def _epoch(self, borrowed: Borrowed, seconds: float) -> EpochTimes:
        known, delay = set(self.pids), clocks.thread_delay_ns() or 0
        self.task_log.enough, self.watchdog.delivered = False, 0
        self.slots.forget_positions()
        begun = time.monotonic() - (0.0 if self.lifecycle.epochs else borrowed.started_seconds)
        if not self.forks:
            self.watchdog.start()
        with self.watchdog.waiting():
            borrowed.begin_epoch()
        started, first, pause, deadline = time.monotonic() - begun, None, 0.0, 0.0
        while True:
            asked = time.monotonic()
            with self.watchdog.waiting():
                came, _ = borrowed.pull(1)
            pause = time.monotonic() - asked
            if not came:
                break
            if first is None:
                first = time.monotonic() - begun
                delay = (clocks.thread_delay_ns() or 0) - delay + self._worst_delay_ns()
                deadline = time.monotonic() + seconds
                self._remember_children()
            self.watchdog.longest = max(self.watchdog.longest or 0.0, pause)
            self._deliver()
            if self.watchdog.delivered <= _LOOKED_AT * len(self.processes):
                self._note_cpus()
            if time.monotonic() >= deadline:
                self._remember_children()
                self.task_log.enough = True
                if not self.task_log.may_stop:
                    break
        if self.of_threads and all(epoch.whole for epoch in self.lifecycle.epochs):  # not for one that we left early
            raise self.of_threads[0]
        self._look_for_silent_end(came)
        return EpochTimes(
            pids=tuple(process.pid or 0 for process in self.processes.values()),
            started=len(self.pids - known),
            start_seconds=started,
            worker_start_seconds=self._worker_start(begun),
            first_batch_seconds=first,
            delay_seconds=delay * 1e-9 if first is not None else 0.0,
            batches=self.watchdog.delivered,
            whole=not came and not self.task_log.enough,
            seconds=time.monotonic() - begun,
            end_seconds=pause if not came else None,
        )

    def _note_cpus(self) -> None:
        """Look where workers may run: what they load, or are told, may have bound them."""
        if self.in_process or not hasattr(os, "sched_getaffinity"):
            return
        with contextlib.suppress(OSError):  # one has ended already
            allowed = [os.sched_getaffinity(process.pid or 0) for process in self.processes.values()]
            self.lifecycle.worker_cpus = len(set().union(*allowed))
            self.lifecycle.process_cpus = len(os.sched_getaffinity(0))

    def _deliver(self) -> None:
        self.watchdog.delivered += 1
        if not getattr(self.loader, "in_order", True):
            self.gone = self._handed_out()

    def _handed_out(self) -> frozenset[int]:
        return frozenset(self.task_log.batches) - torch_private.numbers_in_flight(self.watchdog.iterator)

    def _task_raised(self) -> int:
        """The batch that torch handed out as an exception: the next one, or, out of order, the one that is missing."""
        if getattr(self.loader, "in_order", True):
            return self.watchdog.delivered
        return min(self._handed_out() - self.gone, default=self.watchdog.delivered)

    def _look_for_silent_end(self, came: int) -> None:
        """A map-style dataset that raises StopIteration ends the epoch early, and nobody is told."""
        if came or self.watchdog.delivered >= self.task_log.count or not self.task_log.plain:
            return
        if not torch_private.reads_by_iteration(self.loader):
            raise _SilentEnd

    def _worst_delay_ns(self) -> int:
        return max((clocks.delay_of_ns(process.pid or 0) or 0 for process in self.processes.values()), default=0)

    def _worker_start(self, begun: float) -> float | None:
        starts = [self.slots.started_at(number) for number in self.processes]
        known = [start - begun for start in starts if start is not None]
        return max(0.0, *known) if len(known) > 0 else None

    def _remember_children(self) -> None:
        for pid in self.pids:
            self.children.update(process_tree.descendant_pids(pid))

    def _end(self, borrowed: Borrowed) -> None:
        """End the workers as a user's loop would, and see who does not go."""
        self._remember_children()
        if borrowed.iterator is not None and self.lifecycle.fault is NONE:
            receive_what_would_stay(borrowed.iterator)
        asked = time.monotonic()
        with self.watchdog.waiting():
            if borrowed.iterator is not None:
                torch_private.shut_down_workers(borrowed.iterator)
        if self.lifecycle.epochs and (self.lifecycle.epochs[-1].end_seconds is None or self.loader.persistent_workers):
            self.lifecycle.epochs[-1] = dataclasses.replace(
                self.lifecycle.epochs[-1], end_seconds=time.monotonic() - asked
            )
        self.watchdog.stop()
        self.lifecycle.zombies = tuple(sorted(pid for pid in self.pids if process_tree.state_of(pid) == "Z"))
        lingering = []
        for number, process in self.processes.items():
            code = process.exitcode
            if process.pid in self.starved:
                continue
            if code is None or process.pid in self.terminated:
                lingering.append(f"worker {number} (pid {process.pid})")
            elif code and self.lifecycle.fault is NONE:
                kind: Any = "killed" if code < 0 else "exit"
                name = fault.signal_name(code)
                self.lifecycle.fault = WorkerFault(kind, number, process.pid, name, code, phase="exiting")
        self.lifecycle.lingering = (*lingering, *self._orphans())
        borrowed.close()
        segments.unlink_of(self.pids)

    def _orphans(self) -> list[str]:
        deadline = time.monotonic() + _ORPHAN_SECONDS
        left = {pid: name for pid in self.children if (name := _name_of(pid))}
        while left and time.monotonic() < deadline:
            time.sleep(0.1)
            left = {pid: name for pid, name in left.items() if _name_of(pid) == name}
        return [f"{name} (pid {pid}), which a worker started" for pid, name in left.items()]

    def _abort(self, borrowed: Borrowed | None, error: BaseException | None) -> None:
        """Say what went wrong, then end the workers the hard way."""
        self.watchdog.stop()
        half_made = self._half_made(error) if error is not None else []
        try:
            self.lifecycle.fault = self._diagnose(error)
        finally:
            self._kill(borrowed)
            for iterator in half_made:
                torch_private.shut_down_workers(iterator, kill=True)
                for process in torch_private.worker_processes(iterator):
                    process.join(_ORPHAN_SECONDS)

    def _half_made(self, error: BaseException) -> list[Any]:
        """The iterator that an error left half made: a worker may die while torch still asks for the first batches."""
        torch_private.discard_half_made(error)
        made = [each for each in torch_private.iterators_in(error) if torch_private.worker_processes(each)]
        if self.watchdog.iterator is not None or not made:
            return []
        self._know(made[-1])
        return made

    def _kill(self, borrowed: Borrowed | None) -> None:
        self.watchdog.stop()
        children = [pid for worker in self.pids for pid in process_tree.descendant_pids(worker)]
        if borrowed is not None:
            borrowed.close(kill=True)
        for pid in children:
            if _name_of(pid) not in ("", _SHM_MANAGER):  # which frees what its clients have left
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
        self.processes.clear()
        segments.unlink_of(self.pids)

    def _diagnose(self, error: BaseException | None) -> WorkerFault:
        if isinstance(error, _SilentEnd):
            return attribution.ended_silently(self._fault_context(), self.watchdog.delivered)
        return attribution.attribute_fault(self._fault_context(), error)

    def _fault_context(self) -> attribution.FaultContext:
        watchdog = self.watchdog
        return attribution.FaultContext(
            self.slots, self.task_log, watchdog.iterator, watchdog.finding, self._task_raised(), self.in_process
        )


class _ObservedLoader(Borrowed):
    """A borrowed loader that tells of its iterators."""

    def __init__(self, observation: _Observation, loader: Any) -> None:
        self._observation = observation
        self._first: Any = None
        self._being_made = observation.making
        super().__init__(loader, prepare=observation.prepare)

    def _remember(self, iterator: Any) -> None:
        super()._remember(iterator)
        self._observation.made(iterator)

    def _pull_and_look(self, most: int) -> tuple[int, int]:
        """Samples are not counted here."""
        assert self._batches is not None
        came = 0
        for batch in itertools.islice(self._batches, most):
            came += 1
            self._look_inside(batch)
        return came, 0

    def _look_inside(self, batch: Any) -> None:
        """Count batches that nothing could be learned from: None, and one number or text for all samples."""
        lifecycle = self._observation.lifecycle
        if isinstance(batch, str | bytes | int | float) and getattr(self.loader, "batch_sampler", None) is not None:
            if self._first is None:
                self._first, lifecycle.hollow_batch = batch, reprlib.repr(batch)
            lifecycle.hollow += batch == self._first
        else:
            lifecycle.hollow += batch is None

    def _count_indices(self, _copy: Any) -> None:
        return None


class _SilentEnd(Exception):
    """An epoch ended before its time, without an error."""


def _threads() -> tuple[str, ...]:
    """Threads of this process that a fork leaves out: a lock that one of them holds stays locked in the worker."""
    others = [thread.name for thread in threading.enumerate() if thread is not threading.main_thread()]
    return tuple(name for name in others if name != _FEEDER)


def _native_threads() -> int:
    """Threads of this process that are none of Python's: a pool that a library computes with is not forked."""
    with contextlib.suppress(OSError):
        return max(0, len(list(Path("/proc/self/task").iterdir())) - threading.active_count())
    return 0


def _name_of(pid: int) -> str:
    """The name of a process that runs; empty once it is gone."""
    info = process_tree.read_process(pid)
    return info.name if info is not None and info.runs else ""


def _oom_kills() -> int | None:
    """Processes that the kernel has ended for want of memory, since boot."""
    with contextlib.suppress(OSError, ValueError):
        for line in Path("/proc/vmstat").read_text(encoding="ascii").splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return None
