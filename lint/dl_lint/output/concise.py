"""One line a finding: ``path:line:column: code [*] message``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.output import where
from dl_lint.output.frame import one_line, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.engine.report import Report, Reported
    from dl_lint.output import Look


def render(report: Report, look: Look) -> Iterator[str]:
    for reported in report.findings:
        yield line(reported, look) + "\n"


def line(reported: Reported, look: Look) -> str:
    place, rule, paint = reported.finding.place, reported.rule, look.paint
    name, row = where(place, look)
    at = f"{paint('bold', printable(name))}:{row}:{place.span[1] + 1}:"
    return f"{at} {paint('bold red', rule.code)} {mark(reported, look)}{one_line(reported.finding.message)}"


def mark(reported: Reported, look: Look) -> str:
    return f"[{look.paint('cyan', '*')}] " if reported.fixable(unsafe=look.unsafe) else ""
