"""The tables of a tuning: one change a line, against no workers and the line above; then batch sizes and pinning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_dataloader.quantities import figure, size

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_dataloader.report.line import Line

_HEAD = ("", "samples/s", "vs baseline", "vs previous", "")
_SIZES_HEAD = ("batch_size", "samples/s", "first batch", "memory", "")
_PINNING_HEAD = ("pin_memory", "samples/s on the device", "a copy keeps the loop", "")
_NOTES = {"at most": "would give at most"}


def ladder_lines(rows: Sequence[Mapping[str, Any]], width: int | None) -> Iterator[Line]:
    """The rows in columns, as many as fit into ``width``; the line of the settings as they are is bold."""
    lines = cells(rows)
    columns = [max(len(line[at]) for line in lines) for at in range(len(_HEAD))]
    shown = list(range(len(_HEAD)))
    while width is not None and len(shown) > 2 and sum(columns[at] + 2 for at in shown) - 2 > width:
        shown.remove(3 if 3 in shown else shown[-1])  # what can be told from the other columns goes first
    for number, line in enumerate(lines):
        text = "  ".join(line[at].ljust(columns[at]) if at in (0, 4) else line[at].rjust(columns[at]) for at in shown)
        yield [(text.rstrip(), {"bold": True} if number and rows[number - 1]["now"] else {})]


def batch_sizes(rows: Sequence[Mapping[str, Any]], width: int | None) -> Iterator[Line]:
    """What other batch sizes give and take, where there is something to compare; the loader's own is bold."""
    yield from _compared(rows, size_cells(rows), width)


def pinning(rows: Sequence[Mapping[str, Any]], width: int | None) -> Iterator[Line]:
    """What pinned batches and others give, where there is a device; the loader's own is bold."""
    yield from _compared(rows, pinning_cells(rows), width)


def _compared(rows: Sequence[Mapping[str, Any]], lines: Sequence[tuple[str, ...]], width: int | None) -> Iterator[Line]:
    if len(rows) < 2:
        return
    columns = [max(map(len, column)) for column in zip(*lines, strict=True)]
    shown = len(columns)
    while width is not None and shown > 2 and sum(columns[:shown]) + 2 * (shown - 1) > width:
        shown -= 1
    for number, line in enumerate(lines):
        text = "  ".join(cell.rjust(column) for cell, column in zip(line[:shown], columns, strict=False))
        yield [(text.rstrip(), {"bold": True} if number and rows[number - 1]["now"] else {})]


def cells(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """The table of the rows of a tuning as text, its head first."""
    return [_HEAD, *(_cells(row) for row in rows)]


def size_cells(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """The table of batch sizes as text, its head first."""
    return [_SIZES_HEAD, *(_size_cells(row) for row in rows)]


def pinning_cells(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """The table of pinning as text, its head first."""
    return [_PINNING_HEAD, *(_pinning_cells(row) for row in rows)]


def _pinning_cells(row: Mapping[str, Any]) -> tuple[str, str, str, str]:
    return (
        str(row["pin_memory"]),
        figure(row["samples_per_second"]),
        f"{figure(row['copy_ms'])} ms",
        "now" if row["now"] else "",
    )


def _size_cells(row: Mapping[str, Any]) -> tuple[str, str, str, str, str]:
    return (
        f"{row['batch_size']:,}",
        "unclear" if row["samples_per_second"] is None else figure(row["samples_per_second"]),
        f"{figure(row['seconds_to_first_batch'])} s",
        size(row["total_bytes"]),
        "now" if row["now"] else "",
    )


def _cells(row: Mapping[str, Any]) -> tuple[str, str, str, str, str]:
    notes = [_NOTES.get(row["source"], ""), "now" if row["now"] else ""]
    return (
        row["change"],
        figure(row["samples_per_second"]),
        _times(row["vs_baseline"]),
        _times(row["vs_previous"]) if row["vs_previous"] else "",
        ", ".join(filter(None, notes)),
    )


def _times(factor: float) -> str:
    """A factor.

    >>> _times(2.718), _times(0.0612), _times(61.7)
    ('2.7x', '0.061x', '62x')
    """
    return f"{factor:.2g}x" if factor < 1 else f"{factor:.1f}x" if factor < 10 else f"{factor:,.0f}x"
