"""Ctrl-C and SIGTERM as exceptions that arrive: a run that is told to end cleans up and writes what it knows."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

_LATER_SECONDS, _MOST_DELAYS = 0.02, 50
"""A signal comes so much later, so many times at most: what blocks for a second is interrupted all the same."""
_INNERMOST = 6
"""Frames that are looked at: of a queue that starts its thread, ``put`` is the fifth."""
_TO_BE_FINISHED = re.compile(
    r"/(?:popen_fork\.py:_launch|child_process\.py:fork|tempfile\.py:\w+|multiprocessing/queues\.py:put)$"
)
"""Files and functions in which nothing is interrupted: a child made there, or a temporary file, nobody would know, and
the lock of a queue would stay taken, which closing it waits for."""
_OF_CHILDREN = getattr(signal, "SIGCHLD", None)
_MEMBERS_SECONDS = 0.1
"""How long after a worker's death a signal is waited for that was meant for all: who ends the processes of a job one
after the other, 5 ms apart, may begin with the workers (benchmarks/interruptions.py)."""


class Terminated(KeyboardInterrupt):
    """Somebody sent SIGTERM."""


_received: KeyboardInterrupt | None = None
"""What a signal has raised here since the last ``forget_signals``: whether it has arrived, Python does not say."""
_delayed: int | None = None
"""A signal that came where it would have been lost, and comes again."""
_passing: frozenset[int] = frozenset()
"""Signals that raise nothing just now."""
_arrivals: Arrivals | None = None


class Arrivals:
    """Signals as they arrive, whatever becomes of their handlers: torch's one of SIGCHLD runs inside of ours where both
    come at once, and raises before ours has done anything. CPython writes the number of each to a pipe.
    """

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        for end in (self._read, self._write):
            os.set_blocking(end, False)
        self._before = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        if self._before != -1:  # an event loop has its own
            signal.set_wakeup_fd(self._before)

    def take(self) -> frozenset[int]:
        """The numbers of those that came since."""
        numbers = b""
        with contextlib.suppress(BlockingIOError):
            while more := os.read(self._read, 4096):
                numbers += more
        return frozenset(numbers)

    def close(self) -> None:
        """Let go of the pipe, unless somebody has taken its place."""
        current = signal.set_wakeup_fd(-1)
        if current != self._write:
            signal.set_wakeup_fd(current)
        os.close(self._read)
        os.close(self._write)

    def leave(self) -> None:
        """In a forked child, whose signals are not its parent's."""
        if signal.set_wakeup_fd(-1) != self._write:
            return
        os.close(self._read)
        os.close(self._write)


def raise_on_signals(why: str) -> Callable[[], None]:
    """Have SIGTERM raise Terminated with ``why`` in the main thread, once, and keep Ctrl-C from getting lost.

    Returns what puts the handlers back. A handler of somebody else stays, and all do outside the main thread.
    """
    global _arrivals
    ours = os.getpid()
    of_children: list[Any] = []
    delays = 0

    def interrupted(number: int, frame: FrameType | None) -> None:
        nonlocal delays
        global _received, _delayed
        if os.getpid() != ours:  # a child made by fork does as if we had not been here
            signal.signal(number, defaults[number])
            os.kill(os.getpid(), number)
            return
        if _OF_CHILDREN:  # torch raises out of it, and workers may have got the same signal
            # No default action: Python tells of a signal that is on its way and has no handler any more.
            of_children.append(signal.signal(_OF_CHILDREN, _let_pass))
        if delays < _MOST_DELAYS and would_be_lost(frame):
            delays += 1
            _delayed = number
            later = threading.Timer(_LATER_SECONDS, _send_again)
            later.daemon = True
            later.start()
        elif number != signal.SIGTERM or not isinstance(_received, Terminated):
            delays, _delayed = 0, None
            _received = Terminated(why) if number == signal.SIGTERM else KeyboardInterrupt()
            if number not in _passing:
                raise _received

    defaults: dict[int, Any] = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    in_main_thread = threading.current_thread() is threading.main_thread()
    taken = [number for number, own in defaults.items() if in_main_thread and signal.getsignal(number) == own]
    for number in taken:
        signal.signal(number, interrupted)
    arrivals = Arrivals() if taken and _arrivals is None else None
    _arrivals = _arrivals or arrivals
    forget_signals()

    def put_back() -> None:
        global _arrivals
        if arrivals is not None:
            arrivals.close()
            _arrivals = None
        for number in taken:
            if signal.getsignal(number) is interrupted:  # the user's code may have set its own since
                signal.signal(number, defaults[number])
        forget_signals()
        known = [handler for handler in of_children if handler not in (signal.SIG_DFL, _let_pass)]
        if _OF_CHILDREN and known:
            signal.signal(_OF_CHILDREN, known[-1])

    return put_back


def _send_again() -> None:
    """Send a signal that was delayed, unless it has been raised since."""
    if _delayed is not None:
        os.kill(os.getpid(), _delayed)


def _let_pass(_number: int, _frame: FrameType | None) -> None:
    pass


def ignore_termination() -> None:
    """Let a SIGTERM pass: this process ends by itself just now, with its own exit status."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def forget_signals() -> None:
    """Begin anew: whatever a signal has raised so far was somebody else's to handle."""
    global _received, _passing
    _received, _passing = None, frozenset()
    if _arrivals is not None:
        _arrivals.take()


def raise_received(*, wait: bool = False) -> None:
    """Raise what a signal has raised before, if it got lost on the way or another exception has taken its place.

    ``wait`` for one that may come in a moment: for all that is known, a worker has got it first.
    """
    _send_again()
    _call_missed()
    if wait and _received is None:
        time.sleep(_MEMBERS_SECONDS)
        _call_missed()
    if _received is not None:
        raise _received


def _call_missed() -> None:
    """Call our handler for a signal whose own call has come to nothing."""
    came = _arrivals.take() if _arrivals is not None else frozenset()
    for number in sorted(came & {signal.SIGINT, signal.SIGTERM}):
        handler = signal.getsignal(number)
        if _received is None and getattr(handler, "__module__", "") == __name__:
            handler(number, None)  # type: ignore[operator,misc]  # it is ours


@contextlib.contextmanager
def finishing() -> Iterator[None]:
    """Have no signal raise in this block, in which a run writes what it knows, and no SIGTERM after it."""
    pass_signals()
    try:
        yield
    finally:
        pass_termination()


def pass_signals() -> None:
    """Have no signal raise until ``pass_termination``: what is left to do takes a moment."""
    global _passing
    _passing = frozenset({signal.SIGINT, signal.SIGTERM})


def pass_termination() -> None:
    """Have no SIGTERM raise any more: the run ends by itself just now."""
    global _passing
    _passing = frozenset({signal.SIGTERM})


def would_be_lost(frame: FrameType | None) -> bool:
    """Whether what a signal handler raises in this frame never arrives, or leaves something that nobody knows.

    Python prints and drops what is raised in ``__del__`` and in the hooks of a fork, which keep a signal waiting for as
    long as the fork takes; raised in the frame that forks, it loses the child. Where a generator has only just begun,
    no line is under way, and pytest 9.2 cannot show a traceback that ends there: the run would end with exit status 1.
    """
    if frame is not None and frame.f_lineno is None:
        return True
    depth = 0
    while frame is not None:
        code = frame.f_code
        place = f"{code.co_filename}:{code.co_name}"
        if code.co_name == "__del__" or (depth < _INNERMOST and _TO_BE_FINISHED.search(place)):
            return True
        frame, depth = frame.f_back, depth + 1
    return False


def _leave_arrivals() -> None:
    global _arrivals
    if _arrivals is not None:
        _arrivals.leave()
        _arrivals = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_arrivals)
