"""The files around the code that packaging tools read; what was read of them renews answers."""

from __future__ import annotations

import codecs
import os
import re
from typing import TYPE_CHECKING

from dl_lint.source import disk
from dl_lint.source.disk import digest

if TYPE_CHECKING:
    from collections.abc import Callable


FILES = frozenset({"setup.py", "setup.cfg", "pyproject.toml", "pipfile"})
BEGINNINGS = ("environment", "conda", "env.", "env_", "env-")
_WHOLE = re.compile(r"(?:^|[_.-])(?:env|environment|constraints)\.(?:txt|ya?ml)$")
"""Ends of the names of environments, ``mae_env.yml``, and of ``constraints.txt``."""

ENDINGS = (".txt", ".yml", ".yaml")


class Around:
    """Names and texts of such files. ``seen`` holds a digest of each that was asked for, empty if it cannot be read;
    a folder, whose path ends in a slash, stands for the names in it. ``shown`` says under which name the user knows a
    path."""

    def __init__(
        self,
        seen: dict[str, str] | None = None,
        shown: Callable[[str], str] = lambda path: path,
    ) -> None:
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
        return "" if data is None else _decoded(data)

    def small_text(self, path: str, most_bytes: int) -> str | None:
        """The text of a file of so many bytes; None if there is none there, or a larger one, which nobody reads."""
        try:
            size = os.stat(path).st_size
        except (OSError, ValueError):
            size = 0
        return self.text(path) or None if size <= most_bytes else None


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


def is_readme(name: str) -> bool:
    """Such a file tells where a sub-project begins; what is in it is not read."""
    return name.lower().startswith("readme")


def may_tell(name: str) -> bool:
    """By the name of a file, whether it may tell something."""
    name = name.lower()
    if name in FILES or name == "requirements" or is_readme(name):
        return True
    told = name.startswith(BEGINNINGS) or "requirements" in name or _WHOLE.search(name) is not None
    return name.endswith(ENDINGS) and told


def _decoded(data: bytes) -> str:
    """As UTF-8, unless a byte order mark says UTF-16."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace")
    return data.decode("utf-8-sig", "replace")


def _content(path: str) -> bytes | None:
    try:
        return disk.read(path, disk.SETTINGS_BYTES)
    except (OSError, ValueError):
        return None
