"""Workflow commands that GitHub shows as annotations of the changed lines; in a notebook, of the lines of its JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.output import where
from dl_lint.texts import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.engine.report import Report
    from dl_lint.output import Look

LEVELS = {"bug": "error", "slow": "warning", "advice": "notice"}


def render(report: Report, look: Look) -> Iterator[str]:
    if not report.checked:
        said = [failure.message for failure in report.failures] or ["no Python files are here"]
        yield f"::warning title=dl-lint::{_data('; '.join(said))}\n"
    for reported in report.findings:
        finding, rule = reported.finding, reported.rule
        row, column, end_row, end_column = finding.place.span
        name, shown_row = where(finding.place, look)
        cell = look.cell(finding.place.path, row)
        properties = {
            "title": f"dl-lint {rule.code} {rule.name}",
            "file": visible(reported.path),
            "line": str(row if cell is None else cell.line(row)),
            "endLine": str(end_row if cell is None else cell.line(end_row)),
        }
        if row == end_row and cell is None:  # GitHub rejects columns of a stretch of several lines
            properties |= {"col": str(column + 1), "endColumn": str(end_column + 1)}
        shown = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
        message = f"{visible(name)}:{shown_row}:{column + 1}: {rule.code} {finding.message}\nhelp: {finding.remedy}"
        yield f"::{LEVELS[reported.severity]} {shown}::{_data(message)}\n"


def _data(text: str) -> str:
    lines = text.replace("%", "%25").split("\n")
    return "%0A".join(map(visible, lines))


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
