"""The files of a run: found under the paths that the user named, and read without ever blocking or following loops."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from dl_lint.engine.ignored import GitIgnore, Settings
from dl_lint.engine.report import Failure
from dl_lint.source import disk
from dl_lint.source.file import LARGEST_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dl_lint.config import Config, Home
    from dl_lint.engine.cache import Cache


LINTED = (".py", ".ipynb")
BESIDE = (".ipynb", ".pyx")

# Folders that hold no code of the project, besides hidden ones and virtual environments, which a pyvenv.cfg gives away.
SKIPPED_FOLDERS = frozenset({"__pycache__", "__pypackages__", "build", "dist", "node_modules", "site-packages", "venv"})


class File(NamedTuple):
    """One file of the project. Only those ``asked`` about get findings; the others are there to be linked to."""

    path: str
    """As it is printed: POSIX, under the name that the user gave."""
    absolute: str
    asked: bool = True
    by_name: bool = False
    """Named itself, rather than found in a folder."""


class Found(NamedTuple):
    files: tuple[File, ...]
    failures: tuple[Failure, ...]
    beside: tuple[str, ...] = ()
    """Files that are not linted, in which rules look for words all the same: name, size and time of each."""
    left_out: tuple[tuple[str, int], ...] = ()
    """Of a walk that found nothing to lint: by what Python files were left out, and how many each time."""


def find(paths: Sequence[str], home: Home, config: Config, cache: Cache, given: Iterable[str] = ()) -> Found:
    """The files under ``paths`` and those ``given``, with the rest of the project around them, by name."""
    walk = _Walk(home, config, cache)
    for name in given:
        walk.add_given(name)
    for path in paths:
        walk.add_named(path)
    if home.root is not None and not _covers(paths, home.root):
        walk.add_rest(home.root)
    walk.keep()
    failures = (*walk.failures, *walk.ignoring.failures)
    files = sorted(walk.files.values(), key=lambda file: file.path)
    left_out = () if any(file.asked for file in files) else tuple(walk.left_out())
    return Found(tuple(files), failures, tuple(sorted(walk.beside)), left_out)


def _covers(paths: Sequence[str], root: str) -> bool:
    """Whether a named folder holds the whole project."""
    return any(os.path.commonpath([os.path.abspath(path), root]) == os.path.abspath(path) for path in paths)


class _Walk:
    """Files by absolute path, each once, under the first name that led to it."""

    def __init__(self, home: Home, config: Config, cache: Cache) -> None:
        self.files: dict[str, File] = {}
        self.failures: list[Failure] = []
        self.beside: set[str] = set()
        self._top = home.checkout or home.root
        self.ignoring = GitIgnore(cache)
        self._exclude = Settings(config.base, [config.exclude] if config.exclude else [], cache)
        self._links: list[tuple[str, str, bool]] = []
        self._left_out: list[tuple[str, str]] = []

    def add_given(self, name: str) -> None:
        """A file whose content comes along, and which need not exist."""
        absolute = os.path.abspath(name)
        if not self._exclude.matching(absolute):
            self.files[absolute] = File(_posix(name), absolute, by_name=True)

    def add_named(self, path: str) -> None:
        shown = _posix(path)
        absolute = os.path.abspath(path)
        try:
            mode = os.stat(path).st_mode
        except (OSError, ValueError) as error:
            self.failures.append(Failure(shown, _reason(error)))
            return
        if stat.S_ISDIR(mode):
            self._walk(absolute, "" if shown == "." else shown.rstrip("/") + "/", asked=True)
            self._add_links()
        elif not stat.S_ISREG(mode):
            self.failures.append(Failure(shown, "not a regular file"))
        elif not self._exclude.matching(absolute):
            known = self.files.get(absolute)
            self.files[absolute] = File(known.path if known else shown, absolute, by_name=True)

    def add_rest(self, root: str) -> None:
        failures = len(self.failures)
        prefix = _posix(os.path.relpath(root)) + "/"
        self._walk(root, "" if prefix == "./" else prefix, asked=False)
        self._add_links()
        del self.failures[failures:]  # nobody asked about those folders

    def keep(self) -> None:
        self.ignoring.keep()
        self._exclude.keep()

    def left_out(self) -> Iterator[tuple[str, int]]:
        """By what Python files were left out, and how many of them there are, also below folders."""
        counts: dict[str, int] = {}
        for by, path in self._left_out:
            counts[by] = counts.get(by, 0) + sum(name.endswith(LINTED) for name in _below(path))
        yield from sorted((by, count) for by, count in counts.items() if count)

    def _walk(self, top: str, prefix: str, *, asked: bool) -> None:
        git_top = self._top or top
        self.ignoring.enter(top, git_top)
        pending = [(top, prefix)]
        while pending:
            folder, shown = pending.pop()
            try:
                with os.scandir(folder) as listing:
                    entries = list(listing)
            except OSError as error:
                self.failures.append(Failure(shown.rstrip("/") or ".", _reason(error)))
                continue
            if folder != top:
                if any(entry.name == "pyvenv.cfg" for entry in entries):
                    self._leave_out("being a virtual environment", folder, asked=asked)
                    continue
                self.ignoring.enter(folder, git_top)
            for entry in entries:
                self._visit(entry, folder, shown, pending, asked=asked)

    def _visit(
        self, entry: os.DirEntry[str], folder: str, shown: str, pending: list[tuple[str, str]], *, asked: bool
    ) -> None:
        name = entry.name
        is_folder = entry.is_dir(follow_symlinks=False)
        if is_folder:
            if name.startswith(".") or name in SKIPPED_FOLDERS:
                if name != ".git":
                    self._leave_out(f"the folder's name ({name})", f"{folder}/{name}", asked=asked)
                return
        elif not name.endswith(LINTED) or not (entry.is_file(follow_symlinks=False) or entry.is_symlink()):
            self._note(entry, f"{folder}/{name}")
            return
        absolute = f"{folder.rstrip('/')}/{name}"
        ignored = self.ignoring.ignores(absolute, folder, folder=is_folder)
        if ignored or self._exclude.matching(absolute + "/" * is_folder):
            self._leave_out(".gitignore" if ignored else "exclude in [tool.dl-lint]", absolute, asked=asked)
            self._note(entry, absolute)
            return
        if is_folder:
            pending.append((absolute, f"{shown}{name}/"))
        elif entry.is_symlink():
            self._links.append((absolute, shown + name, asked))
        else:
            self.files.setdefault(absolute, File(shown + name, absolute, asked))

    def _leave_out(self, by: str, path: str, *, asked: bool) -> None:
        if asked:
            self._left_out.append((by, path))

    def _note(self, entry: os.DirEntry[str], absolute: str) -> None:
        if not entry.name.endswith(BESIDE):
            return
        with suppress(OSError):
            seen = entry.stat(follow_symlinks=False)
            self.beside.add(f"{absolute} {seen.st_size} {seen.st_mtime_ns}")

    def _add_links(self) -> None:
        """Links to files that the walk did not meet under their own name. Links to folders are not followed."""
        real = {os.path.realpath(path) for path in self.files} if self._links else set()
        for absolute, shown, asked in self._links:
            target = os.path.realpath(absolute)
            if target not in real and os.path.isfile(target):
                real.add(target)
                self.files.setdefault(absolute, File(shown, absolute, asked))
        self._links.clear()


def _below(path: str) -> Iterator[str]:
    """The names of the files below a folder, or of a file itself; links are not followed."""
    if os.path.isdir(path):
        for _, _, names in os.walk(path):
            yield from names
    else:
        yield os.path.basename(path)


def read(file: File) -> bytes | Failure | None:
    """The bytes of a file; None if it vanished since its folder was listed."""
    try:
        return disk.read(file.absolute, LARGEST_BYTES)
    except disk.NotRegularError as error:
        return Failure(file.path, _reason(error).removeprefix("cannot be read: "))
    except FileNotFoundError as error:
        return Failure(file.path, _reason(error)) if file.by_name else None
    except OSError as error:
        return Failure(file.path, _reason(error))


def _reason(error: OSError | ValueError) -> str:
    said = getattr(error, "strerror", None) or str(error)
    return f"cannot be read: {said[:1].lower()}{said[1:]}"


def _posix(path: str) -> str:
    shown = path.replace(os.sep, "/") if os.sep != "/" else path
    while shown.startswith("./") and len(shown) > 2:
        shown = shown[2:].lstrip("/")
    return shown
