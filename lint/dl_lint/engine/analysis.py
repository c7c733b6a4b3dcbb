"""The part of a run that a warm cache spares: reading, the project that links files, rules, suppressions."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from dl_lint.engine import files, suppress, unused_suppression
from dl_lint.engine.catalogue import UNUSED_SUPPRESSION, load
from dl_lint.engine.files import File
from dl_lint.engine.ignored import Settings
from dl_lint.engine.joining import joined
from dl_lint.engine.reading import Reading
from dl_lint.engine.relevance import is_doubtful
from dl_lint.engine.report import Failure, Report, Reported, order
from dl_lint.engine.selection import exactness
from dl_lint.project import Project
from dl_lint.rules import EVERYWHERE
from dl_lint.sight.facts import Sight, printed, within
from dl_lint.sight.survey import survey
from dl_lint.source.disk import digest
from dl_lint.source.file import Source
from dl_lint.source.packaging import Around
from dl_lint.source.parser import Syntax
from dl_lint.source.positions import Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dl_lint.engine.cache import Cache
    from dl_lint.engine.question import Question, Tree
    from dl_lint.engine.reading import Before
    from dl_lint.engine.report import Entry
    from dl_lint.rule import Finding, Rule


class Analysis:
    """One tree under one question.

    ``repeatable`` says whether the same tree would get the same answer again, and ``outside`` on which files beyond it
    the answer rests: digests by absolute path, empty where nothing could be read.
    """

    def __init__(self, tree: Tree, question: Question, cache: Cache, before: Before) -> None:
        self.repeatable = True
        self.outside: dict[str, str] = {}
        self._tree = tree
        self._question = question
        self._cache = cache
        self._root = question.home.root or _common_folder(tree)
        self._by_absolute = {file.absolute: file for file in tree.files}
        self._reading = Reading(tree.data, before)
        self._failures: list[Failure] = []
        self._hidden = 0
        self._quiet: Counter[tuple[str, str]] = Counter()
        self._sight = Sight()

    def report(self, relevant: Mapping[str, File]) -> Report:
        """What is to be said of the tree, whose ``relevant`` files are read."""
        asked = [file for file in self._tree.files if file.asked]
        linked = {path: file for path, file in relevant.items() if isinstance(self._reading.of(path), Syntax)}
        found, ran = self._run_rules([*linked.values()])
        findings: list[Reported] = []
        unread = 0
        for file in asked:
            if file.path in linked or file.path in found:
                findings += self._accepted(file, found.get(file.path, []), ran)
                self._failures.extend(self._reading.notes(file.path))
            elif (failure := self._why_not(file, is_relevant=file.path in relevant)) is not None:
                self._failures.append(failure)
                unread += 1
        self.repeatable &= self._reading.repeatable
        quiet = tuple((code, reason, count) for (code, reason), count in sorted(self._quiet.items()))
        sight = within(self._sight, {file.path for file in asked})
        failures, checked = tuple(self._failures), len(asked) - unread
        return Report(tuple(sorted(findings, key=order)), failures, checked, self._hidden, quiet, sight)

    # --- rules -------------------------------------------------------------------------

    def _run_rules(self, linked: list[File]) -> tuple[dict[str, list[Reported]], set[Entry]]:
        """Findings by path, and the rules that came to their end and of which all is wanted."""
        names = {self._name(file): file.path for file in linked}
        found: dict[str, list[Reported]] = {}
        ran: set[Entry] = set()
        try:
            hints = self._question.config.hints
            project = Project.load(names, self._root, self._read, self._content, hints, self._around())
        except Exception as error:  # rather no findings than a traceback
            self._broke_down("linking the files", error, names)
            return found, ran
        for entry in self._question.rules:
            if entry != UNUSED_SUPPRESSION:
                try:
                    [rule] = load([entry])
                    findings = [self._shown(one) for one in self._weighed(rule, project)]
                except Exception as error:  # a fault of ours in one rule must not hide what the others find
                    self._broke_down(f"the rule {entry.code} {entry.name}", error, names)
                    continue
                if entry.severity != "advice" or entry in self._question.advised:
                    ran.add(entry)
                for finding in findings:
                    found.setdefault(finding.place.path, []).append(Reported(entry, finding))
        try:
            self._sight = printed(survey(project), lambda path: self._at(Place(path, (1, 0, 1, 0))).path)
        except Exception as error:
            self._broke_down("the survey of what could be followed", error, names)
        return found, ran

    def _weighed(self, rule: Rule, project: Project) -> Iterator[Finding]:
        """What a rule has to say, each finding with the weight that its ``Quiet`` list and its place leave it."""
        for finding, quiet in rule.weighed(project, EVERYWHERE):
            if quiet is not None:
                self._quiet[rule.code, str(quiet)] += 1
            if quiet is None or quiet.weight == "advice":
                yield finding

    def _broke_down(self, what: str, error: Exception, paths: Mapping[str, str]) -> None:
        path = _looked_at(error, paths)
        said = " ".join(f"{type(error).__name__}: {error}".split())
        self._failures.append(Failure(path, f"{what} broke down, please report it: {said}"))
        self.repeatable = False

    def _name(self, file: File) -> str:
        """As the project knows it, wherever the command runs: relative to the root if inside it."""
        inside = file.absolute.startswith(self._root.rstrip("/") + "/")
        return os.path.relpath(file.absolute, self._root) if inside else file.absolute

    def _read(self, name: str) -> Syntax | None:
        absolute = os.path.normpath(os.path.join(self._root, name))
        file = self._by_absolute.get(absolute)
        if file is None:
            file = File(absolute, absolute, asked=False)
            data = files.read(file)
            self.outside[absolute] = digest(data) if isinstance(data, bytes) else ""
            if isinstance(data, bytes):
                self._reading.add(absolute, data)
            self._by_absolute[absolute] = file
        if self.outside.get(absolute) == "":
            return None
        syntax = self._reading.of(file.path)
        return syntax if isinstance(syntax, Syntax) else None

    def _around(self) -> Around:
        return Around(self.outside, self._known_as)

    def _content(self, absolute: str) -> bytes | None:
        file = self._by_absolute.get(absolute)
        return None if file is None else self._tree.data.get(file.path)

    def _shown(self, finding: Finding) -> Finding:
        """Under the paths that the user gave."""
        fix = finding.fix
        return replace(
            finding,
            place=self._at(finding.place),
            related=tuple(replace(one, place=self._at(one.place)) for one in finding.related),
            fix=fix and replace(fix, edits=tuple(replace(edit, place=self._at(edit.place)) for edit in fix.edits)),
        )

    def _at(self, place: Place) -> Place:
        absolute = os.path.normpath(os.path.join(self._root, place.path))
        file = self._by_absolute.get(absolute)
        return Place(file.path if file is not None else absolute, place.span)

    def _known_as(self, path: str) -> str:
        """A path of the project, or an absolute one, as messages name it: as the user gave it, else from here."""
        shown = self._at(Place(path, (1, 0, 1, 0))).path
        here = os.getcwd().rstrip("/") + "/"
        return shown.removeprefix(here)

    # --- one file ----------------------------------------------------------------------

    def _accepted(self, file: File, found: list[Reported], ran: set[Entry]) -> Iterator[Reported]:
        """What is left of a file's findings, and what is to be said of the comments that took some back."""
        ignored = self._ignored(file)
        found = [one for one in found if not any(exactness(selector, one.rule) for selector in ignored)]
        syntax = self._reading.of(file.path)
        assert isinstance(syntax, Syntax)
        left, used = suppress.accept(found, syntax)
        advised = self._question.advised
        shown = [one for one in left if one.severity != "advice" or one.rule in advised]
        self._hidden += len(left) - len(shown)
        yield from joined(shown)
        if UNUSED_SUPPRESSION in self._question.rules and "dl-lint" in syntax.code:
            source = Source.of(file.path, self._tree.data[file.path])
            judged = {entry for entry in ran if not any(exactness(selector, entry) for selector in ignored)}
            if not any(exactness(selector, UNUSED_SUPPRESSION) for selector in ignored):
                yield from unused_suppression.unused(source, syntax.comments, used, judged, self._question.known)

    def _ignored(self, file: File) -> list[str]:
        """The selectors that ``per-file-ignores`` holds for a file."""
        config = self._question.config
        if not config.per_file_ignores:
            return []
        settings = Settings(config.base, [[pattern] for pattern, _ in config.per_file_ignores], self._cache)
        numbers = settings.matching(file.absolute)
        settings.keep()
        return [selector for number in numbers for selector in config.per_file_ignores[number][1]]

    def _why_not(self, file: File, *, is_relevant: bool) -> Failure | None:
        """Why a file cannot be checked; None for one that could be and holds nothing to check."""
        if is_relevant or is_doubtful(file, self._tree.data[file.path]):
            found = self._reading.of(file.path)
            return found if isinstance(found, Failure) else None
        return None


def _common_folder(tree: Tree) -> str:
    folders = [os.path.dirname(file.absolute) for file in tree.files]
    return os.path.commonpath(folders) if folders else os.getcwd()


def _looked_at(error: Exception, paths: Mapping[str, str]) -> str:
    """The file that was being looked at when something broke, told by the places that its functions hold."""
    path = ""
    trace = error.__traceback__
    while trace is not None:
        for value in trace.tb_frame.f_locals.values():
            name = getattr(getattr(value, "place", value), "path", None)
            path = paths.get(name, path) if isinstance(name, str) else path
        trace = trace.tb_next
    return path
