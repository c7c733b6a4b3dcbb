"""Which sub-project a file belongs to, and which words stand in its files: a search over bytes, without parsing."""

# Importing pathlib would cost a warm run 3 ms of its 50.

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dl_lint.project.modules import Files
    from dl_lint.project.scopes import FileIndex

MARKS = frozenset(
    {"setup.py", "setup.cfg", "pyproject.toml", "requirements.txt", "environment.yml", "environment.yaml"}
)
"""Files that stand at the top of a project inside a repository."""

INSTALLABLE = frozenset({"setup.py", "setup.cfg", "pyproject.toml"})

MOST_FILES = 5_000

_PASSED_ON = re.compile(
    rb"^[ \t]*from[ \t]+[\w.]+[ \t]+import[ \t]+(?:\([^()]*\)|(?:[^\\\n]|\\\r?\n)*)"
    rb"|^__all__[ \t]*\+?=[ \t]*[\[(][^\[\]()]*[\])]",
    re.MULTILINE,
)
"""The imports and the ``__all__`` of an ``__init__.py``."""

_SAID = re.compile(
    rb"(?P<own>^[ \t]*)?"
    rb'(?:[rRuU]?"""(?:[^"\\]|\\.|"(?!""))*"""'
    rb"|[rRuU]?'''(?:[^'\\]|\\.|'(?!''))*''')"
    rb"|(?P<comment>^[ \t]*#[^\n]*)",
    re.MULTILINE | re.DOTALL,
)
"""The texts in three quotes, of which those on lines of their own are docstrings, and comments on such lines."""


class Tokens:
    """Which sub-projects mention a word."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self._found: dict[tuple[str, bytes], bool] = {}
        self._tops: dict[FileIndex, str] = {}

    def mentions(self, file: FileIndex, word: str) -> bool:
        """Whether a Python file of the sub-project around ``file`` holds ``word``."""
        key = (self._top(file), word.encode())
        if key not in self._found:
            self._found[key] = self._search(*key)
        return self._found[key]

    def mentions_beyond(self, file: FileIndex, word: str, known: tuple[FileIndex, ...], passed_on: bool) -> bool:
        """Whether a Python file of the sub-project around ``file`` that is none of ``known`` holds ``word``.

        Unless ``passed_on``, it is to be a word, and neither in a docstring nor in an ``__init__.py`` that only
        imports it, to be imported from there.
        """
        paths = frozenset(self.files.keys[one] for one in known)
        return self._search(self._top(file), word.encode(), paths, passed_on)

    def are_near(self, one: FileIndex, other: FileIndex) -> bool:
        return one is other or self._top(one) == self._top(other)

    def is_installable(self, file: FileIndex) -> bool:
        """Whether a folder above ``file`` says how to install it."""
        folder = os.path.dirname(self.files.keys[file])
        while not INSTALLABLE.intersection(self.files.around.names(folder)):
            if folder == self.files.root or not folder.startswith(self.files.root):
                return False
            folder = os.path.dirname(folder)
        return True

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

    def _search(self, folder: str, word: bytes, known: frozenset[str] = frozenset(), passed_on: bool = True) -> bool:
        searched = 0
        for top, below, names in os.walk(folder):
            below[:] = [
                name for name in below if not name.startswith(".") and name not in ("node_modules", "__pycache__")
            ]
            for name in names:
                if name.endswith((".py", ".ipynb", ".pyx")):
                    searched += 1
                    path = os.path.join(top, name)
                    if searched > MOST_FILES or (path not in known and self._holds(path, word, passed_on)):
                        return True
        return False

    def _holds(self, path: str, word: bytes, passed_on: bool) -> bool:
        content = self.files.content(path)
        if content is None:
            try:
                with open(path, "rb") as file:
                    content = file.read()
            except OSError:
                return True
        if word in content and not passed_on:
            content = _SAID.sub(lambda one: one[0] if one["own"] is one["comment"] is None else b"", content)
            renamed = re.search(rb"\b" + re.escape(word) + rb"[ \t]+as\b", content) is not None
            if path.endswith("__init__.py") and not renamed:
                content = _PASSED_ON.sub(b"", content)
            return re.search(rb"\b" + re.escape(word) + rb"\b", content) is not None
        return word in content


def _is_top(names: tuple[str, ...]) -> bool:
    return not MARKS.isdisjoint(names) or any(name.lower().startswith("readme") for name in names)
