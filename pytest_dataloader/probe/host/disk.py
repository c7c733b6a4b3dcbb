"""Files that settings name: regular ones alone are read, up to a limit, or replaced."""

from __future__ import annotations

import os
import stat
from pathlib import Path

_MOST_BYTES = 10_000_000
"""Of settings and of baselines: one of a thousand loaders has 0.5 MB."""


class NotRegularError(OSError):
    """What lies at a path is a directory, a pipe, a socket or a device."""


class TooLargeError(OSError):
    """A file holds more than anybody meant to be read."""


def mode_of(path: Path) -> int | None:
    """The permissions of a regular file; None where there is none. Raises OSError for anything else at the path."""
    try:
        seen = path.stat()
    except FileNotFoundError:
        return None
    _require_regular(path, seen)
    return stat.S_IMODE(seen.st_mode)


def destination(text: str, folder: Path) -> Path:
    """The path that a text names, seen from a folder, looked at before there is anything to write.

    Raises ValueError for what is no regular file, and where folders would have to be made outside ``folder``.
    """
    if not text.strip():
        raise ValueError("expected the path of a file, got nothing")
    try:
        path = folder / Path(text).expanduser()
        mode_of(path)
    except RuntimeError:  # of expanduser
        raise ValueError(f"{text}: there is no such home") from None
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}") from None
    if not path.parent.exists() and not path.is_relative_to(folder):
        raise ValueError(f"there is no folder {path.parent}; only folders below {folder} are made")
    return path


def read_bytes(path: Path, most: int = _MOST_BYTES) -> bytes:
    """What is in a regular file of up to ``most`` bytes; a pipe or a device makes nobody wait. Raises OSError."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    with os.fdopen(os.open(path, flags), "rb") as file:
        _require_regular(path, os.fstat(file.fileno()))
        content = file.read(most + 1)
    if len(content) > most:
        raise TooLargeError(0, f"larger than {most / 1e6:.0f} MB", str(path))
    return content


def _require_regular(path: Path, seen: os.stat_result) -> None:
    if stat.S_ISDIR(seen.st_mode):
        raise NotRegularError(0, "is a directory; name a file", str(path))
    if not stat.S_ISREG(seen.st_mode):
        raise NotRegularError(0, "is a pipe, a socket or a device; name a file", str(path))
