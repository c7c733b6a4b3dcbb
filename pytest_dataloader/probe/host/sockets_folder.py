"""One temporary folder for the sockets of all workers: a worker that a signal ends does not remove its own."""

from __future__ import annotations

import multiprocessing
import tempfile
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_SETTING = "tempdir"
"""What processes hand on to those that they start (``multiprocessing.util.get_temp_dir``)."""


def share_with_workers() -> Callable[[], None]:
    """Have processes that are started from now on use a folder of this one; returns what removes it."""
    settings: dict[str, Any] = multiprocessing.current_process()._config  # type: ignore[attr-defined]  # no public way
    if settings.get(_SETTING) is not None:
        return lambda: None
    folder = tempfile.TemporaryDirectory(prefix="pymp-", ignore_cleanup_errors=True)
    settings[_SETTING] = folder.name

    def remove() -> None:
        settings[_SETTING] = None
        folder.cleanup()

    return remove
