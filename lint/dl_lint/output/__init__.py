"""A report as text: one module a format, each with ``render(report, look)``, imported only when asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    from dl_lint.engine.report import Report
    from dl_lint.source.notebook import Cell
    from dl_lint.source.positions import Place
    from dl_lint.texts import Lines

Cells = Callable[[str, int], "Cell | None"]
"""The cell of a notebook in which a row stands; None in other files."""

Paint = Callable[[str, str], str]
"""Text in a style such as ``bold red``."""


def plain(_style: str, text: str) -> str:
    return text


def no_cells(_path: str, _row: int) -> None:
    return None


class Look(NamedTuple):
    """How a report is to be shown. ``unsafe``: whether unsafe fixes count as fixes."""

    lines: Lines
    paint: Paint = plain
    unsafe: bool = False
    cell: Cells = no_cells


def where(place: Place, look: Look) -> tuple[str, int]:
    """What a place is in, a file or a cell, and its row there."""
    return cell_row(place.path, place.span[0], look)


def cell_row(path: str, row: int, look: Look) -> tuple[str, int]:
    """The same of a row."""
    cell = look.cell(path, row)
    return (path, row) if cell is None else (f"{path}:cell {cell.number}", row - cell.first + 1)


Render = Callable[["Report", Look], Iterator[str]]


def renderer(name: str) -> Render:
    return cast("Render", import_module(f"dl_lint.output.{name}").render)
