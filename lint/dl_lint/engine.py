"""One run: what was read, what is asked of it, and the report, from the cache if the same was asked before."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dl_lint import files, report
from dl_lint.cache import digest, tool_version
from dl_lint.report import Report

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dl_lint.cache import Cache
    from dl_lint.config import Config, Home
    from dl_lint.files import File, Found
    from dl_lint.report import Entry, Failure


@dataclass(frozen=True, slots=True)
class Tree:
    """The files of a run with their bytes; those that could not be read are failures."""

    files: tuple[File, ...]
    data: Mapping[str, bytes]
    """By the path that is printed."""
    failures: tuple[Failure, ...] = ()
    beside: tuple[str, ...] = ()

    def with_data(self, changed: Mapping[str, bytes]) -> Tree:
        return replace(self, data={**self.data, **changed})


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a tree. ``jobs`` is the number of processes that may work on it, and changes no answer."""

    rules: tuple[Entry, ...]
    known: Mapping[str, Entry]
    config: Config
    home: Home
    jobs: int = 1
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
    return Tree(tuple(kept), data, tuple(failures), found.beside)


def lint(tree: Tree, question: Question, cache: Cache) -> Report:
    """All findings in the files asked about, in the order of their places."""
    if not tree.files:
        return Report((), tree.failures, 0)
    key = digest(
        tool_version(),
        question.key(),
        digest(*tree.beside),
        *(f"{digest(tree.data[file.path])}{file.asked:d}{file.by_name:d}{file.path}" for file in tree.files),
    )
    known = cache.read("runs", key)
    if known is not None:
        with suppress(KeyError, TypeError, ValueError, AttributeError):
            if all(_digest_now(path) == seen for path, seen in known["outside"].items()):
                return _with_failures(report.decode(known["report"], question.known), tree)
    found, outside = _analysed(tree, question, cache)
    if outside is not None:
        cache.write("runs", key, {"report": report.encode(found), "outside": outside})
    return _with_failures(found, tree)


def _analysed(tree: Tree, question: Question, cache: Cache) -> tuple[Report, Mapping[str, str] | None]:
    """The report, and on which files beyond the tree it rests; None if the same tree might fare otherwise next time."""
    from dl_lint import relevance

    relevant = relevance.relevant(tree, question.config.hints)
    asked = [file for file in tree.files if file.asked]
    if not relevant and not any(relevance.is_doubtful(file, tree.data[file.path]) for file in asked):
        return Report((), (), len(asked)), {}
    from dl_lint.analysis import Analysis

    analysis = Analysis(tree, question, cache)
    found = analysis.report(relevant)
    return found, analysis.outside if analysis.repeatable else None


def _digest_now(path: str) -> str:
    if path.endswith("/"):
        from dl_lint.around import digest_of_names

        return digest_of_names(path)
    seen = files.read(files.File(path, path, asked=False))
    return digest(seen) if isinstance(seen, bytes) else ""


def _with_failures(found: Report, tree: Tree) -> Report:
    """The failures to read are of this run, not of the content that the cache knows."""
    return replace(found, failures=(*tree.failures, *found.failures))
