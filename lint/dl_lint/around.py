"""The files around the code that tell what a project is and what it needs; what was read of them renews answers."""

from __future__ import annotations

import codecs
import os
import re
from typing import TYPE_CHECKING

from dl_lint.cache import digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

# A README or a lock file beyond this says what we look for in its first part, or not at all.
MOST_BYTES = 1_000_000

FILES = frozenset({"setup.py", "setup.cfg", "pyproject.toml", "pipfile", "dockerfile"})
INSTALLING = ("install", "getting_started", "getting-started", "get_started", "get-started")
"""Beginnings of the names of pages that say how to set a project up."""

BEGINNINGS = ("readme", "environment", "conda", "env.", "env_", "env-", *INSTALLING)
_WHOLE = re.compile(r"(?:^|[_.-])(?:env|environment|constraints)\.(?:txt|ya?ml)$")
"""Ends of the names of environments, ``mae_env.yml``, and of ``constraints.txt``."""

ENDINGS = (".txt", ".md", ".rst", ".yml", ".yaml")

LICENCES = ("license", "licence", "copying")
"""Beginnings of the names of files that say under what terms a folder may be copied."""

MANUALS = ("docs", "doc", "readme")
"""Folders of pages, of which any may say it."""

PAGES = (".md", ".rst")
OF_THE_PAST = ("change", "history", "release", "news", "whats")
"""Beginnings of the names of pages about versions that were."""

DEEPEST = 3
"""Folders of pages in one another."""


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
        return tuple(name for name in self._listed(folder) if may_tell(name))

    def licence(self, folder: str) -> str:
        """Under what terms a folder may be copied: the words of its first such file; empty if it has none."""
        found = (name for name in self._listed(folder) if is_licence(name))
        return next((" ".join(self.text(os.path.join(folder, name)).split()) for name in found), "")

    def _listed(self, folder: str) -> tuple[str, ...]:
        if folder not in self._names:
            self._names[folder] = _names(folder)
            self._seen[_slashed(folder)] = digest(*self._names[folder])
        return self._names[folder]

    def pages(self, folder: str) -> tuple[str, ...]:
        """The paths of the pages of the manual in a folder."""
        return tuple(os.path.join(folder, page) for name in MANUALS for page in self._in_manual(folder, name, DEEPEST))

    def _in_manual(self, folder: str, below: str, depth: int) -> Iterator[str]:
        for name in self._listed(os.path.join(folder, below)) if depth else ():
            if name.endswith("/"):
                yield from self._in_manual(folder, os.path.join(below, name[:-1]), depth - 1)
            elif is_page(name):
                yield os.path.join(below, name)

    def text(self, path: str) -> str:
        data = _content(path)
        self._seen[path] = "" if data is None else digest(data)
        return "" if data is None else _decoded(data[:MOST_BYTES])


def digest_of_names(folder: str) -> str:
    """As ``seen`` has it for a path that ends in a slash."""
    return digest(*_names(folder))


def _slashed(folder: str) -> str:
    return folder.rstrip("/") + "/"


def _names(folder: str) -> tuple[str, ...]:
    """Those of a manual with its pages, and with its folders, each with its slash."""
    try:
        if not in_manual(folder):
            return tuple(sorted(name for name in os.listdir(folder) if may_tell(name) or is_licence(name)))
        with os.scandir(folder) as entries:
            found = [f"{one.name}/" if one.is_dir(follow_symlinks=False) else one.name for one in entries]
        kept = (name for name in found if name.endswith("/") or may_tell(name) or is_licence(name) or is_page(name))
        return tuple(sorted(kept))
    except OSError:
        return ()


def in_manual(folder: str) -> bool:
    """Whether a folder is one of pages, or no deeper in one than they are read."""
    return not {part.lower() for part in folder.rstrip("/").split("/")[-DEEPEST:]}.isdisjoint(MANUALS)


def is_licence(name: str) -> bool:
    return name.lower().startswith(LICENCES)


def is_page(name: str) -> bool:
    return name.lower().endswith(PAGES) and not name.lower().startswith(OF_THE_PAST)


def may_tell(name: str) -> bool:
    """By the name of a file, whether it may tell something."""
    name = name.lower()
    if name in FILES or name in ("readme", "requirements"):
        return True
    told = name.startswith(BEGINNINGS) or "requirements" in name or _WHOLE.search(name) is not None
    return name.endswith(ENDINGS) and told


def _decoded(data: bytes) -> str:
    """As UTF-8, unless a byte order mark says UTF-16."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace")
    return data.decode("utf-8-sig", "replace")


def _content(path: str) -> bytes | None:
    from dl_lint import files

    found = files.read(files.File(path, path, asked=False))
    return found if isinstance(found, bytes) else None
