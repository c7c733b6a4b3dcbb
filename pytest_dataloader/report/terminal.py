"""Records as the summary at the end of a run: a block for each loader."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pytest_dataloader.report import bars, ladder
from pytest_dataloader.verdict import UNSUPPORTED

if TYPE_CHECKING:
    from pytest_dataloader.record import Record
    from pytest_dataloader.report.line import Line
    from pytest_dataloader.verdict import Outcome

MARKUP: Mapping[Outcome, dict[str, bool]] = {
    "passed": {"green": True},
    "failed": {"red": True, "bold": True},
    "inconclusive": {"yellow": True, "bold": True},
    "not_measured": {"yellow": True},
}

_FOR_FILES = ("timeline",)
"""Evidence that nobody would read as text."""
_LOG_COLUMNS = 100
"""Bars in a log, whose sentences are not wrapped, are no longer than this allows."""
_LEAST_COLUMNS = 30
"""Narrower columns are harder to read than lines that the terminal breaks."""


def report_lines(
    records: Iterable[Record], verbosity: int, width: int | None = None, ink: bars.Ink = bars.BLOCKS
) -> Iterator[Line]:
    """A block for each loader: its name, then verdict and reason of each check, what can be drawn, then advice.

    Negative verbosity leaves drawings and advice out; positive adds the details of reasons and the figures. Checks that
    were not measured for one reason have one line, but for positive verbosity. Long texts are wrapped to ``width``
    columns, or not at all.
    """
    records, blocks = list(records), dict[tuple[str, str], list["Record"]]()
    yield from _unsupported(records)
    for record in records:
        blocks.setdefault((record.nodeid, record.id), []).append(record)
    for block in blocks.values():
        description = next((record.description for record in block if record.description), "")
        if not description:  # it was not built, and the error of its test says why
            continue
        yield [(block[0].id, {"bold": True}), (f"  {description}" if description else "", {})]
        columns = max(len(record.check) for record in block), max(len(record.verdict) for record in block)
        unmeasured = _unmeasured(block) if verbosity <= 0 else {}
        for record in block:
            if record.reason not in unmeasured or record.verdict != "not_measured":
                yield from _check(record, columns, verbosity, width, ink)
        for reason, names in unmeasured.items():
            first, *more = wrapped(f"{', '.join(names)}: {reason}", width, len("  not measured  "))
            yield [("  ", {}), ("not measured", MARKUP["not_measured"]), (f"  {first}", {})]
            for text in more:
                yield [(f"{'':16}{text}", {})]


def _unsupported(records: Iterable[Record]) -> Iterator[Line]:
    """A first line where checks could not be relied on under the torch that is there."""
    found: dict[str, list[str]] = {}
    for record in records:
        if record.reason.startswith(UNSUPPORTED):
            names = found.setdefault(record.reason.partition(":")[0], [])
            names += [record.check] if record.check not in names else []
    for torch, names in found.items():
        yield [(f"{torch}: not measured: {', '.join(names)}", MARKUP["inconclusive"])]


def _unmeasured(block: Iterable[Record]) -> dict[str, list[str]]:
    """Reasons for which several checks were not measured, with their names."""
    found: dict[str, list[str]] = {}
    for record in block:
        if record.verdict == "not_measured":
            found.setdefault(record.reason, []).append(record.check)
    return {reason: names for reason, names in found.items() if len(names) > 1}


def _check(
    record: Record, columns: tuple[int, int], verbosity: int, width: int | None, ink: bars.Ink
) -> Iterator[Line]:
    check, verdict = f"{record.check:<{columns[0]}}", f"{record.verdict.replace('_', ' '):<{columns[1]}}"
    reason, *details = record.reason.splitlines() or [""]
    indent = " " * (columns[0] + 4)
    first, *more = wrapped(reason, width, len(check) + len(verdict) + 6)
    yield [(f"  {check}  ", {}), (verdict, MARKUP[record.verdict]), (f"  {first}", {})]
    for text in more:
        yield [(f"{indent}{text}", {})]
    if verbosity >= 0:
        for line in drawing(record, None if width is None else width - len(indent), ink):
            yield [(indent, {}), *line]
        for advice in record.advice:
            code = f"{advice.code}: " if advice.code else ""
            first, *more = wrapped(advice.text, width, len(indent) + len(code))
            yield [(indent, {}), (code, {"bold": True}), (first, {})]
            for text in more:
                yield [(f"{indent}{' ' * len(code)}{text}", {})]
    shown = [(name, value) for name, value in record.evidence.items() if name not in _FOR_FILES]
    figures = [f"{name} = {_figure(value)}" for name, value in shown] if verbosity > 0 else []
    # What each rank reaches is what a job is measured for; what else ranks say is for those who ask.
    told = details if verbosity > 0 or (verbosity == 0 and record.ranks and record.check == "throughput") else []
    for text in (*told, *figures):
        yield [(f"{indent}{text}", {})]


def drawing(record: Record, width: int | None, ink: bars.Ink = bars.BLOCKS) -> Iterator[Line]:
    """What of a check's evidence is easier to see than to read."""
    if not record.evidence:
        return
    columns = _LOG_COLUMNS if width is None else width
    match record.check:
        case "throughput":
            yield from bars.of_throughput(record.evidence, record.limits, columns, ink)
        case "stages":
            yield from bars.of_stages(record.evidence, columns, ink)
            yield from bars.of_waiting(record.evidence, columns, ink)
        case "transfer":
            yield from bars.of_transfer(record.evidence, columns, ink)
        case "tune":
            yield from ladder.ladder_lines(record.evidence["rows"], width)
            yield from ladder.batch_sizes(record.evidence["batch_sizes"], width)
            yield from ladder.pinning(record.evidence["pinning"], width)


def wrapped(text: str, width: int | None, used: int) -> list[str]:
    """A text in lines for what ``used`` columns leave of ``width``."""
    if width is None or width - used < _LEAST_COLUMNS:
        return [text]
    return textwrap.wrap(text, width - used, break_long_words=False, break_on_hyphens=False) or [""]


def _figure(value: Any) -> str:
    """A figure for reading: four significant digits, long texts and lists cut.

    >>> _figure(812.34567), _figure(12345678), _figure([1.23456, None])
    ('812.3', '12345678', '[1.235, -]')
    """
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        shown = [_figure(item) for item in value[:8]] + (["..."] if len(value) > 8 else [])
        return f"[{', '.join(shown)}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {_figure(item)}' for key, item in value.items())}}}"
    return "-" if value is None else str(value)
