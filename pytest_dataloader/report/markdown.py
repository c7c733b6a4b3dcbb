"""Records as Markdown for the page of a CI job: a table of what needs a look, and a block to open for each loader."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from html import escape
from typing import TYPE_CHECKING

from pytest_dataloader.printable import printable
from pytest_dataloader.quantities import counted, figure
from pytest_dataloader.report.console import rendered
from pytest_dataloader.report.terminal import drawing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pytest_dataloader.record import Record
    from pytest_dataloader.verdict import Outcome

MOST_BYTES = 1_000_000
"""GitHub refuses a summary of more than 1 MiB a step, all of it."""
WORDS: Mapping[Outcome, str] = {
    "failed": "❌ failed",
    "inconclusive": "⚠️ inconclusive",
    "passed": "✅ passed",
    "not_measured": "⬜ not measured",
}

_MOST_CHARACTERS = 2_000
"""Of one text in a cell: nobody reads on, and one loader's message must not push out all others."""
_MOST_OF_PLACE = 250
_DRAWING_COLUMNS = 72
_CLOSING_BYTES = 2_000
"""Kept for the lines after the cut."""
_OBEYED = re.compile(r"[\\`*~\[\]|]|(?<![^\W_])_|_(?![^\W_])")
"""What GitHub reads as markup inside a line; an underscore within a word is none."""
_ENTITIES = {"$": "&#36;", "\n": "<br>", "\t": " "}


def report_document(records: Sequence[Record], environment: Mapping[str, object], most_bytes: int = MOST_BYTES) -> str:
    """Failures, then what is inconclusive or was not seen, as one table; the rest by loader, each folded.

    Of no more than ``most_bytes``: what does not fit is left out from the end, and a line says how much.
    """
    checked = [record for record in records if record.check != "tune"]  # a tuning is no check that a loader passes
    page = Page(most_bytes)
    page.add(f"## DataLoader checks: {_counts(checked) or 'nothing was measured'}\n")
    urgent = sorted(filter(_is_urgent, checked), key=lambda record: tuple(WORDS).index(record.verdict))
    if urgent:
        page.add("\n" + table_head("verdict", "loader", "check", "what was seen"))
    left_out = [record for record in urgent if not page.add(_urgent_row(record))]
    blocks: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        blocks.setdefault((record.nodeid, record.id), []).append(record)
    folded = [block for block in blocks.values() if not page.add(_loader(block))]
    page.close(_cut(left_out, folded))
    page.close(f"\n<sub>{cell(_shortened(_place(environment), _MOST_OF_PLACE))}</sub>\n")
    return page.text


class Page:
    """Text that grows up to a number of bytes, and takes nothing more once something was too long."""

    def __init__(self, most_bytes: int) -> None:
        self._parts: list[str] = []
        self._left = most_bytes - _CLOSING_BYTES

    @property
    def text(self) -> str:
        return "".join(self._parts)

    def add(self, text: str) -> bool:
        """Whether it was taken."""
        size = len(text.encode())
        if size > self._left:
            self._left = 0
            return False
        self._left -= size
        self._parts.append(text)
        return True

    def close(self, text: str) -> None:
        """Take one of the last lines, for which there is always room."""
        self._parts.append(text)


def cell(text: str) -> str:
    """A text that others chose, as it is, inside a cell of a table or a line of Markdown.

    >>> cell("a|b *c* <d> batch_size _e_"), cell("100 %\\nof $x")
    ('a\\\\|b \\\\*c\\\\* &lt;d> batch_size \\\\_e\\\\_', '100 %<br>of &#36;x')
    """
    escaped = _OBEYED.sub(r"\\\g<0>", printable(_shortened(text.strip())))
    escaped = escaped.replace("&", "&amp;").replace("<", "&lt;").replace("\n    ", "\n&emsp;")
    return "".join(_ENTITIES.get(character, character) for character in escaped)


def within_tag(text: str) -> str:
    """A text that others chose, on one line between two tags of HTML, where Markdown means nothing."""
    return escape(printable(" ".join(_shortened(text).split())), quote=False)


def table_head(*names: str) -> str:
    """The first two lines of a table."""
    return f"{table_row(*names)}{table_row(*('---' for _ in names))}"


def table_row(*cells: str) -> str:
    """A line of a table, of cells that are Markdown already."""
    return f"| {' | '.join(cells)} |\n"


def _is_urgent(record: Record) -> bool:
    return record.verdict in ("failed", "inconclusive") or record.vacuous


def _urgent_row(record: Record) -> str:
    seen = [cell(record.reason.partition("\n")[0])]
    seen += [f"→ {f'**{cell(each.code)}** ' if each.code else ''}{cell(each.text)}" for each in record.advice[:8]]
    return table_row(WORDS[record.verdict], cell(record.id), record.check, "<br>".join(seen))


def _loader(block: Sequence[Record]) -> str:
    """What is calm about a loader, and what can be drawn of it; nothing where there is neither."""
    calm = [record for record in block if not _is_urgent(record) and record.check != "tune"]
    content = list(_calm_rows(calm))
    for record in block:
        content += _details(record)
    if not content:
        return ""
    description = next((record.description for record in block if record.description), "")
    told = _counts([record for record in block if record.check != "tune"])
    title = f"<b>{within_tag(block[0].id)}</b> {within_tag(description)}".rstrip()
    head = f"\n<details><summary>{title}{f': {told}' if told else ''}</summary>\n\n"
    return f"{head}{''.join(content)}\n</details>\n"


def _calm_rows(records: Sequence[Record]) -> Iterator[str]:
    if records:
        yield table_head("verdict", "check", "what was seen")
    for record in sorted(records, key=lambda record: record.verdict == "not_measured"):
        yield table_row(WORDS[record.verdict], record.check, cell(record.reason.partition("\n")[0]))


def _details(record: Record) -> Iterator[str]:
    """What is drawn of a check, what a reason that needs a look tells further, and what is advised without a fault."""
    lines = [line for each in drawing(record) for line in rendered(each, _DRAWING_COLUMNS).splitlines()]
    if _is_urgent(record):
        lines += textwrap.dedent("\n".join(record.reason.splitlines()[1:])).splitlines()
    else:
        lines += [": ".join(filter(None, (each.code, each.text))) for each in record.advice]
    if record.check == "tune":
        lines.insert(0, record.reason)
    if lines:
        text = escape(printable(_shortened("\n".join(lines), 4 * _MOST_CHARACTERS)), quote=False)
        yield f"\n<b>{record.check}</b>\n<pre>\n{text}\n</pre>\n"


def _counts(records: Iterable[Record]) -> str:
    """How many checks have each verdict."""
    counts = Counter(record.verdict for record in records)
    return ", ".join(f"{counts[verdict]:,} {verdict.replace('_', ' ')}" for verdict in WORDS if counts[verdict])


def _cut(left_out: Sequence[Record], folded: Sequence[Sequence[Record]]) -> str:
    """What did not fit; empty where all did."""
    told = [_counts(left_out)] if left_out else []
    told += [f"the details of {counted(len(folded), 'loader')}"] if folded else []
    if not told:
        return ""
    return f"\n**Left out**, as a summary holds no more: {' and '.join(told)}. `--dataloader-json PATH` keeps all.\n"


def _place(environment: Mapping[str, object]) -> str:
    """Where it was measured."""
    cpus, allowed = environment.get("cpus"), environment.get("cpus_allowed")
    shared = f"{figure(allowed)} of " if isinstance(allowed, int | float) and allowed != cpus else ""
    parts = (
        f"Python {environment.get('python')}",
        f"torch {environment['torch']}" if environment.get("torch") else "",
        f"{shared}{cpus} CPUs ({environment.get('cpu_model') or environment.get('machine')})",
        str(environment.get("platform") or ""),
    )
    return ", ".join(filter(None, parts))


def _shortened(text: str, most: int = _MOST_CHARACTERS) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."
