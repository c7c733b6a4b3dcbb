"""Records as the summary at the end of a run: a block for each loader."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_dataloader.record import Record
    from pytest_dataloader.verdict import Outcome

Line = list[tuple[str, dict[str, bool]]]
"""Pieces of text, each with its markup as pytest's terminal reporter takes it."""

MARKUP: Mapping[Outcome, dict[str, bool]] = {
    "passed": {"green": True},
    "failed": {"red": True, "bold": True},
    "inconclusive": {"yellow": True, "bold": True},
    "not_measured": {"yellow": True},
}


def lines(records: Iterable[Record], verbosity: int) -> Iterator[Line]:
    """A block for each loader: its name, then verdict and reason of each check, then advice.

    Negative verbosity leaves the advice out; positive adds the figures.
    """
    blocks: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        blocks.setdefault((record.nodeid, record.id), []).append(record)
    for block in blocks.values():
        description = next((record.description for record in block if record.description), "")
        yield [(block[0].id, {"bold": True}), (f"  {description}" if description else "", {})]
        width = max(len(record.check) for record in block), max(len(record.verdict) for record in block)
        for record in block:
            yield from _check(record, width, verbosity)


def _check(record: Record, width: tuple[int, int], verbosity: int) -> Iterator[Line]:
    check, verdict = f"{record.check:<{width[0]}}", f"{record.verdict.replace('_', ' '):<{width[1]}}"
    # Further lines of a reason are the frames of an error, which stand in the report of its test already.
    reason = record.reason.partition("\n")[0]
    yield [(f"  {check}  ", {}), (verdict, MARKUP[record.verdict]), (f"  {reason}", {})]
    indent = " " * (width[0] + 4)
    if verbosity >= 0:
        for advice in record.advice:
            yield [(indent, {}), (advice.code, {"bold": True}), (": " if advice.code else "", {}), (advice.text, {})]
    if verbosity > 0:
        for name, value in record.evidence.items():
            yield [(f"{indent}{name} = {_figure(value)}", {})]


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
