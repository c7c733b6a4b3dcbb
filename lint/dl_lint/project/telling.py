"""Places as messages name them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.source.file import Source, SourceError, is_notebook

if TYPE_CHECKING:
    from dl_lint.project.evaluate import Evaluator
    from dl_lint.project.modules import Files
    from dl_lint.rule import Place
    from dl_lint.source.notebook import Notebook


def told(ev: Evaluator, place: Place) -> str:
    """``train.py:41``; of a notebook, whose lines nobody sees counted through, the cell and the line in it."""
    row = place.span[0]
    if is_notebook(place.path):
        notebook = ev.once(("notebook", place.path), lambda: _notebook(ev.files, place.path))
        cell = None if notebook is None else notebook.cell(row)
        if cell is not None:
            return f"cell {cell.number}, line {row - cell.first + 1} of {ev.files.around.shown(place.path)}"
    return f"{ev.files.around.shown(place.path)}:{row}"


def _notebook(files: Files, path: str) -> Notebook | None:
    key = files.key(path)
    data = files.content(key)
    try:
        return (Source.read(key) if data is None else Source.of(path, data)).notebook
    except SourceError:
        return None
