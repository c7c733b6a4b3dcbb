"""On what system, and with how new a Python, a project says that it runs: what the nearest folder that tells says."""

from __future__ import annotations

import os
import re
from functools import partial
from typing import TYPE_CHECKING

from dl_lint.project import declarations

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.around import Around
    from dl_lint.facts import tree as t
    from dl_lint.project.declarations import Version
    from dl_lint.project.model import Project

FIRST_FORKSERVER = (3, 14)
"""The Python that first starts workers by forkserver on Linux."""

FIRST_TORCH_FOR_IT = (2, 9)
"""The torch that was first built for that Python."""

FIRST_TORCH_FOR_SPAWN = (1, 4)
"""The torch that was first built for Python 3.8, which first spawns workers on macOS."""

_LINUX = re.compile(r"\b(?:linux|ubuntu[\d.]*|centos|debian|fedora|red ?hat)\b", re.IGNORECASE)
_MACOS = re.compile(r"\b(?:mac ?os|os ?x|macs?|macbook|apple|darwin)\b", re.IGNORECASE)
_WINDOWS = re.compile(r"\b(?:windows|win(?:10|11|32|64))\b", re.IGNORECASE)
_PYTHON = re.compile(
    r"""(?:^[ \t]*-[ \t]+["']?(?:[\w-]+::)?python[ \t]*(?=[=<>~!\d])"""  # a list of conda's
    r"""|(?:(?<![\w.-])(?:requires-python|python_requires)|^[ \t]*python)[ \t]*=[ \t]*["']?(?=[=<>~!^\d]))"""
    r"""(?P<specifier>[^"'#\n]*)""",
    re.MULTILINE,
)
_IMAGE = re.compile(r"\bdocker\b[^\n`]{0,200}?[\w./-]+:(?:[\w.]*-)*py(?:thon)?3\.(?P<minor>\d+)\b")
"""An image to run in, with the Python that its tag names: ``docker pull ann/detection:ubuntu18-py3.7``."""

_ADDRESS = re.compile(r"\bhttps?://[^\s)>\]]+")
_LISTS = (".yml", ".yaml")
_TABLES = ("setup.py", "setup.cfg", "pyproject.toml", "pipfile")


def is_for_linux(project: Project, near: t.Node) -> bool:
    """Whether the nearest README that names a system names Linux, and no other."""
    return _named_systems(project, near) == frozenset({"Linux"})


def is_of_forking_age(project: Project, near: t.Node) -> bool:
    """Whether a project is for a torch whose Pythons fork but on Windows, which its README does not name."""
    return project.target(near).lacks(FIRST_TORCH_FOR_SPAWN) and "Windows" not in _named_systems(project, near)


def _named_systems(project: Project, near: t.Node) -> frozenset[str]:
    around, once = project.evaluator.files.around, project.evaluator.once
    told = (once(("systems", folder), partial(_systems, around, folder)) for folder in _folders(project, near))
    return next((one for one in told if one), frozenset())


def is_for_older_python(project: Project, near: t.Node) -> bool:
    """Whether a project is for a Python that forks on Linux only: by what it requires, or as its torch has no other."""
    around, once = project.evaluator.files.around, project.evaluator.once
    told = (once(("python", folder), partial(_newest_python, around, folder)) for folder in _folders(project, near))
    newest = next((one for one in told if one is not None), None)
    return (newest is not None and newest < FIRST_FORKSERVER) or project.target(near).lacks(FIRST_TORCH_FOR_IT)


def _folders(project: Project, near: t.Node) -> Iterator[str]:
    """The folder of the code of ``near``, then those around it, up to the root of the project."""
    files = project.evaluator.files
    folder = os.path.dirname(files.keys[project.site(near).scope.file])
    yield folder
    while folder != files.root and folder.startswith(files.root.rstrip("/") + "/"):
        folder = os.path.dirname(folder)
        yield folder


def prose(project: Project, near: t.Node) -> Iterator[str]:
    """The texts of the READMEs and pages about installing of the project around ``near``."""
    around, once = project.evaluator.files.around, project.evaluator.once
    for folder in _folders(project, near):
        yield from once(("prose", folder), partial(_texts, around, folder))


def _systems(around: Around, folder: str) -> frozenset[str]:
    """The systems that the prose of a folder names."""
    texts = [_ADDRESS.sub("", text) for text in _prose(around, folder)]
    named = (("Linux", _LINUX), ("macOS", _MACOS), ("Windows", _WINDOWS))
    return frozenset(name for name, pattern in named if any(map(pattern.search, texts)))


def _texts(around: Around, folder: str) -> tuple[str, ...]:
    return tuple(_prose(around, folder))


def _prose(around: Around, folder: str) -> Iterator[str]:
    paths = [os.path.join(folder, name) for name in around.names(folder) if name.lower().startswith(declarations.PROSE)]
    yield from (around.text(path) for path in (*paths, *around.pages(folder)))


def _newest_python(around: Around, folder: str) -> Version | None:
    """The newest Python that the requirements of a folder allow, or that of the images which its README names where
    they leave it open; else None."""
    said = [
        newest
        for name in around.names(folder)
        if name.lower().endswith(_LISTS) or name.lower() in _TABLES
        for newest in newest_pythons(around.text(os.path.join(folder, name)))
    ]
    known = [one for one in said if one is not None]
    if known and len(known) == len(said):
        return max(known)
    images = [one["minor"] for text in _prose(around, folder) for one in _IMAGE.finditer(text)] if not said else []
    return max(((3, int(minor)) for minor in images), default=None)


def newest_pythons(text: str) -> Iterator[Version | None]:
    """What each requirement of a Python in a text allows at most, None where it is open: ``- python=3.8``."""
    for found in _PYTHON.finditer(text):
        specifier = found["specifier"].strip()
        yield declarations.bounds(f"={specifier}" if specifier[:1].isdigit() else specifier)[1]
