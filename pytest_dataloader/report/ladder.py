"""The tables of a tuning: one change a line, against no workers and the line above; then batch sizes and pinning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table

from pytest_dataloader.quantities import figure, size
from pytest_dataloader.report.console import text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_HEAD = ("", "samples/s", "vs baseline", "vs previous", "")
_SIZES_HEAD = ("batch_size", "samples/s", "first batch", "memory", "")
_PINNING_HEAD = ("pin_memory", "samples/s on the device", "ms blocked by a copy", "")
_NOTES = {"at most": "upper bound"}


def tables(evidence: Mapping[str, Any]) -> Iterator[Table]:
    """One table each of settings, batch sizes and pinning, where there is something to compare; the loader as it is
    stands out.
    """
    for key, write, least in (("rows", cells, 1), ("batch_sizes", size_cells, 2), ("pinning", pinning_cells, 2)):
        rows = evidence[key]
        if len(rows) >= least:
            yield _table(rows, write(rows))


def _table(rows: Sequence[Mapping[str, Any]], lines: Sequence[tuple[str, ...]]) -> Table:
    head, *body = lines
    table = Table(box=None, pad_edge=False, header_style="none", padding=(0, 2, 0, 0))
    for number, name in enumerate(head):
        at_left = number == len(head) - 1 or not name
        table.add_column(name, justify="left" if at_left else "right", overflow="fold")
    for row, line in zip(rows, body, strict=True):
        table.add_row(*map(text, line), style="bold" if row["now"] else "none")
    return table


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
        figure(row["copy_ms"]),
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
