"""A GitLab Code Quality report. Fingerprints rest on the flagged lines, so findings survive shifts."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from dl_lint.baseline import flagged
from dl_lint.cache import digest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.output import Look
    from dl_lint.report import Report

SEVERITIES = {"bug": "critical", "slow": "major", "advice": "info"}


def render(report: Report, look: Look) -> Iterator[str]:
    issues = []
    seen: dict[str, int] = {}
    for reported in report.findings:
        finding, rule = reported.finding, reported.rule
        row, column, end_row, end_column = finding.place.span
        path = _in_project(reported.path)
        about = digest(rule.code, path, flagged(reported, look.lines))
        seen[about] = seen.get(about, 0) + 1
        issues.append(
            {
                "type": "issue",
                "check_name": f"{rule.code} {rule.name}",
                "description": f"{finding.message}; help: {finding.remedy}",
                "fingerprint": digest(about, str(seen[about])),
                "severity": SEVERITIES[rule.severity],
                "location": {
                    "path": path,
                    "positions": {
                        "begin": {"line": row, "column": column + 1},
                        "end": {"line": end_row, "column": end_column + 1},
                    },
                },
            }
        )
    yield json.dumps(issues, indent=2) + "\n"


def _in_project(path: str) -> str:
    """GitLab wants paths from the top of the project, which its jobs name; elsewhere the current folder is taken."""
    top = os.environ.get("CI_PROJECT_DIR", ".")
    return os.path.relpath(path, top).replace(os.sep, "/")
