"""Ctrl-C and SIGTERM as exceptions that arrive: a run that is told to end cleans up and writes what it knows."""

from __future__ import annotations

import os
import signal
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

_LATER_SECONDS = 0.02
_INNERMOST = 4


class Terminated(KeyboardInterrupt):
    """Somebody sent SIGTERM."""


def raise_on_signals(why: str) -> Callable[[], None]:
    """Have SIGTERM raise Terminated with ``why`` in the main thread, once, and keep Ctrl-C from getting lost.

    Returns what puts the handlers back. A handler of somebody else stays, and all do outside the main thread.
    """
    ours = os.getpid()

    def interrupted(number: int, frame: FrameType | None) -> None:
        if os.getpid() != ours:  # a child made by fork does as if we had not been here
            signal.signal(number, defaults[number])
            os.kill(os.getpid(), number)
        elif would_be_lost(frame):
            later = threading.Timer(_LATER_SECONDS, os.kill, (ours, number))
            later.daemon = True
            later.start()
        elif number == signal.SIGTERM:
            ignore_termination()
            raise Terminated(why)
        else:
            raise KeyboardInterrupt

    defaults: dict[int, Any] = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    in_main_thread = threading.current_thread() is threading.main_thread()
    taken = [number for number, own in defaults.items() if in_main_thread and signal.getsignal(number) == own]
    for number in taken:
        signal.signal(number, interrupted)

    def put_back() -> None:
        for number in taken:
            signal.signal(number, defaults[number])

    return put_back


def ignore_termination() -> None:
    """Let a SIGTERM pass: this process ends by itself just now, with its own exit status."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def would_be_lost(frame: FrameType | None) -> bool:
    """Whether what a signal handler raises in this frame never arrives, or leaves a process that nobody knows.

    Python prints and drops what is raised in ``__del__`` and in the hooks of a fork, which keep a signal waiting for as
    long as the fork takes; raised in the frame that forks, it loses the child.
    """
    depth = 0
    while frame is not None:
        code = frame.f_code
        forks = code.co_name == "_launch" and code.co_filename.endswith("popen_fork.py")
        if code.co_name == "__del__" or (forks and depth < _INNERMOST):
            return True
        frame, depth = frame.f_back, depth + 1
    return False
