"""SARIF 2.1.0, for code scanning: rules with pages, results with related places and fixes, failures as notices."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from dl_lint import __version__
from dl_lint.edits import spelled_out
from dl_lint.engine.catalogue import REPOSITORY, page, summary, url
from dl_lint.source.disk import digest
from dl_lint.source.file import is_notebook
from dl_lint.texts import flagged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.engine.report import Entry, Failure, Report, Reported
    from dl_lint.output import Look
    from dl_lint.rule import Edit, Fix
    from dl_lint.source.positions import Place

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

LEVELS = {"bug": "error", "slow": "warning", "advice": "note"}

RANKS = {"bug": 90.0, "slow": 50.0, "advice": 10.0}
"""How much a result matters, of 100."""


def render(report: Report, look: Look) -> Iterator[str]:
    rules = sorted({reported.rule for reported in report.findings}, key=lambda rule: rule.code)
    numbers = {rule.code: number for number, rule in enumerate(rules)}
    run = {
        "tool": {
            "driver": {
                "name": "dl-lint",
                "informationUri": REPOSITORY,
                "version": __version__,
                "rules": [_rule(rule) for rule in rules],
            }
        },
        "invocations": [
            {
                "executionSuccessful": not report.failures,
                "toolExecutionNotifications": [_notification(failure) for failure in report.failures],
            }
        ],
        "columnKind": "unicodeCodePoints",
        "results": [_result(reported, numbers[reported.rule.code], look) for reported in report.findings],
    }
    yield json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(rule: Entry) -> dict[str, Any]:
    text = page(rule)
    return {
        "id": rule.code,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": summary(rule)},
        "help": {"text": text, "markdown": text},
        "helpUri": url(rule),
        "defaultConfiguration": {"level": LEVELS[rule.severity]},
        "properties": {"tags": [rule.severity]},
    }


def _result(reported: Reported, number: int, look: Look) -> dict[str, Any]:
    finding, rule = spelled_out(reported.finding, look.lines), reported.rule
    result: dict[str, Any] = {
        "ruleId": rule.code,
        "ruleIndex": number,
        "level": LEVELS[reported.severity],
        "rank": RANKS[reported.severity],
        "message": {"text": f"{finding.message}; help: {finding.remedy}"},
        "locations": [_location(finding.place, look)],
        "partialFingerprints": {
            "flaggedText/v1": digest(rule.code, reported.path, flagged(reported, look.lines)),
        },
    }
    if finding.related:
        result["relatedLocations"] = [
            {"id": count, **_location(related.place, look), "message": {"text": related.message}}
            for count, related in enumerate(finding.related, 1)
        ]
    if finding.cost is not None:
        result["properties"] = {"bytesPerSample": finding.cost}
    if finding.fix is not None and not any(is_notebook(edit.place.path) for edit in finding.fix.edits):
        result["fixes"] = [_fix(finding.fix)]
    return result


def _fix(fix: Fix) -> dict[str, Any]:
    by_path: dict[str, list[Edit]] = {}
    for edit in fix.edits:
        by_path.setdefault(edit.place.path, []).append(edit)
    return {
        "description": {"text": fix.message},
        "artifactChanges": [
            {
                "artifactLocation": {"uri": _uri(path)},
                "replacements": [
                    {"deletedRegion": _region(edit.place), "insertedContent": {"text": edit.text}} for edit in edits
                ],
            }
            for path, edits in by_path.items()
        ],
    }


def _notification(failure: Failure) -> dict[str, Any]:
    notice: dict[str, Any] = {"level": "error", "message": {"text": failure.message}}
    if not failure.path:
        return notice
    location: dict[str, Any] = {"artifactLocation": {"uri": _uri(failure.path)}}
    if failure.line is not None:
        location["region"] = {"startLine": failure.line}
    return notice | {"locations": [{"physicalLocation": location}]}


def _location(place: Place, look: Look) -> dict[str, Any]:
    """In a notebook the lines of its JSON, whose columns mean nothing, and the cell beside."""
    artifact = {"uri": _uri(place.path)}
    row, _, end_row, _ = place.span
    cell = look.cell(place.path, row)
    if cell is None:
        return {"physicalLocation": {"artifactLocation": artifact, "region": _region(place)}}
    region = {"startLine": cell.line(row), "endLine": cell.line(end_row)}
    shown = f"cell {cell.number}, line {row - cell.first + 1}"
    return {
        "physicalLocation": {"artifactLocation": artifact, "region": region},
        "logicalLocations": [{"name": shown, "kind": "member"}],
    }


def _region(place: Place) -> dict[str, int]:
    row, column, end_row, end_column = place.span
    return {"startLine": row, "startColumn": column + 1, "endLine": end_row, "endColumn": end_column + 1}


def _uri(path: str) -> str:
    """Relative to where the command ran, as code scanning wants it; percent-encoded as bytes, whatever they are."""
    quoted = quote(os.fsencode(path))
    return f"file://{quoted}" if path.startswith("/") else quoted
