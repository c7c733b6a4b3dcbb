"""One temporary folder for the sockets of all workers: a worker that a signal ends does not remove its own."""

from __future__ import annotations

import multiprocessing
import shutil
import tempfile
from multiprocessing import util
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_SETTING = "tempdir"
"""What processes hand on to those that they start (``multiprocessing.util.get_temp_dir``)."""

_AFTER_WORKERS = -100
"""As multiprocessing removes a folder of its own: after the workers that still run were ended and joined."""


def share_with_workers() -> Callable[[], None]:
    """Have processes that are started from now on use a folder of this one; returns what removes it."""
    settings: dict[str, Any] = multiprocessing.current_process()._config  # type: ignore[attr-defined]  # no public way
    if settings.get(_SETTING) is not None:
        return lambda: None
    folder = tempfile.TemporaryDirectory(prefix="pymp-", ignore_cleanup_errors=True)
    settings[_SETTING] = folder.name
    # A worker that is still alive as the folder is removed may put a socket there: once more where all have ended.
    util.Finalize(None, shutil.rmtree, args=(folder.name,), kwargs={"ignore_errors": True}, exitpriority=_AFTER_WORKERS)

    def remove() -> None:
        settings[_SETTING] = None
        folder.cleanup()

    return remove
