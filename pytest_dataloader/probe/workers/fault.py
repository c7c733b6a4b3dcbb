"""What went wrong with a worker, or with this process where it loads by itself: one fault, named to the sample."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from typing import Any, Literal

WorkerFaultKind = Literal["none", "killed", "exception", "hang", "exit"]
Phase = Literal["", "starting", "worker_init_fn", "reading", "collating", "sending", "receiving", "sampling", "exiting"]
"""What a worker was at: ``starting`` is before any code of the user's but imports and unpickling."""


@dataclass(frozen=True, slots=True)
class WorkerFault:
    """The first thing that went wrong. ``worker`` is None for this process; ``exception`` is ``Type: message``.

    ``sample`` is the index that was being read, where it is known, and ``sample_indices`` all those of the batch that
    was being made. ``stack`` has the innermost frame last, without those of torch's own loop. ``certain`` is False
    for a wait of which it cannot be told whether it ends.
    """

    kind: WorkerFaultKind = "none"
    worker: int | None = None
    pid: int | None = None
    signal: str = ""
    exit_code: int | None = None
    exception: str = ""
    phase: Phase = ""
    sample: Any = None
    sample_indices: tuple[Any, ...] = ()
    stack: tuple[str, ...] = ()
    waited_seconds: float = 0.0
    why: str = ""
    certain: bool = True


NONE = WorkerFault()


def signal_name(exit_code: int | None) -> str:
    """The name of the signal that ended a process; empty where it exited by itself.

    >>> signal_name(-9), signal_name(3)
    ('SIGKILL', '')
    """
    if exit_code is None or exit_code >= 0:
        return ""
    try:
        return signal.Signals(-exit_code).name
    except ValueError:
        return f"signal {-exit_code}"
