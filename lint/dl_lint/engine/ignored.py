"""Which paths git's patterns name: .gitignore files, and ``exclude`` and ``per-file-ignores`` of the settings."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TypeGuard

from dl_lint.engine.report import Failure
from dl_lint.engine.tracked import Tracked
from dl_lint.source import disk
from dl_lint.source.disk import digest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pathspec import GitIgnoreSpec

    from dl_lint.engine.cache import Cache


LONGEST_PATTERN = 1_000
MOST_STARS = 3
"""In one part of a path: a name of 250 characters takes 0.24 s with three, 13 s with four. None of the 4,800 patterns
in 140 repositories has more than two."""

DIRECTORY = "ps_d"
"""The group of pathspec's expressions that matches the slash behind a folder."""

TOO_MANY = "patterns left out that are longer than 1,000 characters or have more than 3 stars in a part: {}"

# More answers than this are not carried from run to run; torch's own tree asks about 2,900 paths.
KEPT_ANSWERS = 50_000


class Patterns:
    """One list of patterns, asked about paths relative to the folder that it stands in; ``walked`` where it has been
    asked about the folders on the way to them before.

    Answers are remembered in the cache by the text of the patterns: importing pathspec costs 14 ms, compiling the
    188 patterns of a usual .gitignore 4 ms and asking about 2,500 paths 47 ms, all more than reading the answers.
    """

    def __init__(self, text: str, cache: Cache, *, walked: bool = False) -> None:
        self._text = text
        self._cache = cache
        self._walked = walked
        self._key = digest(text, "walked") if walked else digest(text)
        kept = cache.read("ignored", self._key)
        self._answers: dict[str, bool | None] = kept if _are_answers(kept) else {}
        self._spec: GitIgnoreSpec | None = None
        self._changed = False

    def matches(self, asked: str) -> bool | None:
        """True if the patterns leave this path out, False if one takes it back, None if none speaks of it."""
        try:
            return self._answers[asked]
        except KeyError:
            if self._spec is None:
                self._spec = _compile(self._text)
            answer = self._answers[asked] = (
                _last(self._spec, asked) if self._walked else self._spec.check_file(asked).include
            )
            self._changed = True
            return answer

    def keep(self) -> None:
        if self._changed and len(self._answers) <= KEPT_ANSWERS:
            self._cache.write("ignored", self._key, self._answers)


def _are_answers(kept: Any) -> TypeGuard[dict[str, bool | None]]:
    return isinstance(kept, dict) and all(one is None or isinstance(one, bool) for one in kept.values())


def is_bounded(pattern: str) -> bool:
    """Whether a pattern is matched in time that grows with the path and not with its power: a regular expression, which
    it becomes, tries all ways to share a name among its stars."""
    segments = pattern.split("/")
    return (
        len(pattern) <= LONGEST_PATTERN
        and segments.count("**") <= MOST_STARS
        and all(segment.replace("**", "*").count("*") <= MOST_STARS for segment in segments)
    )


def _last(spec: GitIgnoreSpec, asked: str) -> bool | None:
    """What the last pattern says that names this path itself: those that name a folder above it were asked there.

    pathspec lets a pattern for all names, ``*``, win over one for folders, ``!src/``, that comes after it; git does
    not.
    """
    for pattern in reversed(spec.patterns):
        found = pattern.match_file(asked)
        if found is not None and pattern.include is not None:
            below = found.match.groupdict().get(DIRECTORY)
            if below is None or found.match.end(DIRECTORY) == len(asked):
                return bool(pattern.include)
    return None


def _spelled_out(line: str) -> str:
    """A pattern in the words that pathspec reads as git does: to it ``data/**`` names ``data/`` too, and ``*/`` any
    path with a folder in it."""
    said = line.rstrip()
    if said.endswith("/**"):
        return f"{said}/*"
    return f"{said.rstrip('*/')}?*/" if said in ("*/", "**/", "!*/", "!**/") else line


def _compile(text: str) -> GitIgnoreSpec:
    """A line that git would not understand is passed over, as git does, and one that is not bounded."""
    from pathspec import GitIgnoreSpec

    def understood(line: str) -> bool:
        try:
            GitIgnoreSpec.from_lines([line])
        except ValueError:
            return False
        return True

    lines = [_spelled_out(line) for line in text.splitlines() if is_bounded(line)]
    try:
        return GitIgnoreSpec.from_lines(lines)
    except ValueError:
        return GitIgnoreSpec.from_lines(filter(understood, lines))


class Settings:
    """Patterns of the settings, all relative to one folder."""

    def __init__(self, base: str, lists: Iterable[Iterable[str]], cache: Cache) -> None:
        self._base = base.rstrip("/") + "/"
        self._lists = [Patterns("\n".join(patterns), cache) for patterns in lists]

    def matching(self, path: str) -> list[int]:
        """Which of the lists, by their position, name this absolute path."""
        if not path.startswith(self._base):
            return []
        asked = path[len(self._base) :]
        return [number for number, patterns in enumerate(self._lists) if patterns.matches(asked)]

    def keep(self) -> None:
        for patterns in self._lists:
            patterns.keep()


class GitIgnore:
    """The .gitignore files of a tree, read as they are met; the deepest file with an opinion decides, as in git."""

    def __init__(self, cache: Cache) -> None:
        self.failures: list[Failure] = []
        self._cache = cache
        self._by_text: dict[str, Patterns] = {}
        self._by_folder: dict[str, tuple[tuple[int, Patterns], ...]] = {}
        self._tracked: Tracked | None = None
        self._tracked_only: set[str] = set()
        """Folders that are ignored, but for what git tracks below them."""

    def enter(self, folder: str, top: str) -> None:
        """Read the ignore files from ``top`` down to ``folder``, for a walk that begins there."""
        if folder in self._by_folder:
            return
        self._tracked = self._tracked or Tracked(top)
        inherited: tuple[tuple[int, Patterns], ...] = ()
        if folder != top and folder.startswith(top.rstrip("/") + "/"):
            parent = os.path.dirname(folder)
            self.enter(parent, top)
            inherited = self._by_folder[parent]
        elif os.path.isdir(os.path.join(folder, ".git")):
            inherited = self._read(os.path.join(folder, ".git", "info", "exclude"), folder)
        self._by_folder[folder] = inherited + self._read(os.path.join(folder, ".gitignore"), folder)

    def ignores(self, path: str, parent: str, *, folder: bool) -> bool:
        """Whether git ignores this file or folder, whose ``parent`` was entered and is not ignored itself; it ignores
        nothing that it tracks."""
        if parent not in self._tracked_only and not self._match(path, parent, folder=folder):
            return False
        if self._tracked is None or not self._tracked.holds(path):
            return True
        if folder:
            self._tracked_only.add(path)
        return False

    def _match(self, path: str, parent: str, *, folder: bool) -> bool:
        for start, patterns in reversed(self._by_folder[parent]):
            answer = patterns.matches(path[start:] + "/" if folder else path[start:])
            if answer is not None:
                return answer
        return False

    def keep(self) -> None:
        for patterns in self._by_text.values():
            patterns.keep()

    def _read(self, path: str, base: str) -> tuple[tuple[int, Patterns], ...]:
        try:
            text = disk.read(path, disk.SETTINGS_BYTES).decode("utf-8", "surrogateescape")
        except FileNotFoundError:
            return ()
        except OSError as error:
            self.failures.append(Failure(os.path.relpath(path), f"not read: {error.strerror}", partial=True))
            return ()
        if (left_out := sum(not is_bounded(line) for line in text.splitlines())) and text not in self._by_text:
            self.failures.append(Failure(os.path.relpath(path), TOO_MANY.format(left_out), partial=True))
        if not text.strip():
            return ()
        if text not in self._by_text:
            self._by_text[text] = Patterns(text, self._cache, walked=True)
        return ((len(base.rstrip("/")) + 1, self._by_text[text]),)
