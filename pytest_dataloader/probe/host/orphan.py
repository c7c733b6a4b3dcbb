"""An end for workers whose loader's process is gone, where torch does not see to it.

Imported by workers of every start method, so it imports next to nothing.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class EndsWithItsLoader:
    """A ``worker_init_fn`` after which the worker ends with the process that started it; then it calls the ``first``.

    Torch's workers ask every five seconds whether their parent process is another one by now. Under forkserver that is
    the fork server, which lives as long as its last child, and a worker under spawn whose loader's process was gone
    before it had imported torch knows no other parent: such workers never end (seen with torch 2.13 and Python 3.11).
    """

    def __init__(self, first: Callable[[int], Any] | None) -> None:
        self._first = first

    def __call__(self, worker: int) -> None:
        threading.Thread(target=_end_with, args=(multiprocessing.parent_process(),), daemon=True).start()
        if self._first is not None:
            self._first(worker)


def _end_with(starter: Any) -> None:
    if starter is not None:
        if hasattr(signal, "pthread_sigmask"):
            # Who looks at what a worker waits for (``waits``) knows a thread of service by this.
            signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        starter.join()
        os._exit(1)
