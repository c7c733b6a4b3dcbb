"""What workers tell of themselves: a slot each in a shared file, readable also when a worker is dead or hangs.

Imported by workers of every start method, so it imports next to nothing. A worker writes which sample of which
batch it reads, the exception that kept a batch from being sent, and, on a signal, its stack.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import signal
import struct
import sys
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.workers.file_events import FileEvents

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

TASKS = 4096
"""Batches whose position is kept at a time: more than any loader has in flight."""
_POSITION = struct.Struct("<i")
_HEAD = struct.Struct("<idqii")
"""State, time of starting (monotonic), ident of the main thread, bytes of text, whether it listens for the signal."""
_HEADER = TASKS * _POSITION.size
_REGION = 1 << 18
_TEXT_AT, _TEXT_ROOM, _STACK_AT = 64, 8000, 8192
ABSENT, STARTING, READY = 0, 1, 2
"""States of a slot: the worker has not come so far; it runs ``worker_init_fn``; it works."""


def stack_signal() -> int | None:
    """The signal on which a worker writes its stack: a real-time one, which libraries leave alone."""
    last = getattr(signal, "SIGRTMAX", None)
    return None if last is None else int(last) - 2


class StatusSlots:
    """The shared file, as the process that started the workers sees it."""

    def __init__(self, folder: Path, workers: int) -> None:
        self.path = folder / "slots"
        size = _HEADER + max(1, workers) * _REGION
        with self.path.open("w+b") as file:
            file.truncate(size)
            self._memory = mmap.mmap(file.fileno(), size)

    def forget_positions(self) -> None:
        """Before an epoch: batches are numbered from 0 again."""
        self._memory[:_HEADER] = bytes(_HEADER)

    def forget_workers(self) -> None:
        """Before workers start: nobody has come yet."""
        for at in range(_HEADER, len(self._memory), _REGION):
            self._memory[at : at + _STACK_AT] = bytes(_STACK_AT)

    def position(self, task: int) -> int:
        """How far a batch is: 0 not begun, k the k-th of its n samples is being read, n + 1 all are read."""
        return int(_POSITION.unpack_from(self._memory, task % TASKS * _POSITION.size)[0])

    def state(self, worker: int) -> int:
        """How far a worker is."""
        return int(self._head(worker)[0])

    def started_at(self, worker: int) -> float | None:
        """When a worker began with ``worker_init_fn``, by the monotonic clock; None if it did not."""
        state, at, *_ = self._head(worker)
        return None if state == ABSENT else float(at)

    def listens(self, worker: int) -> bool:
        """Whether a worker writes its stack on the signal, which would end one that does not."""
        return bool(self._head(worker)[4])

    def unsent(self, worker: int) -> tuple[int, str] | None:
        """The batch that a worker could not send, and the exception because of which; None while all could be sent."""
        start = self._at(worker)
        written = self._memory[start + _TEXT_AT : start + _TEXT_AT + self._head(worker)[3]]
        task, _, text = written.decode(errors="replace").partition(" ")
        return (int(task), text) if text else None

    def stack(self, worker: int) -> tuple[str, ...]:
        """The lines that the worker's main thread wrote last, on the signal or to exit, innermost frame first."""
        start = self._at(worker) + _STACK_AT
        text = self._memory[start : start + _REGION - _STACK_AT].partition(b"\0")[0].decode(errors="replace")
        ident = f"0x{self._head(worker)[2]:016x}"
        found: list[str] = []
        mine = False
        for line in text.splitlines():
            if line.startswith(("Thread ", "Current thread ")):
                mine = ident in line
                found = [] if mine else found
            elif mine and line.startswith("  File "):
                found.append(line.strip())
        return tuple(found)

    def close(self) -> None:
        """Unmap the file; whoever made its folder removes it."""
        self._memory.close()

    def _at(self, worker: int) -> int:
        return _HEADER + worker * _REGION

    def _head(self, worker: int) -> tuple[int, float, int, int, int]:
        head: tuple[int, float, int, int, int] = _HEAD.unpack_from(self._memory, self._at(worker))
        return head


class _StatusSlot:
    """This process's place in the shared file."""

    def __init__(self, path: str, worker: int) -> None:
        import threading
        import time

        self._start = _HEADER + worker * _REGION
        self.file = os.open(path, os.O_RDWR | getattr(os, "O_CLOEXEC", 0))
        try:
            self.memory = mmap.mmap(self.file, 0)
        except OSError:
            os.close(self.file)
            raise
        self._head = [STARTING, time.monotonic(), threading.main_thread().ident or 0, 0, 0]
        self._write_head()

    def ready(self) -> None:
        self._head[0] = READY
        self._write_head()

    def note(self, task: int, position: int) -> None:
        _POSITION.pack_into(self.memory, task % TASKS * _POSITION.size, position)

    def note_unsent(self, text: str) -> None:
        data = text.encode(errors="replace")[:_TEXT_ROOM]
        start = self._start + _TEXT_AT
        self.memory[start : start + len(data)] = data
        self._head[3] = len(data)
        self._write_head()

    def write_stack_on_signal(self) -> None:
        import faulthandler

        number = stack_signal()
        if number is not None and hasattr(faulthandler, "register"):
            os.lseek(self.file, self._start + _STACK_AT, os.SEEK_SET)
            faulthandler.register(number, file=self.file, all_threads=True)
            self._head[4] = 1
            self._write_head()

    def write_stack(self) -> None:
        import faulthandler

        faulthandler.dump_traceback(file=self.file, all_threads=True)

    def leave(self) -> None:
        self.memory.close()
        os.close(self.file)

    def _write_head(self) -> None:
        _HEAD.pack_into(self.memory, self._start, *self._head)


slot: _StatusSlot | None = None


@contextlib.contextmanager
def main_process_slot(slots: StatusSlots) -> Iterator[None]:
    """Read in this process, as a loader without workers does, in the first slot."""
    global slot
    slot = _StatusSlot(str(slots.path), 0)
    slot.ready()
    try:
        yield
    finally:
        slot.leave()
        slot = None


class Indices(list[Any]):
    """The indices of a batch, as a sampler gave them; iterating tells how far it is."""

    def __init__(self, indices: Any, task: int) -> None:
        super().__init__(indices)
        self.task = task

    def __reduce__(self) -> tuple[Any, ...]:
        return Indices, (list(self), self.task)

    def __iter__(self) -> Iterator[Any]:
        for position, index in enumerate(list.__iter__(self), 1):
            if slot is not None:
                slot.note(self.task, position)
            yield index
        if slot is not None:
            slot.note(self.task, len(self) + 1)


class WorkerInit:
    """A ``worker_init_fn`` that takes the worker's slot, then calls the user's own."""

    def __init__(self, own: Callable[[int], Any] | None, path: str, folder: str) -> None:
        self.own = own
        self._path = path
        self._folder = folder

    def __call__(self, worker: int) -> None:
        global slot
        # Whatever fails here costs a detail of a report, and must not cost the worker.
        with contextlib.suppress(OSError, ValueError, RuntimeError):
            slot = _StatusSlot(self._path, worker)
            slot.write_stack_on_signal()
            _tell_what_is_not_sent(slot)
            _note_where_it_exits(slot)
            _keep_sockets_in(self._folder)
            FileEvents(self._folder, worker)
        if self.own is not None:
            self.own(worker)
        if slot is not None:
            slot.ready()


def _tell_what_is_not_sent(slot: _StatusSlot) -> None:
    """Have the thread that feeds the queue of batches tell of a batch that it drops.

    ``_on_queue_feeder_error`` is what CPython's own executors override (3.9 to 3.14); nothing else hears of it, and
    the process that waits for the batch waits for ever.
    """
    from multiprocessing.queues import Queue

    before = getattr(Queue, "_on_queue_feeder_error", None)
    if before is None:
        return

    def tell(error: BaseException, batch: Any) -> None:
        with contextlib.suppress(OSError, ValueError, TypeError):
            slot.note_unsent(f"{batch[0]} {type(error).__name__}: {error}")
        before(error, batch)

    Queue._on_queue_feeder_error = staticmethod(tell)  # type: ignore[attr-defined]  # not in typeshed


def _note_where_it_exits(slot: _StatusSlot) -> None:
    """Have ``os._exit`` and ``sys.exit`` write the stack first, where they end this worker's loop over batches."""
    import threading

    worker = os.getpid()

    def noting(leave: Callable[..., Any]) -> Callable[..., Any]:
        def exits(*status: Any) -> Any:
            with contextlib.suppress(OSError, ValueError, RuntimeError):
                stack = frames_of(threading.get_ident())
                if os.getpid() == worker and any(line.endswith(" in _worker_loop") for line in stack):
                    slot.write_stack()
            return leave(*status)

        return exits

    os._exit = noting(os._exit)
    sys.exit = noting(sys.exit)


def _keep_sockets_in(folder: str) -> None:
    """Put the sockets over which tensors are handed in a folder that outlives this worker.

    multiprocessing makes a folder in each worker, and a worker that is killed leaves it behind for good.
    """
    import multiprocessing

    config: dict[str, Any] = getattr(multiprocessing.current_process(), "_config", {})
    config["tempdir"] = folder


def frames_of(thread: int | None) -> tuple[str, ...]:
    """The stack of a thread of this process in the form of :meth:`StatusSlots.stack`."""
    frame = sys._current_frames().get(thread or 0)
    found = []
    while frame is not None:
        found.append(f'File "{frame.f_code.co_filename}", line {frame.f_lineno} in {frame.f_code.co_name}')
        frame = frame.f_back
    return tuple(found)
