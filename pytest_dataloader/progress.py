"""What a check is doing just now, at the end of pytest's current line of the terminal; gone when it is done."""

from __future__ import annotations

import contextlib
import importlib
import os
import shutil
import sys
import time
from typing import TYPE_CHECKING, Any, TextIO

from pytest_dataloader.printable import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    import pytest

PERIOD_SECONDS = 0.2
"""Between two updates. Each one suspends pytest's capturing for about 0.1 ms, which is not to show in the figures."""
_LEAST_ROOM = 16
_SAVE, _RESTORE, _ERASE_TO_END = "\x1b7", "\x1b8", "\x1b[K"


def wanted(config: pytest.Config, environ: Mapping[str, str]) -> bool:
    """True where somebody watches: stderr is a terminal, not a CI log, not a worker of pytest-xdist, not ``-q``."""
    with _uncaptured(config):
        watched = sys.stderr is not None and sys.stderr.isatty()
    return (
        watched
        and environ.get("TERM", "dumb") != "dumb"
        and not environ.get("CI")
        and not hasattr(config, "workerinput")
        and config.pluginmanager.hasplugin("terminalreporter")
        and config.get_verbosity() >= 0
    )


def _uncaptured(config: pytest.Config) -> AbstractContextManager[None]:
    """A block in which stderr is the terminal's, as pytest's own live logging gets it."""
    capture: Any = config.pluginmanager.getplugin("capturemanager")
    return contextlib.nullcontext() if capture is None else capture.global_and_fixture_disabled()


def progress_text(what: str, share: float, room: int) -> str:
    """A progress text that fits into ``room`` columns; empty where that is too little to say anything.

    >>> progress_text("train throughput: warm-up", 0.4, 60)
    'train throughput: warm-up 40 %'
    >>> progress_text("train throughput: warm-up", 0.4, 20)
    '...put: warm-up 40 %'
    """
    full = f"{what} {min(max(share, 0.0), 1.0):.0%}".replace("%", " %")
    if room < _LEAST_ROOM:
        return ""
    return full if len(full) <= room else f"...{full[3 - room :]}"


class ProgressLine:
    """Writes progress to stderr, past pytest's capturing, to the right of what pytest has written on its line."""

    def __init__(self, config: pytest.Config, clock: Callable[[], float] = time.monotonic) -> None:
        self._config = config
        self._clock = clock
        self._next = 0.0
        self._shown = False

    def of(self, label: str) -> Callable[[str, float], None]:
        """The progress function of one measurement; ``label`` comes first in each text."""

        def progress(what: str, share: float) -> None:
            now = self._clock()
            if now >= self._next:
                self._next = now + PERIOD_SECONDS
                self._write(progress_text(printable(f"{label}: {what}"), share, self._room()))

        return progress

    def clear(self) -> None:
        """Leave the line as pytest has written it."""
        if self._shown:
            self._write("")
        self._next = 0.0

    def _room(self) -> int:
        writer = self._config.get_terminal_writer()
        # Where stdout goes elsewhere (a pipe), the whole line of the terminal is free.
        used = writer.width_of_current_line if sys.__stdout__ is not None and sys.__stdout__.isatty() else 0
        return int(writer.fullwidth) - int(used) - 1

    def _write(self, shown: str) -> None:
        with _uncaptured(self._config):
            self._config.get_terminal_writer().flush()
            sys.stderr.write(f"{_SAVE}{shown}{_ERASE_TO_END}{_RESTORE}")
            sys.stderr.flush()
        self._shown = bool(shown)


class StandaloneLine:
    """Shows progress in a line of a terminal that nobody else writes to meanwhile, or below a cell of a notebook."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._next = 0.0
        self._handle: Any = None
        self.watched = stream.isatty() and os.environ.get("TERM", "dumb") != "dumb" and not os.environ.get("CI")

    def show(self, what: str, share: float) -> None:
        """Show what is going on, now and then."""
        now = self._clock()
        if now >= self._next and (self.watched or in_notebook()):
            self._next = now + PERIOD_SECONDS
            room = shutil.get_terminal_size().columns - 1
            self._write(progress_text(printable(what), share, room))

    def clear(self) -> None:
        """Leave an empty line."""
        if self.watched or self._handle is not None:
            self._write("")

    def _write(self, shown: str) -> None:
        if self.watched:
            self._stream.write(f"\r{shown}{_ERASE_TO_END}")
            self._stream.flush()
            return
        display: Any = importlib.import_module("IPython.display").display
        content = {"text/plain": shown}
        if self._handle is None:
            self._handle = display(content, raw=True, display_id=True)
        else:
            self._handle.update(content, raw=True)


def in_notebook() -> bool:
    """Whether a kernel of Jupyter runs this."""
    shell = sys.modules.get("IPython")
    return shell is not None and hasattr(shell.get_ipython(), "kernel")


def progress_line(config: pytest.Config) -> ProgressLine | None:
    """The progress line of a run, or None where nobody watches."""
    return ProgressLine(config) if wanted(config, os.environ) else None
