"""Places as messages name them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.source.file import is_notebook

if TYPE_CHECKING:
    from dl_lint.project.evaluate import Evaluator
    from dl_lint.rule import Place


def told(ev: Evaluator, place: Place) -> str:
    """``train.py:41``; of a notebook, whose lines nobody sees counted through, the cell and the line in it."""
    row = place.span[0]
    if is_notebook(place.path):
        source = ev.files.source(place.path)
        cell = None if source is None or source.notebook is None else source.notebook.cell(row)
        if cell is not None:
            return f"cell {cell.number}, line {row - cell.first + 1} of {ev.files.around.shown(place.path)}"
    return f"{ev.files.around.shown(place.path)}:{row}"
