"""A watch over workers while this process waits for a batch: tells one that died, and one that will never deliver.

Slow and hung look alike by the clock, so the clock decides last. A worker whose threads all wait for locks of its own
process can be woken by nobody; a sleep tells when it will end; a worker that uses the CPU is at work.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from pytest_dataloader.probe.host import process_tree, waits
from pytest_dataloader.probe.host.waits import DEADLOCK_SECONDS
from pytest_dataloader.probe.internals import torch_private
from pytest_dataloader.probe.workers import status_slots

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

_TICK = 0.1
_AGAIN_SECONDS = 0.5
LONG_SLEEP_SECONDS = 300.0
"""A sleep that has longer to go is no pause between two tries."""
QUIET_SECONDS, FIRST_QUIET_SECONDS = 60.0, 120.0
"""Waits for something outside (a socket, a pipe, a file lock) end by themselves or never; the longer one holds while
no batch has come yet."""
TIMEOUT_SECONDS = 180.0
"""How long we wait where it cannot be told whether anything will come."""
TIMES_LONGEST, TIMES_LONGEST_BUSY = 10, 100
"""A wait is compared with the longest so far: ten times is long for a silent worker, a hundred for a busy one."""
QUIET_BUSY_SHARE, QUIET_SWITCHES = 0.02, 20.0
"""Of workers that wait: share of the time on a CPU or queueing for one, voluntary context switches per second. A loop
around ``time.sleep(0.1)`` takes 0.0003 and 8.5 (the same script)."""
_DEADLOCK = "deadlock, each of its threads waits for a lock"


class GivenUp(BaseException):
    """Nothing will come. No Exception: torch, and loops that try again, would catch that."""


@dataclass(frozen=True, slots=True)
class Silence:
    """What all workers did since the last sign of progress, and how long the suspect has been seen in its state."""

    seconds: float
    busy_seconds: float = 0.0
    switches: int = 0
    deadlocked_seconds: float = 0.0
    asleep_seconds: float | None = None
    """Left of a sleep that the suspect has been in for ``DEADLOCK_SECONDS``; None if it does not sleep."""
    on_disk: bool = False
    """Whether the suspect waits for a disk just now."""

    @property
    def quiet(self) -> bool:
        """Whether nobody did more than wait."""
        idle = self.busy_seconds < QUIET_BUSY_SHARE * self.seconds and not self.on_disk
        return idle and self.switches < QUIET_SWITCHES * self.seconds


@dataclass(frozen=True, slots=True)
class Finding:
    """What the watch found. ``worker`` is None where it is this process itself, or where none can be named."""

    kind: Literal["dead", "unsent", "hang", "unclear"]
    worker: int | None = None
    why: str = ""
    waited_seconds: float = 0.0
    stack: tuple[str, ...] = ()


def judge_silence(silence: Silence, longest: float | None) -> tuple[Literal["hang", "unclear"], str] | None:
    """Whether a silence will never end, or has lasted too long to tell; None while waiting makes sense.

    ``longest`` is the longest wait for a batch so far, None before the first batch.
    """
    seconds, asleep = silence.seconds, silence.asleep_seconds
    if silence.deadlocked_seconds >= DEADLOCK_SECONDS:
        return "hang", _DEADLOCK
    if asleep is not None and asleep > LONG_SLEEP_SECONDS:
        return "hang", f"it sleeps for another {asleep:,.0f} s"
    enough = FIRST_QUIET_SECONDS if longest is None else max(QUIET_SECONDS, TIMES_LONGEST * longest)
    if silence.quiet and (asleep is None or silence.switches > 2) and seconds >= enough:
        return "hang", f"it waited for {seconds:.0f} s and did nothing else"
    if seconds < max(TIMEOUT_SECONDS, TIMES_LONGEST * (longest or 0.0)):
        return None
    if asleep is not None:
        return "unclear", f"it sleeps for another {asleep:.0f} s"
    if longest is not None and not silence.quiet and seconds >= TIMES_LONGEST_BUSY * longest:
        return "hang", f"it worked for {seconds:.0f} s on this batch, and for {longest:.1f} s at most on those before"
    return "unclear", f"it was still at work after {seconds:.0f} s: slow, or hung"


@dataclass(slots=True)
class Watchdog:
    """Watches the workers of ``iterator``; ``waiting()`` surrounds each wait of this process for them."""

    slots: status_slots.StatusSlots
    observe: Callable[..., waits.ProcessActivity] = waits.process_activity
    clock: Callable[[], float] = time.monotonic
    iterator: Any = None
    delivered: int = 0
    longest: float | None = None
    finding: Finding | None = None
    _waiting: bool = False
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _owner: int = field(default_factory=threading.get_ident)
    _since: float = 0.0
    _before: tuple[object, int, int] | None = None
    _locked_since: float | None = None
    _asleep_since: float | None = None

    def start(self) -> None:
        """Begin to watch."""
        if self._thread is None:
            self._stop.clear()
            self._thread = threading.Thread(target=self._watch, name="pytest-dataloader watchdog", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End the thread: a process should fork without threads of ours."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._stop.set()
            thread.join()

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """Watch while this block waits for a worker; raises GivenUp out of it once ``finding`` tells why."""
        self._since, self._before = self.clock(), None
        self._waiting = True
        try:
            yield
        finally:
            self._waiting = False

    @contextlib.contextmanager
    def interrupting(self) -> Iterator[None]:
        """Let the watch interrupt this thread; where it may not (not the main thread), it kills the workers instead."""
        number = status_slots.stack_signal()
        if number is None or threading.current_thread() is not threading.main_thread():
            yield
            return
        previous = signal.signal(number, self._interrupt)
        try:
            yield
        finally:
            self.stop()
            signal.signal(number, previous)

    def _interrupt(self, _signal: int, frame: FrameType | None) -> None:
        if self._waiting and self.finding is not None and not is_underway(frame):
            raise GivenUp

    def _watch(self) -> None:
        while not self._stop.wait(_TICK):
            if self._waiting and self.finding is None:
                self.finding = self._examine()
            if self._waiting and self.finding is not None:
                self._wake()
                self._stop.wait(_AGAIN_SECONDS)

    def _wake(self) -> None:
        number = status_slots.stack_signal()
        if number is not None and self._owner == threading.main_thread().ident:
            signal.pthread_kill(self._owner, number)
        elif self.iterator is not None:
            for worker in torch_private.worker_processes(self.iterator):
                with contextlib.suppress(OSError):
                    worker.kill()

    def _examine(self) -> Finding | None:
        """One look at everybody, in the thread."""
        iterator = self.iterator
        workers = {} if iterator is None else dict(enumerate(torch_private.worker_processes(iterator)))
        for number, process in workers.items():
            if self.slots.unsent(number):
                return Finding("unsent", number, waited_seconds=self.clock() - self._since)
            # In this order: a worker that was told to end after this look was alive in it.
            dead = process_tree.has_ended(process.pid or 0)
            if dead and number in torch_private.workers_at_work(iterator):
                return Finding("dead", number, waited_seconds=self.clock() - self._since)
        return self._listen({number: process.pid or 0 for number, process in workers.items()})

    def _listen(self, pids: dict[int, int]) -> Finding | None:
        now = self.clock()
        if now - self._since < 1.0:
            return None
        suspect, pid = self._suspect(pids)
        here = threading.get_native_id() if pid == os.getpid() else None
        looks = {number: self.observe(each) for number, each in pids.items()}
        seen = looks[suspect] if suspect in looks else self.observe(pid, without=here)
        busy = sum(each.busy_ns for each in looks.values()) or seen.busy_ns
        switches = sum(each.switches for each in looks.values()) or seen.switches
        signs = (self.delivered, *self._positions(), *(self.slots.state(number) for number in pids))
        if self._before is None or self._before[0] != signs:
            self._since = now if self._before is not None else self._since
            self._before, self._locked_since, self._asleep_since = (signs, busy, switches), None, None
            return None
        self._locked_since = (self._locked_since or now) if seen.deadlocked else None
        self._asleep_since = (self._asleep_since or now) if seen.asleep_seconds is not None else None
        long_asleep = self._asleep_since is not None and now - self._asleep_since >= DEADLOCK_SECONDS
        silence = Silence(
            seconds=now - self._since,
            busy_seconds=max(0, busy - self._before[1]) * 1e-9,
            switches=max(0, switches - self._before[2]),
            deadlocked_seconds=now - self._locked_since if self._locked_since else 0.0,
            asleep_seconds=seen.asleep_seconds if long_asleep else None,
            on_disk=seen.state == "D",
        )
        found = judge_silence(silence, self.longest)
        if found is None:
            return None
        return Finding(found[0], suspect, found[1], silence.seconds, self._stack(suspect, pid))

    def _suspect(self, pids: dict[int, int]) -> tuple[int | None, int]:
        """The worker whose batch is next, and its pid; this process where there is none to wait for."""
        pending = {} if self.iterator is None else torch_private.pending_batches(self.iterator)
        for worker in pending.values():
            if worker in pids:
                return worker, pids[worker]
        if len(pids) == 1:
            return next(iter(pids.items()))
        return None, os.getpid()

    def _positions(self) -> tuple[int, ...]:
        pending = {} if self.iterator is None else torch_private.pending_batches(self.iterator)
        return tuple(self.slots.position(task) for task in (pending or {self.delivered: 0}))

    def _stack(self, worker: int | None, pid: int) -> tuple[str, ...]:
        """The stack of the suspect's main thread, which a worker writes on a signal, innermost frame first."""
        if worker is None:
            return status_slots.frames_of(self._owner)
        return ask_for_stack(self.slots, worker, pid)


_TO_BE_FINISHED = re.compile(r"(?:^|/)(?:popen_\w+|tempfile)\.py$")
"""Python's own files in which nothing is interrupted: a process is waited for there, whose exit status is told once and
would be lost on the way; a temporary file is made, which torch does to see whether descriptors are left."""
_INNERMOST = 4


def is_underway(frame: FrameType | None) -> bool:
    """Whether the innermost frames are in something that must come to its end; the watch asks again later."""
    for _ in range(_INNERMOST):
        if frame is None:
            break
        if _TO_BE_FINISHED.search(frame.f_code.co_filename):
            return True
        frame = frame.f_back
    return False


def ask_for_stack(slots: status_slots.StatusSlots, worker: int, pid: int, seconds: float = 2.0) -> tuple[str, ...]:
    """Have a worker write its stack, innermost frame first; empty where it has not come far enough to listen."""
    number = status_slots.stack_signal()
    if number is None or not slots.listens(worker):
        return ()
    with contextlib.suppress(OSError):
        os.kill(pid, number)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not process_tree.has_ended(pid):
        time.sleep(0.05)
        if found := slots.stack(worker):
            time.sleep(0.05)  # the last lines
            return slots.stack(worker) or found
    return slots.stack(worker)
