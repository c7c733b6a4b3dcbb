"""What a process reads of files while it makes samples: bytes by /proc/self/io, paths by Python's audit events."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SLACK = 65536
"""Bytes of a sample that pipes, modules and the like may read beside its files."""
_MEASURED = 1.2
"""Times the size of the files that a sample opens, at most, that its reads are taken to be of these."""


@dataclass(frozen=True, slots=True)
class FileReads:
    """What so many ``samples`` read: ``bytes`` in all, of ``files`` that hold ``file_bytes`` together.

    ``settled``: the second half of the samples opened no file that the first had not. ``most_read`` is the file that
    most samples opened.
    """

    samples: int
    bytes: int
    files: int
    file_bytes: int
    settled: bool
    most_read: str


class ReadCounter:
    """Counts reads sample by sample. Only for a child process: an audit hook cannot be taken away again.

    Reads of files that a library opens by itself raise no event: samples that read more than the files hold that they
    were seen to open are not counted.
    """

    def __init__(self) -> None:
        self._opened: list[str] = []
        self._looking = False
        self._before: int | None = None
        self._of_samples: list[tuple[int, dict[str, int]]] = []
        sys.addaudithook(self._note)

    def _note(self, event: str, given: tuple[Any, ...]) -> None:
        if self._looking and event == "open" and isinstance(given[0], str | bytes | os.PathLike):
            self._opened.append(os.fsdecode(given[0]))

    def begin(self) -> None:
        """A sample is about to be read."""
        self._opened.clear()
        self._before = _bytes_read()
        self._looking = True

    def end(self) -> None:
        """It has been read."""
        self._looking = False
        after = _bytes_read()
        if after is None or self._before is None:
            return
        files = {path: size for path in set(self._opened) if (size := _size_of(path))}
        if after - self._before <= _MEASURED * sum(files.values()) + _SLACK:
            self._of_samples.append((after - self._before, files))

    def total(self) -> FileReads | None:
        """All that was counted; None where no sample opened a file."""
        sizes: dict[str, int] = {}
        times: Counter[str] = Counter()
        half: set[str] = set()
        for number, (_, files) in enumerate(self._of_samples):
            sizes |= files
            times.update(files)
            half |= files.keys() if number < len(self._of_samples) // 2 else set()
        if not sizes:
            return None
        return FileReads(
            samples=len(self._of_samples),
            bytes=sum(count for count, _ in self._of_samples),
            files=len(sizes),
            file_bytes=sum(sizes.values()),
            settled=half == sizes.keys(),
            most_read=Path(times.most_common(1)[0][0]).name,
        )


def _size_of(path: str) -> int:
    """Bytes of a regular file; 0 for anything else."""
    with contextlib.suppress(OSError, ValueError):
        seen = Path(path).stat()
        return seen.st_size if stat.S_ISREG(seen.st_mode) else 0
    return 0


def _bytes_read() -> int | None:
    """What this process has read by system calls, from files or the page cache; None where that is not counted."""
    try:
        with Path("/proc/self/io").open(encoding="ascii") as file:
            return int(file.readline().split()[1])
    except (OSError, ValueError, IndexError):
        return None
