"""Work on numbered items in forked processes, of which any may die: the native parser overflows its stack on monstrous
expressions (Instagram/LibCST#1000, #980), and takes its process with it."""

from __future__ import annotations

import faulthandler
import os
import resource
import selectors
import signal
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence


# Usual files take 1 s of CPU per MB, those that are left to libcst 1.7 s; 50,000 chained attributes, a tenth of a MB,
# take minutes.
CPU_SECONDS = 5
CPU_SECONDS_PER_MB = 10

CHUNK = 2**20


@dataclass(frozen=True, slots=True)
class Died:
    """The process did not come back from this item."""

    signal: int

    def __str__(self) -> str:
        if self.signal == signal.SIGXCPU:
            return "takes far more time than others of its size"
        if self.signal == signal.SIGKILL:
            return "its process was killed, perhaps for want of memory"
        said = (signal.strsignal(self.signal) if self.signal else None) or "its process ended early"
        return f"the parser broke down on it ({said})"


@dataclass(slots=True)
class _Process:
    pid: int
    pipe: int
    items: list[int]
    """Those not yet answered, in the order in which they are worked on."""
    received: bytearray = field(default_factory=bytearray)

    def answers(self) -> Iterator[tuple[int, bytes]]:
        while len(self.received) >= 8:
            end = 8 + int.from_bytes(self.received[:8], "little")
            if len(self.received) < end:
                return
            yield self.items.pop(0), bytes(self.received[8:end])
            del self.received[:end]


def spread(
    work: Callable[[int], bytes], sizes: Sequence[int], jobs: int, *, meanwhile: Iterable[object] = ()
) -> Generator[tuple[int, bytes | Died]]:
    """``work(number)`` for each size's number, in ``jobs`` processes that get about as much each, as they come.

    While they work, this process takes ``meanwhile`` in, one by one between their answers; all of it before the end.
    """
    own, done = iter(meanwhile), object()
    busy = True
    running: dict[int, _Process] = {}
    with selectors.DefaultSelector() as waiting:

        def start(items: list[int]) -> None:
            # Ctrl-C between the fork and its record would leave a process that nobody ends, or a second parent.
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            try:
                process = _fork(work, items, sizes)
                running[process.pipe] = process
            finally:
                signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
            waiting.register(process.pipe, selectors.EVENT_READ)

        try:
            for items in _shares(sizes, jobs):
                start(items)
            while running or busy:
                busy = busy and next(own, done) is not done
                for key, _ in waiting.select(0 if busy else None) if running else ():
                    process = running[key.fd]
                    chunk = os.read(process.pipe, CHUNK)
                    process.received += chunk
                    yield from process.answers()
                    if not chunk:
                        waiting.unregister(process.pipe)
                        del running[process.pipe]
                        status = _end(process)
                        if process.items:
                            yield process.items[0], Died(status)
                            if process.items[1:]:
                                start(process.items[1:])
        finally:
            for process in running.values():
                with suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL)
                _end(process)


def _shares(sizes: Sequence[int], jobs: int) -> list[list[int]]:
    """Item numbers, largest first, each to whoever has least to do."""
    shares: list[list[int]] = [[] for _ in range(max(1, jobs))]
    loads = [0] * len(shares)
    for number in sorted(range(len(sizes)), key=lambda number: -sizes[number]):
        least = loads.index(min(loads))
        shares[least].append(number)
        loads[least] += sizes[number]
    return [share for share in shares if share]


def _end(process: _Process) -> int:
    os.close(process.pipe)
    _, status = os.waitpid(process.pid, 0)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


def _fork(work: Callable[[int], bytes], items: list[int], sizes: Sequence[int]) -> _Process:
    reader, writer = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writer)
        return _Process(pid, reader, items)
    try:
        os.close(reader)
        _become_worker()
        with open(writer, "wb") as pipe:
            for number in items:
                _allow(CPU_SECONDS + CPU_SECONDS_PER_MB * sizes[number] / 1e6)
                answer = work(number)
                pipe.write(len(answer).to_bytes(8, "little") + answer)
                pipe.flush()
        os._exit(0)
    finally:
        os._exit(1)


def _allow(seconds: float) -> None:
    """From now on; the process gets SIGXCPU when it has used them up."""
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    soft = int(time.process_time() + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))


def _become_worker() -> None:
    """Ctrl-C ends a worker without a traceback; its death leaves no core file and no native crash report."""
    faulthandler.disable()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
