"""Records as a notebook shows them: a table of HTML without scripts or styles of its own."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from pytest_dataloader.report.console import rendered
from pytest_dataloader.report.terminal import drawing
from pytest_dataloader.verdict import paragraphs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_dataloader.record import Record

_COLOURS = {"passed": "#1a7f37", "failed": "#cf222e", "inconclusive": "#9a6700", "not_measured": "#6e7781"}
_DRAWING_COLUMNS = 72
_CELL = "text-align:left;vertical-align:top"
_PRE = '<pre style="margin:0 0 0 1em;line-height:1.2;font-family:monospace">{}</pre>'


def notebook_table(records: Sequence[Record]) -> str:
    """A row for each check: its verdict in colour, its reason, what can be drawn, and what to change."""
    description = next((record.description for record in records if record.description), "")
    rows = "".join(f"<tr>{''.join(_cells(record))}</tr>" for record in records)
    return f"<div><b>{escape(description)}</b><table>{rows}</table></div>"


def _cells(record: Record) -> Iterator[str]:
    verdict = record.verdict.replace("_", " ")
    yield f'<td style="{_CELL}">{escape(record.check)}</td>'
    yield f'<td style="{_CELL};white-space:nowrap;color:{_COLOURS[record.verdict]}"><b>{escape(verdict)}</b></td>'
    parts = [escape(record.reason).replace("\n", "<br>")]
    drawn = "".join(rendered(each, _DRAWING_COLUMNS) for each in drawing(record)).rstrip()
    if drawn:
        parts.append(_PRE.format(escape(drawn)))
    for advice in record.advice:
        code = f"<b>{escape(advice.code)}</b>: " if advice.code else ""
        text = "".join(
            _PRE.format(escape(part)) if is_code else escape(part) for part, is_code in paragraphs(advice.text)
        )
        parts.append(f'<div style="white-space:pre-wrap">&rarr; {code}{text}</div>')
    yield f'<td style="{_CELL}">{"".join(parts)}</td>'
