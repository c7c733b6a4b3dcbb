"""A GitLab Code Quality report. Fingerprints rest on the flagged lines, so findings survive shifts."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from dl_lint.output import where
from dl_lint.source.disk import digest
from dl_lint.texts import flagged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.engine.report import Report
    from dl_lint.output import Look
    from dl_lint.source.positions import Place

SEVERITIES = {"bug": "critical", "slow": "major", "advice": "info"}


def render(report: Report, look: Look) -> Iterator[str]:
    issues = []
    seen: dict[str, int] = {}
    for reported in report.findings:
        finding, rule = reported.finding, reported.rule
        path = _in_project(reported.path)
        about = digest(rule.code, path, flagged(reported, look.lines))
        seen[about] = seen.get(about, 0) + 1
        issues.append(
            {
                "type": "issue",
                "check_name": f"{rule.code} {rule.name}",
                "description": f"{_cell(finding.place, look)}{finding.message}; help: {finding.remedy}",
                "fingerprint": digest(about, str(seen[about])),
                "severity": SEVERITIES[reported.severity],
                "location": {"path": path, **_stretch(finding.place, look)},
            }
        )
    yield json.dumps(issues, indent=2) + "\n"


def _cell(place: Place, look: Look) -> str:
    name, row = where(place, look)
    return "" if name == place.path else f"{name.rpartition(':')[2]}, line {row}: "


def _stretch(place: Place, look: Look) -> dict[str, Any]:
    """In a notebook the lines of its JSON, which GitLab shows."""
    row, column, end_row, end_column = place.span
    cell = look.cell(place.path, row)
    if cell is not None:
        return {"lines": {"begin": cell.line(row), "end": cell.line(end_row)}}
    return {
        "positions": {
            "begin": {"line": row, "column": column + 1},
            "end": {"line": end_row, "column": end_column + 1},
        }
    }


def _in_project(path: str) -> str:
    """GitLab wants paths from the top of the project, which its jobs name; elsewhere the current folder is taken."""
    top = os.environ.get("CI_PROJECT_DIR", ".")
    return os.path.relpath(path, top).replace(os.sep, "/")
