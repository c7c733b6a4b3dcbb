"""A forked child that runs one function, talks over pipes, and leaves no trace: killed, never exited."""

from __future__ import annotations

import contextlib
import ctypes
import logging
import math
import os
import pickle
import select
import signal
import stat
import struct
import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.host import process_tree, segments, waits

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

LIFETIME = 60
"""Seconds after which a child ends by its own alarm, should nobody have killed it."""
AT_START: list[Callable[[], None]] = []
"""What else each child does before anything: leave alone what it has inherited and the parent goes on with."""
_PR_SET_PDEATHSIG = 1
_LENGTH = struct.Struct("<Q")
_RAISED = 1 << 63
"""Marks the length of a message that is not one of ``run``, but what it raised."""
_LOOK_SECONDS = 0.5
"""Between two looks at a child that has not answered yet: each takes 50 us."""
_END_SECONDS = 1.0
"""A child that has closed its pipe is about to end."""


class Child:
    """One end of the pipes between a parent and a child forked by :meth:`fork`, and the child's pid."""

    def __init__(self, pid: int, inward: int, outward: int) -> None:
        self.pid = pid
        self._raised = ""
        self._in = inward
        self._out = outward

    @classmethod
    def fork(cls, run: Callable[[Child], None]) -> Child:
        """Fork a child that calls ``run`` with its own end and then sleeps until it is killed.

        The child has no stdout, stderr or logging, no handler of the parent's, and file descriptions of its own
        for every regular file that the parent reads: a shared one would move the parent's position. It leads a process
        group, with all that it starts: workers of a loader would look for their parent only every five seconds.
        """
        libc = _libc()
        down_in, down_out = os.pipe()
        up_in, up_out = os.pipe()
        parent = os.getpid()
        with warnings.catch_warnings():
            # Python 3.12+ warns of forking a process with threads; DataLoader's own workers are forked alike.
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        with contextlib.suppress(OSError):  # in both processes, as either may be first
            os.setpgid(pid, pid)
        if pid:
            os.close(down_in)
            os.close(up_out)
            return cls(pid, up_in, down_out)
        try:
            os.close(down_out)
            os.close(up_in)
            _settle(libc, parent)
            child = cls(os.getpid(), down_in, up_out)
            try:
                run(child)
                child.sleep()
            except BaseException as error:
                child._tell(f"{type(error).__name__}: {error}".encode(errors="replace"), _RAISED)
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError  # pragma: no cover

    def tell(self, message: bytes) -> None:
        """Send a message to the other side; silently nowhere if that is gone."""
        self._tell(message)

    def _tell(self, message: bytes, kind: int = 0) -> None:
        data = _LENGTH.pack(len(message) | kind) + message
        with contextlib.suppress(OSError):
            while data:
                data = data[os.write(self._out, data) :]

    def hear(self, seconds: float) -> bytes | None:
        """The other side's next message; None if none came in time or it is gone: ``end`` tells which."""
        deadline = time.monotonic() + seconds
        head = self._read(_LENGTH.size, deadline)
        if head is None:
            return None
        length = _LENGTH.unpack(head)[0]
        message = self._read(length & ~_RAISED, deadline)
        if length & _RAISED and message is not None:
            self._raised = message.decode(errors="replace")
            return None
        return message

    def hear_unless_deadlocked(self, seconds: float) -> bytes | None:
        """The other side's next message, as ``hear`` gives it; None at once where the child can never send one.

        A lock that a thread of the parent held at the fork stays locked in the child.
        """
        deadline, deadlocked_since = time.monotonic() + seconds, math.inf
        while (now := time.monotonic()) < deadline:
            if self._answers(min(_LOOK_SECONDS, deadline - now)):
                return self.hear(deadline - time.monotonic())
            deadlocked = waits.process_activity(self.pid).deadlocked
            deadlocked_since = min(deadlocked_since, now) if deadlocked else math.inf
            if now - deadlocked_since >= waits.DEADLOCK_SECONDS:
                break
        return None

    def _answers(self, seconds: float) -> bool:
        """Whether something can be read, or the other side is gone, within a time."""
        poll = select.poll()
        poll.register(self._in, select.POLLIN)
        return bool(poll.poll(seconds * 1000))

    def end(self) -> str:
        """How the child has ended by itself, in words; empty where it is still there."""
        if self._raised:
            return f"raised {self._raised}"
        deadline = time.monotonic() + _END_SECONDS
        while True:
            status = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if status is not None:
                killed = status.si_code != os.CLD_EXITED
                return f"was killed by {signal.Signals(status.si_status).name}" if killed else "exited"
            poll = select.poll()
            poll.register(self._in, 0)
            if not poll.poll(0) or time.monotonic() > deadline:  # its end of the pipe is open
                return ""
            time.sleep(0.005)

    def _read(self, size: int, deadline: float) -> bytes | None:
        data = b""
        while len(data) < size:
            left = deadline - time.monotonic()
            if left <= 0 or not self._answers(left):
                return None
            more = os.read(self._in, size - len(data))
            if not more:
                return None
            data += more
        return data

    def sleep(self) -> None:
        """In the child: do nothing until killed."""
        while True:
            signal.pause()

    def has_children(self) -> bool:
        """Whether the child forked in its turn: pages that it copied look shared again then."""
        return bool(process_tree.children(self.pid))

    def kill(self) -> None:
        """End the child at once, without any of its exit code running, and what it has started, and reap it."""
        started = process_tree.descendant_pids(self.pid)
        for end_all in (os.killpg, os.kill):  # the second where it could not be made to lead a group
            with contextlib.suppress(ProcessLookupError):
                end_all(self.pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)
        process_tree.wait_for_end(started, _END_SECONDS)
        segments.unlink_of([self.pid, *started])  # one that they were just making
        for end in (self._in, self._out):
            with contextlib.suppress(OSError):
                os.close(end)

    def __enter__(self) -> Child:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()


def ask(function: Callable[[], Any], seconds: float) -> Any:
    """Call ``function`` in a forked child and return what it returned (pickled); None if it failed, took longer, or
    waits for a lock that nobody can release.
    """

    if not hasattr(os, "fork"):
        return None

    def run(child: Child) -> None:
        child.tell(pickle.dumps(function()))

    with Child.fork(run) as child:
        answer = child.hear_unless_deadlocked(seconds)
    return None if answer is None else pickle.loads(answer)


def _libc() -> ctypes.CDLL | None:
    return ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def _settle(libc: ctypes.CDLL | None, parent: int) -> None:
    for handled in (signal.SIGALRM, signal.SIGTERM, signal.SIGINT, signal.SIGCHLD, signal.SIGHUP):
        signal.signal(handled, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.alarm(LIFETIME)
    if libc is not None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
    sys.settrace(None)
    sys.setprofile(None)
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    for prepare in AT_START:
        prepare()
    _reopen_files()
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = Path(os.devnull).open("w", encoding="utf-8")  # type: ignore[misc]  # noqa: SIM115


def _reopen_files() -> None:
    """Give this process its own description of each regular file open for reading, at the same position."""
    import fcntl

    with contextlib.suppress(OSError):
        for entry in list(Path("/proc/self/fd").iterdir()):
            number = int(entry.name)
            with contextlib.suppress(OSError):
                flags = fcntl.fcntl(number, fcntl.F_GETFL)
                if not stat.S_ISREG(os.fstat(number).st_mode) or flags & os.O_ACCMODE == os.O_WRONLY:
                    continue
                position = os.lseek(number, 0, os.SEEK_CUR)
                # Other flags are of the first opening only, and an unlinked temporary file refuses its own.
                own = os.open(f"/proc/self/fd/{number}", flags & (os.O_ACCMODE | os.O_APPEND | os.O_NONBLOCK))
                os.lseek(own, position, os.SEEK_SET)
                inheritable = os.get_inheritable(number)
                os.dup2(own, number, inheritable)
                os.close(own)
