"""``--fix`` in memory: passes of fixes over a tree until none is left; every file must still parse after each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dl_lint import fixes
from dl_lint.engine.report import Failure
from dl_lint.source.file import Source
from dl_lint.source.parser import parse
from dl_lint.source.text import SourceError

if TYPE_CHECKING:
    from collections.abc import Callable

    from dl_lint.engine.question import Tree
    from dl_lint.engine.report import Report, Reported

# Fixes settle in two passes, three where one makes room for another; more would be fixes that undo each other.
PASSES = 10


@dataclass(frozen=True, slots=True)
class Fixed:
    """The tree after all passes, what is left to say of it, and the findings that are gone from it."""

    tree: Tree
    report: Report
    fixed: tuple[Reported, ...]


def fix(tree: Tree, lint: Callable[[Tree], Report], *, unsafe: bool) -> Fixed:
    """Apply the fixes of all findings, in passes. A fix that breaks its file is left out and reported."""
    asked = {file.path for file in tree.files if file.asked}
    fixed: list[Reported] = []
    broken: dict[tuple[str, str], Failure] = {}
    now, report = tree, lint(tree)
    passes = 0
    while passes < PASSES:
        usable = [one for one in report.findings if (one.rule.code, one.path) not in broken]
        chosen = fixes.choose(usable, unsafe=unsafe, paths=asked)
        if not chosen:
            return Fixed(now, report._replace(failures=(*report.failures, *broken.values())), tuple(fixed))
        changed, spoilt = _apply(now, chosen)
        if spoilt:
            broken |= {(one.rule.code, one.path): failure for one, failure in spoilt}
            continue
        passes += 1
        fixed += chosen
        now = now.with_data(changed)
        report = lint(now)
    report = lint(tree)
    failure = Failure(fixed[-1].path, f"fixes of {_codes(fixed)} undo each other: nothing was changed")
    return Fixed(tree, report._replace(failures=(*report.failures, *broken.values(), failure)), ())


def _apply(tree: Tree, chosen: list[Reported]) -> tuple[dict[str, bytes], list[tuple[Reported, Failure]]]:
    """The changed files; or, if one does not parse any more, the findings whose fixes spoil their file even alone."""
    try:
        return _applied(tree, chosen), []
    except _Spoilt as spoilt:
        together = [(one, spoilt.failure(one)) for one in chosen if _touches(one, spoilt.path)]
    alone = []
    for one, _ in together:
        try:
            _applied(tree, [one])
        except _Spoilt as spoilt:
            alone.append((one, spoilt.failure(one)))
    return {}, alone or together


class _Spoilt(Exception):
    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def failure(self, one: Reported) -> Failure:
        line = one.finding.place.span[0]
        return Failure(
            one.path, f"the fix of {one.rule.code} was left out, it would spoil {self.path}: {self.reason}", line
        )


def _applied(tree: Tree, chosen: list[Reported]) -> dict[str, bytes]:
    changed = {}
    for path, edits in fixes.edits_by_path(chosen).items():
        source = Source.of(path, tree.data[path])
        try:
            changed[path] = fixes.apply(source, edits)
            parse(Source.of(path, changed[path]))
        except (ValueError, SourceError) as error:
            raise _Spoilt(path, getattr(error, "message", str(error))) from None
    return changed


def _touches(one: Reported, path: str) -> bool:
    fix = one.finding.fix
    return fix is not None and any(edit.place.path == path for edit in fix.edits)


def _codes(findings: list[Reported]) -> str:
    return ", ".join(sorted({one.rule.code for one in findings}))
