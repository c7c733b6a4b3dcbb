"""One measurement at a time: a lock across the processes of one pytest-xdist run."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

    from pytest_dataloader.distributed.job import Job


def lock_path(config: pytest.Config, job: Job | None = None) -> Path | None:
    """The lock file of an xdist run or of a job's ranks, or None where this process measures alone."""
    if job is not None:
        return path_of_run(job.place.run)
    workerinput = getattr(config, "workerinput", None)
    return None if workerinput is None else path_of_run(workerinput["testrunuid"])


def path_of_run(uid: str) -> Path:
    """The lock file that all workers of the run ``uid`` on this machine share."""
    return Path(tempfile.gettempdir(), f"pytest-dataloader-{uid}.lock")


@contextlib.contextmanager
def alone(path: Path | None) -> Iterator[None]:
    """Wait until no other process holds ``path``, and hold it for as long as the block lasts.

    The lock belongs to this process only: forked loader workers do not inherit it, and it goes when the process dies.
    """
    if path is None:
        yield
        return
    # POSIX record locks are lost when any descriptor of the file is closed: this is the only place that opens it.
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _lock(descriptor)
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Hold a lock on a folder for as long as the block lasts, so that runs change files in it one after the other.

    It leaves no file behind. Windows cannot lock folders: there two runs at a time are as unsafe as two editors.
    """
    if sys.platform == "win32":
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        while True:
            try:
                return msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            except OSError:  # held by another worker; there is no call that waits without a limit
                time.sleep(0.05)

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.lockf(descriptor, fcntl.LOCK_EX)
