"""The files around the code that tell what a project is and what it needs; what was read of them renews answers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dl_lint.cache import digest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# A README or a lock file beyond this says what we look for in its first part, or not at all.
MOST_BYTES = 1_000_000

FILES = frozenset({"setup.py", "setup.cfg", "pyproject.toml", "pipfile"})
BEGINNINGS = ("readme", "environment", "conda", "env.", "env_", "env-")
ENDINGS = (".txt", ".md", ".rst", ".yml", ".yaml")


class Around:
    """Names and texts of such files. ``seen`` holds a digest of each that was asked for, empty if it cannot be read;
    a folder, whose path ends in a slash, stands for the names in it. ``code`` is all of the tree by absolute path, and
    ``shown`` says under which name the user knows a path."""

    def __init__(
        self,
        seen: dict[str, str] | None = None,
        code: Mapping[str, bytes] | None = None,
        shown: Callable[[str], str] = lambda path: path,
    ) -> None:
        self.code = code or {}
        self.shown = shown
        self._seen = {} if seen is None else seen
        self._names: dict[str, tuple[str, ...]] = {}

    def names(self, folder: str) -> tuple[str, ...]:
        """The names in a folder of what may tell something, in order."""
        if folder not in self._names:
            self._names[folder] = _names(folder)
            self._seen[_slashed(folder)] = digest(*self._names[folder])
        return self._names[folder]

    def text(self, path: str) -> str:
        data = _content(path)
        self._seen[path] = "" if data is None else digest(data)
        return "" if data is None else data[:MOST_BYTES].decode("utf-8", "replace")


def digest_of_names(folder: str) -> str:
    """As ``seen`` has it for a path that ends in a slash."""
    return digest(*_names(folder))


def _slashed(folder: str) -> str:
    return folder.rstrip("/") + "/"


def _names(folder: str) -> tuple[str, ...]:
    try:
        return tuple(sorted(name for name in os.listdir(folder) if may_tell(name)))
    except OSError:
        return ()


def may_tell(name: str) -> bool:
    """By the name of a file, whether it may tell something."""
    name = name.lower()
    if name in FILES or name == "readme":
        return True
    return name.endswith(ENDINGS) and (name.startswith(BEGINNINGS) or "requirements" in name)


def _content(path: str) -> bytes | None:
    from dl_lint import files

    found = files.read(files.File(path, path, asked=False))
    return found if isinstance(found, bytes) else None
