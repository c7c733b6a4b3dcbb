"""Which sub-project a file belongs to, and which words stand in its files: a search over bytes, without parsing."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from dl_lint.source import disk
from dl_lint.source.file import LARGEST_BYTES

if TYPE_CHECKING:
    from dl_lint.flow.imports import Files
    from dl_lint.flow.scopes import FileIndex


MARKS = frozenset(
    {"setup.py", "setup.cfg", "pyproject.toml", "requirements.txt", "environment.yml", "environment.yaml"}
)
"""Files that stand at the top of a project inside a repository."""

MOST_FILES = 5_000

PYTHON = (".py", ".ipynb", ".pyx")

_PICTURES = re.compile(rb"[A-Za-z0-9+/]{200,}")
"""Pictures among the outputs of notebooks, in whose letters any short word stands by chance."""


class Tokens:
    """Which sub-projects mention a word."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self._found: dict[tuple[str, bytes, tuple[str, ...], frozenset[str]], bool] = {}
        self._tops: dict[FileIndex, str] = {}

    def mentions(self, file: FileIndex, word: str, *endings: str, except_in: frozenset[str] = frozenset()) -> bool:
        """Whether a Python file of the sub-project around ``file``, or one with these endings, holds ``word``, where
        the files of ``except_in`` are not asked."""
        key = (self._top(file), word.encode(), endings or PYTHON, except_in)
        if key not in self._found:
            self._found[key] = self._search(*key)
        return self._found[key]

    def are_near(self, one: FileIndex, other: FileIndex) -> bool:
        return one is other or self._top(one) == self._top(other)

    def _top(self, file: FileIndex) -> str:
        if file not in self._tops:
            self._tops[file] = self.sub_project(self.files.keys[file])
        return self._tops[file]

    def sub_project(self, path: str) -> str:
        """The nearest folder above ``path`` that looks like the top of a project, else the root."""
        folder = os.path.dirname(path)
        while folder.startswith(self.files.root) and folder != self.files.root:
            if _is_top(self.files.around.names(folder)):
                return folder
            folder = os.path.dirname(folder)
        return self.files.root if path.startswith(self.files.root) else os.path.dirname(path)

    def _search(self, folder: str, word: bytes, endings: tuple[str, ...], known: frozenset[str]) -> bool:
        searched = 0
        for top, below, names in os.walk(folder):
            below[:] = [
                name for name in below if not name.startswith(".") and name not in ("node_modules", "__pycache__")
            ]
            for name in names:
                if name.endswith(endings):
                    searched += 1
                    path = os.path.join(top, name)
                    if searched > MOST_FILES or (path not in known and self._holds(path, word)):
                        return True
        return False

    def _holds(self, path: str, word: bytes) -> bool:
        content = self.files.content(path)
        if content is None:
            try:
                content = disk.read(path, LARGEST_BYTES)
            except OSError:
                return True
        return word in (_PICTURES.sub(b"", content) if path.endswith(".ipynb") else content)


def _is_top(names: tuple[str, ...]) -> bool:
    return not MARKS.isdisjoint(names) or any(name.lower().startswith("readme") for name in names)
