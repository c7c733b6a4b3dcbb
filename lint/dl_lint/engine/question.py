"""What a run is about: the files that were read, and what is asked of them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from dl_lint.engine import files
from dl_lint.source.disk import digest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dl_lint.config import Config, Home
    from dl_lint.engine.files import File, Found
    from dl_lint.engine.report import Entry, Failure


class Tree(NamedTuple):
    """The files of a run with their bytes; those that could not be read are failures."""

    files: tuple[File, ...]
    data: Mapping[str, bytes]
    """By the path that is printed."""
    failures: tuple[Failure, ...] = ()
    beside: tuple[str, ...] = ()
    left_out: tuple[tuple[str, int], ...] = ()
    """Of a tree without anything to lint: by what Python files were left out, and how many each time."""

    def with_data(self, changed: Mapping[str, bytes]) -> Tree:
        return self._replace(data={**self.data, **changed})


class Question(NamedTuple):
    """What is asked of a tree."""

    rules: tuple[Entry, ...]
    known: Mapping[str, Entry]
    config: Config
    home: Home
    advised: frozenset[Entry] = frozenset()
    """The rules whose findings are wanted also where they are no more than advice."""

    def key(self) -> str:
        config = self.config
        return digest(
            *(f"{rule.code}{rule in self.advised:d}" for rule in self.rules),
            repr(config.per_file_ignores),
            repr(config.hints),
            os.path.relpath(config.base),
            "" if self.home.root is None else os.path.relpath(self.home.root),
        )


def read(found: Found, given: Mapping[str, bytes]) -> Tree:
    """Read every file that was found, but for those whose content is given."""
    kept, data, failures = [], {}, list(found.failures)
    for file in found.files:
        seen = given[file.path] if file.path in given else files.read(file)
        if isinstance(seen, bytes):
            kept.append(file)
            data[file.path] = seen
        elif seen is not None and file.asked:
            failures.append(seen)
    return Tree(tuple(kept), data, tuple(failures), found.beside, found.left_out)
