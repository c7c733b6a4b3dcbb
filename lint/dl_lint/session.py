"""From what the user wishes to an outcome: settings, files, baseline, fixes. Prints nothing."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, BinaryIO

from dl_lint import baseline, config, engine, files, selection
from dl_lint.cache import Cache
from dl_lint.config import Config
from dl_lint.engine import Question, Tree
from dl_lint.report import Failure
from dl_lint.selection import ConfigError, Selectors
from dl_lint.source import NEWLINE, Source, SourceError

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterator, Mapping

    from dl_lint.files import File
    from dl_lint.report import Entry, Report, Reported


@dataclass(frozen=True, slots=True)
class Wishes:
    """The command line. ``stdin`` is a file that comes with its content; ``select`` is None where nobody said."""

    paths: tuple[str, ...] = ()
    stdin: tuple[str, bytes] | None = None
    select: tuple[str, ...] | None = None
    extend: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    pedantic: bool = False
    config: str | None = None
    baseline: str | None = None
    cache: bool = True
    jobs: int = 1


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run came to: the report, the tree that it is about, and how that differs from the tree as it was."""

    report: Report
    before: Tree
    tree: Tree
    lines: Callable[[str], tuple[str, ...]]
    fixed: tuple[Reported, ...] = ()
    accepted: int = 0
    """Findings that the baseline took back."""

    def changed(self) -> list[File]:
        return [file for file in self.tree.files if self.tree.data[file.path] != self.before.data[file.path]]

    def diff(self) -> Iterator[str]:
        from dl_lint.fixes import difference

        for file in self.changed():
            texts = (Source.of(file.path, tree.data[file.path]).text for tree in (self.before, self.tree))
            yield from difference(file.path, *texts)


class Session:
    """One invocation. Raises ConfigError for settings that cannot be meant."""

    def __init__(self, wishes: Wishes, rules: Mapping[str, Entry]) -> None:
        command = Selectors(wishes.select, wishes.extend, wishes.ignore)
        for option in ("select", "extend", "ignore"):
            name = "--extend-select" if option == "extend" else f"--{option}"
            selection.check(getattr(command, option) or (), rules, name)
        self._stdin = wishes.stdin
        paths = wishes.paths or (() if wishes.stdin else (".",))
        home = config.locate([*paths, *([wishes.stdin[0]] if wishes.stdin else [])])
        settings = _settings(wishes, home, rules)
        self._cache = Cache((home.root or os.getcwd()) if wishes.cache else None)
        self._baseline = wishes.baseline or settings.baseline
        self._question = Question(
            selection.chosen(
                rules.values(), settings.selectors, command, pedantic=wishes.pedantic or settings.pedantic
            ),
            rules,
            settings,
            home,
            wishes.jobs,
        )
        found = files.find(paths, home, settings, self._cache, stdin=wishes.stdin and wishes.stdin[0])
        self._tree = engine.read(found, dict([wishes.stdin]) if wishes.stdin else {})

    def lint(self, *, accepting: bool = True) -> Outcome:
        """Findings as they are; without ``accepting``, also those that the baseline takes back."""
        known = self._accepted() if accepting else None
        report = engine.lint(self._tree, self._question, self._cache)
        lines = _lines(self._tree)
        left = self._new(report, known, lines)
        self._cache.trim()
        return Outcome(left, self._tree, self._tree, lines, accepted=len(report.findings) - len(left.findings))

    def mend(self, *, unsafe: bool) -> Outcome:
        """Findings after all fixes, which are made in memory only."""
        from dl_lint.mending import mend

        known = self._accepted()
        accepted = 0

        def lint(tree: Tree) -> Report:
            nonlocal accepted
            report = engine.lint(tree, self._question, self._cache)
            left = self._new(report, known, _lines(tree))
            accepted = len(report.findings) - len(left.findings)
            return left

        mended = mend(self._tree, lint, unsafe=unsafe)
        self._cache.trim()
        return Outcome(mended.report, self._tree, mended.tree, _lines(mended.tree), mended.fixed, accepted)

    def write(self, outcome: Outcome, stdout: BinaryIO) -> Outcome:
        """Put the mended files in place, standard input on standard output. What cannot be written is a failure."""
        from dl_lint import fixes

        failures = []
        for file in outcome.changed():
            if self._stdin is None or file.path != self._stdin[0]:
                try:
                    fixes.write(file.absolute, outcome.before.data[file.path], outcome.tree.data[file.path])
                except fixes.Changed:
                    failures.append(Failure(file.path, "was changed by others while it was linted: not mended"))
                except OSError as error:
                    failures.append(Failure(file.path, f"cannot be written: {error.strerror or error}"))
        if self._stdin is not None:
            stdout.write(outcome.tree.data.get(self._stdin[0], self._stdin[1]))
            stdout.flush()
        report = replace(outcome.report, failures=(*outcome.report.failures, *failures))
        return replace(outcome, report=report)

    def write_baseline(self, report: Report) -> str:
        """Accept the findings from now on; returns the name of the file."""
        if self._baseline is None:
            raise ConfigError("--write-baseline needs --baseline FILE, or the key baseline in [tool.dl-lint]")
        try:
            baseline.write(self._baseline, report.findings, _lines(self._tree))
        except OSError as error:
            raise ConfigError(f"{self._baseline}: cannot be written: {error.strerror or error}") from None
        return self._baseline

    def _accepted(self) -> Counter[baseline.Key] | None:
        return None if self._baseline is None else baseline.read(self._baseline)

    def _new(
        self, report: Report, known: Counter[baseline.Key] | None, lines: Callable[[str], tuple[str, ...]]
    ) -> Report:
        if known is None or self._baseline is None:
            return report
        return replace(report, findings=baseline.unknown(report.findings, known, self._baseline, lines))


def _settings(wishes: Wishes, home: config.Home, rules: Mapping[str, Entry]) -> Config:
    base = home.root or os.getcwd()
    path = wishes.config or home.pyproject
    return Config(base) if path is None else config.read(path, base, rules)


def _lines(tree: Tree) -> Callable[[str], tuple[str, ...]]:
    """The lines of a file by its path, read from the tree, or from the disk if the file is beyond it."""
    known: dict[str, tuple[str, ...]] = {}

    def lines(path: str) -> tuple[str, ...]:
        if path not in known:
            try:
                source = Source.of(path, tree.data[path]) if path in tree.data else Source.read(path)
                known[path] = tuple(NEWLINE.split(source.text))
            except SourceError:
                known[path] = ()
        return known[path]

    return lines
