"""For reading: what is wrong, where in the code, what it rests on, and what to write instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.output.concise import mark
from dl_lint.output.frame import frame, one_line, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.engine.report import Report, Reported
    from dl_lint.output import Look

CONTEXT = 2


def render(report: Report, look: Look) -> Iterator[str]:
    for reported in report.findings:
        yield "\n".join(_block(reported, look)) + "\n\n"


def _block(reported: Reported, look: Look) -> Iterator[str]:
    finding, rule, paint = reported.finding, reported.rule, look.paint
    last_rows = [finding.place.span[2] + CONTEXT, *(related.place.span[2] for related in finding.related)]
    margin = len(str(max(last_rows)))
    title = f"{paint('bold red', rule.code)} {paint('bold', rule.name)}"
    yield f"{title} {mark(reported, look)}{one_line(finding.message)}"
    yield from frame(finding.place, look, margin=margin, context=CONTEXT)
    for related in finding.related:
        yield f"{paint('bold green', 'note')}: {one_line(related.message)}"
        yield from frame(related.place, look, margin=margin)
    first, *code = finding.remedy.split("\n")
    yield f"{paint('bold cyan', 'help')}: {one_line(first)}"
    yield from map(printable, code)
