"""Findings as JSON in the shape of ruff's, so that existing readers work, with related places beside."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dl_lint.edits import spelled_out
from dl_lint.engine.catalogue import url
from dl_lint.output import where

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.engine.report import Report, Reported
    from dl_lint.output import Look
    from dl_lint.rule import Fix
    from dl_lint.source.positions import Place


def render(report: Report, look: Look) -> Iterator[str]:
    yield json.dumps([record(reported, look) for reported in report.findings], indent=2) + "\n"


def record(reported: Reported, look: Look) -> dict[str, Any]:
    finding = spelled_out(reported.finding, look.lines)
    return {
        "code": reported.rule.code,
        "name": reported.rule.name,
        "severity": reported.severity,
        "bytes_per_sample": finding.cost,
        "message": finding.message,
        "remedy": finding.remedy,
        **stretch(finding.place, look),
        "fix": finding.fix and _fix(finding.fix, look),
        "related": [{"message": related.message, **stretch(related.place, look)} for related in finding.related],
        "noqa_row": where(finding.place, look)[1],
        "url": url(reported.rule),
    }


def stretch(place: Place, look: Look) -> dict[str, Any]:
    """Rows and columns count from 1, columns in characters; the end is the first column after. The rows of a notebook
    count in the cell, which is None in other files."""
    row, column, end_row, end_column = place.span
    cell = look.cell(place.path, row)
    above = 0 if cell is None else cell.first - 1
    return {
        "filename": place.path,
        "cell": None if cell is None else cell.number,
        "location": {"row": row - above, "column": column + 1},
        "end_location": {"row": end_row - above, "column": end_column + 1},
    }


def _fix(fix: Fix, look: Look) -> dict[str, Any]:
    return {
        "applicability": "safe" if fix.safe else "unsafe",
        "message": fix.message,
        "edits": [{"content": edit.text, **stretch(edit.place, look)} for edit in fix.edits],
    }
