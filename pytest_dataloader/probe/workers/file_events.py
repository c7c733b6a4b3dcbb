"""Files that workers write while others read them, and temporary ones that they leave: by Python's audit events."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

EventKind = Literal["write", "read", "temporary"]

_MOST_EVENTS = 2_000
"""Of a worker: one that writes a file for each sample is told by its first ones."""
_TICK_SECONDS = 0.01
"""Files carry the time of the kernel's last tick; a file that was closed within it counts as whole."""


@dataclass(frozen=True, slots=True)
class FileEvent:
    """A worker opened a file to ``write`` it anew, or to ``read`` what was changed since workers began, or made a
    ``temporary`` file or folder; ``seconds`` since the epoch.
    """

    kind: EventKind
    worker: int
    seconds: float
    path: str


class FileEvents:
    """Writes a worker's events into a file of its own. Only for workers: an audit hook cannot be taken away again."""

    def __init__(self, folder: str, worker: int) -> None:
        self._worker = worker
        self._begun = time.time()
        self._left = _MOST_EVENTS
        self._noting = False
        self._own = folder
        self._file = os.open(Path(folder, f"{os.getpid()}.events"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        sys.addaudithook(self._hear)

    def _hear(self, event: str, given: tuple[Any, ...]) -> None:
        if self._noting or not self._left:
            return
        if event == "open" and isinstance(given[0], str | bytes | os.PathLike):
            self._noting = True
            try:
                self._note_open(os.fsdecode(given[0]), given[1], given[2])
            finally:
                self._noting = False
        elif event in ("tempfile.mkstemp", "tempfile.mkdtemp"):
            self._write("temporary", str(given[0]))

    def _note_open(self, path: str, mode: Any, flags: Any) -> None:
        anew = isinstance(mode, str) and ("w" in mode or "x" in mode)
        if anew or (isinstance(flags, int) and flags & os.O_TRUNC):
            self._write("write", path)
            return
        with contextlib.suppress(OSError, ValueError):
            seen = Path(path).stat()
            if stat.S_ISREG(seen.st_mode) and seen.st_mtime >= self._begun - 1:
                self._write("read", path)

    def _write(self, kind: EventKind, path: str) -> None:
        path = os.path.abspath(path)  # noqa: PTH100  # resolve() would read links
        if path.startswith((self._own, "/dev/", "/proc/")) or "\n" in path:
            return
        self._left -= 1
        with contextlib.suppress(OSError):
            os.write(self._file, f"{kind} {self._worker} {time.time()} {path}\n".encode(errors="surrogateescape"))


def events_in(folder: Path) -> list[FileEvent]:
    """What all workers have written, in the order of time."""
    found = []
    for file in folder.glob("*.events"):
        for line in file.read_bytes().decode(errors="surrogateescape").splitlines():
            kind, worker, seconds, path = line.split(" ", 3)
            found.append(FileEvent(kind, int(worker), float(seconds), path))  # type: ignore[arg-type]  # as written
    return sorted(found, key=lambda event: event.seconds)


def torn_files(events: Sequence[FileEvent]) -> tuple[str, ...]:
    """Files that one worker read while another had not finished writing them, in words.

    Of a file that was written anew later nothing is told: its time is that of the later one.
    """
    writing = {event.path: event for event in events if event.kind == "write"}
    told: dict[str, str] = {}
    for event in events:
        begun = writing.get(event.path)
        if event.kind != "read" or begun is None or begun.worker == event.worker or begun.seconds > event.seconds:
            continue
        late = _written_after(event)
        if late > 0:
            when = f"{late:.2g} s before worker {begun.worker} had written it"
            told.setdefault(event.path, f"worker {event.worker} read {Path(event.path).name} {when}")
    return tuple(told.values())


def _written_after(event: FileEvent) -> float:
    """Seconds from an event to the last time that its file was written; 0 for one that is empty, as locks are."""
    with contextlib.suppress(OSError):
        seen = Path(event.path).stat()
        late = seen.st_mtime - event.seconds
        return late if stat.S_ISREG(seen.st_mode) and seen.st_size and late > _TICK_SECONDS else 0.0
    return 0.0


def temporary_left(events: Iterable[FileEvent]) -> tuple[str, ...]:
    """Temporary files and folders that are still there."""
    made = dict.fromkeys(event.path for event in events if event.kind == "temporary")
    return tuple(path for path in made if os.path.lexists(path))
