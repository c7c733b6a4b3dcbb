"""What threads raise because the iterator that they take batches from was shut down under them: nobody's fault."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.internals import torch_private

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType


def is_of_shutdown(traceback: TracebackType | None) -> bool:
    """Whether an exception came through an iterator of torch's that has been shut down."""
    while traceback is not None:
        caller = traceback.tb_frame.f_locals.get("self")
        if torch_private.is_iterator(caller) and torch_private.is_shutting_down(caller):
            return True
        traceback = traceback.tb_next
    return False


class _Hook:
    """Passes on what threads raise, but for that."""

    def __init__(self, tell: Callable[[Any], None]) -> None:
        self._tell = tell

    def __call__(self, raised: Any) -> None:
        if not is_of_shutdown(raised.exc_traceback):
            self._tell(raised)


def expect_shutdown_errors() -> None:
    """Have no such exception told from now on: a thread may notice seconds after the measuring has ended."""
    if not isinstance(threading.excepthook, _Hook):
        threading.excepthook = _Hook(threading.excepthook)
