"""What git tracks in a checkout, read from its index: a file that is tracked belongs to the project, ignored or not.

The index is read and not asked for by ``git ls-files``: that would run what a checkout of others configures.
"""

from __future__ import annotations

import os
import struct
from typing import TYPE_CHECKING

from dl_lint.source import disk

if TYPE_CHECKING:
    from collections.abc import Iterator

LARGEST_BYTES = 64_000_000
"""An index has some 100 bytes a file; the largest public repositories have half a million files."""

_HEADER = struct.Struct(">4sLL")
_FLAGS_AT = 60
"""Where the flags of an entry are: behind its times, device, inode, mode, owner, size and the digest of its content."""

_EXTENDED, _LENGTH = 0x4000, 0x0FFF


class Tracked:
    """The Python files that the checkout at a folder tracks, and the folders that hold some; none outside of git."""

    def __init__(self, checkout: str) -> None:
        self._top = checkout.rstrip("/") + "/"
        self._paths: frozenset[str] | None = None

    def holds(self, path: str) -> bool:
        """Whether git tracks this file, or a Python file below this folder, by absolute path."""
        if self._paths is None:
            self._paths = frozenset(_with_folders(_read(self._top)))
        return path.startswith(self._top) and path[len(self._top) :] in self._paths


def _with_folders(paths: Iterator[str]) -> Iterator[str]:
    for path in paths:
        if path.endswith((".py", ".ipynb")):
            yield path
            folder = path
            while "/" in folder:
                folder = folder.rpartition("/")[0]
                yield folder


def _read(checkout: str) -> Iterator[str]:
    """The paths in the index of a checkout, relative to it; those before the first entry that cannot be read."""
    try:
        data = disk.read(os.path.join(_git_folder(checkout), "index"), LARGEST_BYTES)
        signature, version, count = _HEADER.unpack_from(data)
        if signature == b"DIRC" and version in (2, 3, 4):
            yield from _entries(data, version, count)
    except (OSError, struct.error, ValueError, IndexError):
        return


def _git_folder(checkout: str) -> str:
    """``.git``, or the folder that such a file of a work tree or a submodule names."""
    path = os.path.join(checkout, ".git")
    if os.path.isdir(path):
        return path
    named = disk.read(path, disk.SETTINGS_BYTES).decode("utf-8", "surrogateescape").partition("gitdir:")[2].strip()
    return os.path.join(checkout, named)


def _entries(data: bytes, version: int, count: int) -> Iterator[str]:
    """As git's documentation of its index format has them."""
    at, before = _HEADER.size, b""
    for _ in range(count):
        [flags] = struct.unpack_from(">H", data, at + _FLAGS_AT)
        start = at + _FLAGS_AT + (4 if flags & _EXTENDED else 2)
        if version == 4:
            dropped, start = _variable(data, start)
            end = data.index(b"\0", start)
            before = before[: len(before) - dropped] + data[start:end]
            at = end + 1
        else:
            length = flags & _LENGTH
            end = start + length if length < _LENGTH else data.index(b"\0", start)
            before = data[start:end]
            at += (end - at + 8) // 8 * 8
        yield before.decode("utf-8", "surrogateescape")


def _variable(data: bytes, at: int) -> tuple[int, int]:
    """A number of seven bits a byte, the highest first, as pack files have their offsets, and where it ends."""
    value = data[at] & 0x7F
    while data[at] & 0x80:
        at += 1
        value = ((value + 1) << 7) | (data[at] & 0x7F)
    return value, at + 1
