"""Findings as JSON in the shape of ruff's, so that existing readers work, with related places beside."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dl_lint.catalogue import url

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.output import Look
    from dl_lint.report import Report, Reported
    from dl_lint.rule import Fix, Place


def render(report: Report, _look: Look) -> Iterator[str]:
    yield json.dumps([record(reported) for reported in report.findings], indent=2) + "\n"


def record(reported: Reported) -> dict[str, Any]:
    finding = reported.finding
    return {
        "cell": None,
        "code": reported.rule.code,
        "name": reported.rule.name,
        "severity": reported.rule.severity,
        "message": finding.message,
        "remedy": finding.remedy,
        **stretch(finding.place),
        "fix": finding.fix and _fix(finding.fix),
        "related": [{"message": related.message, **stretch(related.place)} for related in finding.related],
        "noqa_row": finding.place.span[0],
        "url": url(reported.rule),
    }


def stretch(place: Place) -> dict[str, Any]:
    """Rows and columns count from 1, columns in characters; the end is the first column after."""
    row, column, end_row, end_column = place.span
    return {
        "filename": place.path,
        "location": {"row": row, "column": column + 1},
        "end_location": {"row": end_row, "column": end_column + 1},
    }


def _fix(fix: Fix) -> dict[str, Any]:
    return {
        "applicability": "safe" if fix.safe else "unsafe",
        "message": fix.message,
        "edits": [{"content": edit.text, **stretch(edit.place)} for edit in fix.edits],
    }
