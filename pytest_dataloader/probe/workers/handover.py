"""What a process is handed as it starts, and what becomes of the rest where it has ended before it read all."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from typing import TYPE_CHECKING

from pytest_dataloader.probe.host import process_tree

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

_TICK = 0.2
_BYTES = 1 << 20
_DEPTH = 4
"""Frames from the innermost one, that writes, to the one that launches."""


@contextlib.contextmanager
def drain_pipe_of_dead_child() -> Iterator[None]:
    """Let this thread start processes by spawn that may end at once, as where the main module cannot be imported.

    multiprocessing writes what a process is handed to a pipe whose reading end it keeps open itself. Once the process
    has ended, a pipe that is full, 64 KiB, would be waited for without end: what lies in it is read and dropped here.
    """
    owner, stop = threading.get_ident(), threading.Event()
    thread = threading.Thread(target=_watch, args=(owner, stop), name="pytest-dataloader handover", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _watch(owner: int, stop: threading.Event) -> None:
    before: FrameType | None = None
    while not stop.wait(_TICK):
        launch = _launch(sys._current_frames().get(owner))
        if launch is not None and launch is before:  # twice: one that goes on closes the pipe
            _drop(launch)
        before = launch


def _launch(frame: FrameType | None) -> FrameType | None:
    """The frame that launches a process by spawn, where that is what a thread is at."""
    for _ in range(_DEPTH):
        if frame is None:
            break
        if frame.f_code.co_name == "_launch" and frame.f_code.co_filename.endswith("popen_spawn_posix.py"):
            return frame
        frame = frame.f_back
    return None


def _drop(launch: FrameType) -> None:
    """Empty the pipe to a process that has ended."""
    pid, pipe = getattr(launch.f_locals.get("self"), "pid", None), launch.f_locals.get("child_r")
    if pid is None or pipe is None or not process_tree.has_ended(pid):
        return
    with contextlib.suppress(OSError):  # BlockingIOError once it is empty
        os.set_blocking(pipe, False)
        while os.read(pipe, _BYTES):
            pass
