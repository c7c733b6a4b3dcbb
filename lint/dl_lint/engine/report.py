"""What a run says: findings under their rules, files that could not be checked, and how many were.

These records and the others that a run with nothing to parse loads are named tuples: 16 frozen dataclasses and their
module took 25 of its 80 ms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from dl_lint.sight import facts
from dl_lint.sight.facts import Sight

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dl_lint.rule import Finding, Severity
    from dl_lint.source.positions import Place

WEIGHTS: tuple[Severity, ...] = ("bug", "slow", "advice")
"""From the heaviest."""


class Entry(NamedTuple):
    """One rule as the catalogue lists it; the docstring of ``module`` is its documentation."""

    code: str
    name: str
    severity: Severity
    module: str


class Reported(NamedTuple):
    """A finding under the rule that made it."""

    rule: Entry
    finding: Finding

    @property
    def path(self) -> str:
        return self.finding.place.path

    @property
    def severity(self) -> Severity:
        """The rule's, or advice where this finding is no more than that."""
        return "advice" if self.finding.advice else self.rule.severity

    def fixable(self, *, unsafe: bool) -> bool:
        fix = self.finding.fix
        return fix is not None and (fix.safe or unsafe)


class Failure(NamedTuple):
    """A file, folder or rule that could not do its part, in one line."""

    path: str
    """Empty if no file is to blame."""
    message: str
    line: int | None = None
    partial: bool = False
    """Whether the rest of the file was checked all the same: this alone is no reason for an exit status of 2."""

    def __str__(self) -> str:
        where = self.path if self.line is None else f"{self.path}:{self.line}"
        return f"{where}: {self.message}" if where else self.message


class Report(NamedTuple):
    """Everything a run has to say, in the order in which it is printed. ``checked`` counts the files asked about that
    could be read."""

    findings: tuple[Reported, ...]
    failures: tuple[Failure, ...]
    checked: int
    hidden: int = 0
    """Findings that are advice, of rules of which no advice is wanted: those of the rules that are advice too."""
    quiet: tuple[tuple[str, str, int], ...] = ()
    """How often each condition kept a rule quiet: the rule's code, the condition in words, and the number."""
    sight: Sight = Sight()
    """What of the data loading in the files asked about could be followed."""


def order(reported: Reported) -> tuple[int, int, Place, str, str]:
    """Bugs first, then what costs most as far as that is known, then as files are read."""
    return WEIGHTS.index(reported.severity), -(reported.finding.cost or 0), *position(reported)


def position(reported: Reported) -> tuple[Place, str, str]:
    return reported.finding.place, reported.rule.code, reported.finding.message


def encode(report: Report) -> dict[str, Any]:
    """As JSON keeps it in the cache."""
    return {
        "findings": [_encode_finding(reported) for reported in report.findings],
        "failures": [[failure.path, failure.message, failure.line, failure.partial] for failure in report.failures],
        "checked": report.checked,
        "hidden": report.hidden,
        "quiet": report.quiet,
        "sight": report.sight,
    }


def decode(data: dict[str, Any], rules: Mapping[str, Entry]) -> Report:
    """The inverse of ``encode``; raises KeyError, TypeError or ValueError for anything else."""
    return Report(
        tuple(_decode_finding(row, rules) for row in data["findings"]),
        tuple(Failure(path, message, line, partial) for path, message, line, partial in data["failures"]),
        int(data["checked"]),
        int(data["hidden"]),
        tuple((str(code), str(reason), int(count)) for code, reason, count in data["quiet"]),
        facts.decode(data["sight"]),
    )


def _encode_finding(reported: Reported) -> list[Any]:
    finding, fix = reported.finding, reported.finding.fix
    return [
        reported.rule.code,
        _encode_place(finding.place),
        finding.message,
        finding.remedy,
        [[_encode_place(related.place), related.message] for related in finding.related],
        fix and [fix.message, fix.safe, [[_encode_place(edit.place), edit.text, edit.operation] for edit in fix.edits]],
        finding.advice,
        finding.cost,
    ]


def _decode_finding(row: list[Any], rules: Mapping[str, Entry]) -> Reported:
    from dl_lint.rule import Edit, Finding, Fix, Related  # 5 ms, which a run without findings saves

    code, place, message, remedy, related, fix, advice, cost = row
    return Reported(
        rules[code],
        Finding(
            _decode_place(place),
            message,
            remedy,
            tuple(Related(_decode_place(at), text) for at, text in related),
            fix and Fix(fix[0], tuple(Edit(_decode_place(at), text, how) for at, text, how in fix[2]), fix[1]),
            bool(advice),
            cost=None if cost is None else int(cost),
        ),
    )


def _encode_place(place: Place) -> list[Any]:
    return [place.path, *place.span]


def _decode_place(row: list[Any]) -> Place:
    from dl_lint.source.positions import Place

    path, line, column, end_line, end_column = row
    return Place(path, (line, column, end_line, end_column))
