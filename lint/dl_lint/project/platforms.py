"""On what system, and with how new a Python, a project says that it runs: what the nearest folder that tells says."""

from __future__ import annotations

import os
import re
from functools import partial
from typing import TYPE_CHECKING

from dl_lint.project import aged, declarations, told_pythons

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.around import Around
    from dl_lint.facts import tree as t
    from dl_lint.project.declarations import Version
    from dl_lint.project.model import Project
    from dl_lint.project.scopes import FileIndex

FIRST_FORKSERVER = (3, 14)
"""The Python that first starts workers by forkserver on Linux."""

FIRST_TORCH_FOR_IT = (2, 9)
"""The torch that was first built for that Python."""

LAST_WITH_CUDATOOLKIT = (3, 11)
"""The newest Python of the torch 1.13 that was the last to come with conda's package cudatoolkit."""

LAST_WITH_NUMPY_1 = (3, 12)
"""The newest Python that a numpy 1 was built for."""

LAST_WITH_LIGHTNING_1 = (3, 11)
"""The newest Python of the torch 2.0 that is the newest for the last Lightning 1."""

FIRST_SPAWNING = (3, 8)
"""The Python that first spawns workers on macOS."""

FIRST_TORCH_FOR_SPAWN = (1, 4)
"""The torch that was first built for Python 3.8, which first spawns workers on macOS."""

_LINUX = re.compile(r"\b(?:linux|ubuntu[\d.]*|centos|debian|fedora|red ?hat)\b", re.IGNORECASE)
_MACOS = re.compile(r"\b(?:mac ?os|os ?x|macs?|macbook|apple (?:silicon|mac|m\d)|darwin)\b", re.IGNORECASE)
_WINDOWS = re.compile(
    r"(?<!back )(?<![Ss]liding )(?<![Ss]hifted )(?<![Ll]ocal )(?<![Aa]ttention )(?<![Tt]ime )(?<![\w-])Windows\b"
    r"|\b(?i:(?:on|for|under|linux|ubuntu|mac ?os|os ?x)(?:[\s,/&*`]|and|or)+windows)\b"
    r"|\b(?:WINDOWS|(?i:windows[ -]?(?:\d+|xp|users?|os|pcs?|machines?)|win(?:10|11|32|64)))\b"
)
"""The system, not the windows that slide over pictures and series, or are shifted."""

_PYTHON = re.compile(
    r"""(?:^[ \t]*-[ \t]+["']?(?:[\w-]+::)?python[ \t]*(?=[=<>~!\d])"""  # a list of conda's
    r"""|(?:(?<![\w.-])(?:requires-python|python_requires)|^[ \t]*python)[ \t]*=[ \t]*["']?(?=[=<>~!^\d]))"""
    r"""(?P<specifier>[^"'#\n]*)""",
    re.MULTILINE,
)
_ANSWERED = re.compile(r"^.*\bnum_?workers?\b.{0,20}?(?<![\d.])0(?!\.?\d).*$", re.IGNORECASE | re.MULTILINE)
"""``Set num_workers to 0 on macOS``: there nothing is started, by spawn or otherwise."""

_CUDATOOLKIT = re.compile(r"\bcudatoolkit[ \t]?=", re.IGNORECASE)
_NUMPY_1 = re.compile(
    r"""^[ \t\["',-]*(?:[\w-]+::)?numpy["']?[ \t]*"""
    r"""(?:[=~]=?=?[ \t]*["']?[\^~<=]*1\b|<=?[ \t]*1\.|(?:>=?[ \t\d.]+,[ \t]*)?<[ \t]*2\b(?!\.[1-9]))""",
    re.IGNORECASE | re.MULTILINE,
)
"""A requirement that allows no numpy 2: ``numpy==1.23.5``, ``- numpy=1.21``, ``"numpy>=1.20,<2"``."""

_LIGHTNING_1 = re.compile(
    r"""(?<![\w/])(?:pytorch[_-])?lightning["']?[ \t]*"""
    r"""(?:[=~]=?=?[ \t]*["']?[\^~<=]*1\.|<=?[ \t]*1\.|<[ \t]*2\b(?!\.[1-9]))""",
    re.IGNORECASE,
)

_ADDRESS = re.compile(r"\bhttps?://[^\s)>\]]+")
_LISTS = (".yml", ".yaml")
_TABLES = ("setup.py", "setup.cfg", "pyproject.toml", "pipfile")  # whole names


def is_of_forking_age(project: Project, near: t.Node) -> bool:
    """Whether a project is for a Python, or for a torch all of whose Pythons, that forks but on Windows, which its
    README does not name; also by code beside it that is of the time of torch 0.3."""
    newest = _told_python(project, near)
    forks = (newest is not None and newest < FIRST_SPAWNING) or project.target(near).lacks(FIRST_TORCH_FOR_SPAWN)
    forks = forks or aged.remnant(project, near) is not None
    return forks and "Windows" not in named_systems(project, near)


def named_systems(project: Project, near: t.Node) -> frozenset[str]:
    around, once = project.evaluator.files.around, project.evaluator.once
    told = (once(("systems", folder), partial(_systems, around, folder)) for folder in folders(project, near))
    return next((one for one in told if one), frozenset())


def is_for_older_python(project: Project, near: t.Node) -> bool:
    """Whether a project is for a Python that forks on Linux only: by what it requires, or as its torch has no other."""
    newest = _told_python(project, near)
    return (newest is not None and newest < FIRST_FORKSERVER) or project.target(near).lacks(FIRST_TORCH_FOR_IT)


def _told_python(project: Project, near: t.Node) -> Version | None:
    around, once = project.evaluator.files.around, project.evaluator.once
    told = (once(("python", folder), partial(_newest_python, around, folder)) for folder in folders(project, near))
    return next((one for one in told if one is not None), None)


def folders(project: Project, near: t.Node) -> Iterator[str]:
    """The folder of the code of ``near``, then those around it, up to the root of the project."""
    yield from above(project, project.site(near).scope.file)


def above(project: Project, file: FileIndex) -> Iterator[str]:
    """The same of a file."""
    files = project.evaluator.files
    folder = os.path.dirname(files.keys[file])
    yield folder
    while folder != files.root and folder.startswith(files.root.rstrip("/") + "/"):
        folder = os.path.dirname(folder)
        yield folder


def prose(project: Project, near: t.Node) -> Iterator[str]:
    """The texts of the READMEs and pages about installing of the project around ``near``."""
    around, once = project.evaluator.files.around, project.evaluator.once
    for folder in folders(project, near):
        yield from once(("prose", folder), partial(texts, around, folder))


def _systems(around: Around, folder: str) -> frozenset[str]:
    """The systems that the prose of a folder names."""
    said = [_ANSWERED.sub("", _ADDRESS.sub("", text)) for text in _prose(around, folder)]
    named = (("Linux", _LINUX), ("macOS", _MACOS), ("Windows", _WINDOWS))
    return frozenset(name for name, pattern in named if any(map(pattern.search, said)))


def texts(around: Around, folder: str) -> tuple[str, ...]:
    return tuple(_prose(around, folder))


def is_prose(name: str) -> bool:
    """By the name of a file that may tell something, whether it is a README or a page about installing."""
    return name.lower().startswith(declarations.PROSE)


def _prose(around: Around, folder: str) -> Iterator[str]:
    paths = [os.path.join(folder, name) for name in around.names(folder) if is_prose(name)]
    yield from (around.text(path) for path in (*paths, *around.pages(folder)))


def _newest_python(around: Around, folder: str) -> Version | None:
    """The newest Python that a folder allows, or has a torch of conda's with CUDA, a Lightning 1 or a numpy 1
    for."""
    found = _allowed_python(around, folder)
    if found is not None:
        return found
    paths = [*(os.path.join(folder, name) for name in around.names(folder)), *around.pages(folder)]
    if any(_CUDATOOLKIT.search(around.text(path)) for path in paths):
        return LAST_WITH_CUDATOOLKIT
    if any(_LIGHTNING_1.search(around.text(path)) for path in paths):
        return LAST_WITH_LIGHTNING_1
    required = (path for path in paths if not is_prose(os.path.basename(path)))
    return LAST_WITH_NUMPY_1 if any(_NUMPY_1.search(around.text(path)) for path in required) else None


def _allowed_python(around: Around, folder: str) -> Version | None:
    """Of its lists of conda; else, of its other requirements; else, where these leave it open, of its prose and its
    images."""
    named = [name for name in around.names(folder) if not is_prose(name)]
    for ends in (_LISTS, _TABLES):
        tellers = [name for name in named if name.lower().endswith(ends)]
        said = [one for name in tellers for one in newest_pythons(around.text(os.path.join(folder, name)))]
        known = [one for one in said if one is not None and one[1] < declarations.LAST_MINOR]
        if known and len(known) == len(said):
            return max(known)
        if said and ends is _LISTS:
            return None
    names = (name for name in around.names(folder) if is_prose(name) or name.lower() == declarations.IMAGE)
    tellers = [os.path.join(folder, name) for name in names]
    tellers += [path for path in around.pages(folder) if is_prose(os.path.basename(path))]
    return told_pythons.newest(map(around.text, tellers))


def newest_pythons(text: str) -> Iterator[Version | None]:
    """What each requirement of a Python in a text allows at most, None where it is open: ``- python=3.8``."""
    for found in _PYTHON.finditer(text):
        specifier = found["specifier"].strip()
        yield declarations.bounds(f"={specifier}" if specifier[:1].isdigit() else specifier)[1]
