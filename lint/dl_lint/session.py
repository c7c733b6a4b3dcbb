"""From what the user wishes to an outcome: settings, files, baseline, fixes. Prints nothing."""

from __future__ import annotations

import os
from types import MappingProxyType
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from dl_lint import config
from dl_lint.engine import files, question, run, selection
from dl_lint.engine.cache import Cache, users_folder
from dl_lint.engine.question import Question, Tree
from dl_lint.engine.report import Failure
from dl_lint.engine.selection import ConfigError, Selectors
from dl_lint.texts import Texts

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Mapping

    from dl_lint.baseline import Key
    from dl_lint.config import Config
    from dl_lint.engine.files import File
    from dl_lint.engine.reading import Before
    from dl_lint.engine.report import Entry, Report, Reported


class Wishes(NamedTuple):
    """The command line. ``stdin`` is a file that comes with its content; ``select`` is None where nobody said."""

    paths: tuple[str, ...] = ()
    stdin: tuple[str, bytes] | None = None
    given: Mapping[str, bytes] = MappingProxyType({})
    """More files that come with their content, as those that are open in an editor."""
    select: tuple[str, ...] | None = None
    extend: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    pedantic: bool = False
    config: tuple[str, ...] = ()
    """Files, of which there can be one, and lines of TOML that win over it."""
    baseline: str | None = None
    cache: bool = True


class Outcome(NamedTuple):
    """What a run came to: the report, the tree that it is about, and how that differs from the tree as it was."""

    report: Report
    before: Tree
    tree: Tree
    texts: Texts
    fixed: tuple[Reported, ...] = ()
    accepted: int = 0
    """Findings that the baseline took back."""

    def changed(self) -> list[File]:
        return [file for file in self.tree.files if self.tree.data[file.path] != self.before.data[file.path]]

    def diff(self) -> Iterator[str]:
        from dl_lint.fixes import difference
        from dl_lint.source.file import Source

        for file in self.changed():
            before, after = (Source.of(file.path, tree.data[file.path]).parts() for tree in (self.before, self.tree))
            for (name, old), (_, new) in zip(before, after, strict=True):
                yield from difference(name, old, new)


class Session:
    """One invocation. Raises ConfigError for settings that cannot be meant.

    ``before`` is what earlier ones have read, by path, where there were any.
    """

    def __init__(self, wishes: Wishes, rules: Mapping[str, Entry], before: Before | None = None) -> None:
        self._before: Before = {} if before is None else before
        command = Selectors(wishes.select, wishes.extend, wishes.ignore)
        for option in ("select", "extend", "ignore"):
            name = "--extend-select" if option == "extend" else f"--{option}"
            selection.check(getattr(command, option) or (), rules, name)
        self._stdin = wishes.stdin
        given = dict(wishes.given) | (dict([wishes.stdin]) if wishes.stdin else {})
        paths = wishes.paths or (() if given else (".",))
        home = config.locate([*paths, *given])
        settings = _settings(wishes, home, rules)
        self._cache = Cache(users_folder() if wishes.cache else None, os.path.abspath(home.root or os.getcwd()))
        self._baseline = wishes.baseline or settings.baseline
        pedantic = wishes.pedantic or settings.pedantic
        chosen = selection.chosen(rules.values(), settings.selectors, command)
        advised = selection.advised(chosen, settings.selectors, command, pedantic=pedantic)
        self._question = Question(chosen, rules, settings, home, advised)
        found = files.find(paths, home, settings, self._cache, given)
        self._tree = question.read(found, given)

    def lint(self, *, accepting: bool = True) -> Outcome:
        """Findings as they are; without ``accepting``, also those that the baseline takes back."""
        known = self._accepted() if accepting else None
        report = run.lint(self._tree, self._question, self._cache, self._before)
        texts = Texts(self._tree.data)
        left = self._new(report, known, texts)
        self._cache.trim()
        return Outcome(left, self._tree, self._tree, texts, accepted=len(report.findings) - len(left.findings))

    def fix(self, *, unsafe: bool) -> Outcome:
        """Findings after all fixes, which are made in memory only."""
        from dl_lint.edits import spelled_out
        from dl_lint.fixing import fix

        known = self._accepted()
        accepted = 0

        def lint(tree: Tree) -> Report:
            nonlocal accepted
            # a fix is made anew, never taken from a record
            report = run.lint(tree, self._question, Cache(None), self._before)
            texts = Texts(tree.data)
            left = self._new(report, known, texts)
            accepted = len(report.findings) - len(left.findings)
            return left._replace(
                findings=tuple(one._replace(finding=spelled_out(one.finding, texts.lines)) for one in left.findings)
            )

        fixed = fix(self._tree, lint, unsafe=unsafe)
        self._cache.trim()
        return Outcome(fixed.report, self._tree, fixed.tree, Texts(fixed.tree.data), fixed.fixed, accepted)

    def write(self, outcome: Outcome, stdout: BinaryIO) -> Outcome:
        """Put the fixed files in place, standard input on standard output. What cannot be written is a failure."""
        from dl_lint import fixes

        failures = []
        for folder in {os.path.dirname(file.absolute) for file in outcome.tree.files if file.asked}:
            fixes.sweep(folder)
        for file in outcome.changed():
            if self._stdin is None or file.path != self._stdin[0]:
                try:
                    fixes.write(file.absolute, outcome.before.data[file.path], outcome.tree.data[file.path])
                except fixes.Changed:
                    failures.append(Failure(file.path, "was changed by others while it was linted: not fixed"))
                except OSError as error:
                    failures.append(Failure(file.path, f"cannot be written: {error.strerror or error}"))
        if self._stdin is not None:
            stdout.write(outcome.tree.data.get(self._stdin[0], self._stdin[1]))
            stdout.flush()
        report = outcome.report._replace(failures=(*outcome.report.failures, *failures))
        return outcome._replace(report=report)

    def write_baseline(self, report: Report) -> str:
        """Accept the findings from now on; returns the name of the file."""
        if self._baseline is None:
            raise ConfigError("--write-baseline needs --baseline FILE, or the key baseline in [tool.dl-lint]")
        from dl_lint import baseline

        try:
            baseline.write(self._baseline, report.findings, Texts(self._tree.data).lines)
        except OSError as error:
            raise ConfigError(f"{self._baseline}: cannot be written: {error.strerror or error}") from None
        return self._baseline

    def _accepted(self) -> Counter[Key] | None:
        if self._baseline is None:
            return None
        from dl_lint import baseline

        return baseline.read(self._baseline)

    def _new(self, report: Report, known: Counter[Key] | None, texts: Texts) -> Report:
        if known is None or self._baseline is None:
            return report
        from dl_lint import baseline

        return report._replace(findings=baseline.unknown(report.findings, known, self._baseline, texts.lines))


def _settings(wishes: Wishes, home: config.Home, rules: Mapping[str, Entry]) -> Config:
    base = home.root or os.getcwd()
    overrides = [one for one in wishes.config if "=" in one and not os.path.exists(one)]
    files = [one for one in wishes.config if one not in overrides]
    if len(files) > 1:
        raise ConfigError(f"--config: {files[0]} and {files[1]}: one file can configure a run")
    return config.read(files[0] if files else home.pyproject, base, rules, overrides)
