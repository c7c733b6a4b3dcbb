"""A bound on waiting: a loader that hangs ends the measuring instead of the day."""

from __future__ import annotations

import contextlib
import signal
import threading
from typing import TYPE_CHECKING

from pytest_dataloader.probe.host.interruption import would_be_lost

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

_LATER_SECONDS = 0.02


class Hang(Exception):
    """Nothing came for as long as we were ready to wait."""


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[Callable[[], None]]:
    """Raise Hang in this thread once ``seconds`` have passed since the last call of the function given.

    Uses the interval timer, and leaves it alone where somebody else does (pytest-timeout), outside the main
    thread and where there is none (Windows): then nothing is bounded here. A signal does not
    interrupt code that never returns to Python.
    """
    if not _timer_is_free():
        yield lambda: None
        return

    def give_up(_signal: int, frame: FrameType | None) -> None:
        if would_be_lost(frame):
            signal.setitimer(signal.ITIMER_REAL, _LATER_SECONDS)
        else:
            raise Hang

    previous = signal.signal(signal.SIGALRM, give_up)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        yield lambda: _ignore(signal.setitimer(signal.ITIMER_REAL, seconds))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def _ignore(_value: object) -> None:
    return None


def _timer_is_free() -> bool:
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        return False
    return signal.getsignal(signal.SIGALRM) == signal.SIG_DFL and signal.getitimer(signal.ITIMER_REAL)[0] == 0
