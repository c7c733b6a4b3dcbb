"""A Jupyter notebook: its code cells as one module, and the way back into its JSON."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dl_lint.source import ipython
from dl_lint.source.text import NEWLINE, SourceError, line_starts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Replacement = tuple[int, int, str]
"""Start and stop in the text, and what comes in their place."""

Members = dict[str, tuple[int, Any, int]]
"""Start, value and stop of each member of a JSON object."""

_DECODER = json.JSONDecoder(strict=False)
_SPACE = re.compile(r"[ \t\r\n]*")
_ESCAPED = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\[^u]")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")


@dataclass(frozen=True, slots=True)
class Cell:
    """A code cell; ``number`` counts all cells from 1, as Jupyter and ruff do."""

    number: int
    first: int
    """Its first row in the text of all cells, from 1."""
    lines: tuple[int, ...]
    """The line of the file on which each of its rows stands."""
    start: int
    stop: int
    """Where it stands in the text of all cells, without the line end that it may have been given."""
    value: tuple[int, int]
    """Where its source stands in the document, as JSON."""

    @property
    def last(self) -> int:
        return self.first + len(self.lines) - 1

    def line(self, row: int) -> int:
        """The line of the file on which a row of the text stands."""
        return self.lines[min(max(row - self.first, 0), len(self.lines) - 1)]


@dataclass(frozen=True, slots=True)
class Notebook:
    """``text`` is what all cells say, one below the other, ``code`` the same without what only IPython knows."""

    document: str
    cells: tuple[Cell, ...]
    text: str
    code: str
    masked: frozenset[int]
    """Rows of the text that only IPython knows."""
    broken: tuple[str, ...] = ()
    """Cells that are no Python, and where: the others run, and are read, without them."""

    def cell(self, row: int) -> Cell | None:
        """The cell that a row of the text belongs to."""
        number = bisect_right(self.cells, row, key=lambda cell: cell.first)
        return self.cells[number - 1] if number else None

    def parts(self) -> Iterator[tuple[int, str]]:
        """Number and text of each cell."""
        return ((cell.number, self.text[cell.start : cell.stop]) for cell in self.cells)

    def replaced(self, replacements: Iterable[Replacement]) -> str:
        """The document with stretches of the text replaced, in order; raises ValueError where that cannot be done."""
        by_cell: dict[Cell, list[Replacement]] = {}
        starts = line_starts(self.text)
        for start, stop, text in replacements:
            row = bisect_right(starts, start)
            cell = self.cell(row)
            if cell is None or stop > cell.stop + 1:
                raise ValueError(f"edit at line {row} reaches beyond its cell")
            if self._hits_mask(row, starts, stop):
                raise ValueError(f"edit at line {row} touches what only IPython knows")
            by_cell.setdefault(cell, []).append((start, min(stop, cell.stop), text))
        pieces, done = [], 0
        for cell in sorted(by_cell, key=lambda cell: cell.value):
            pieces += [self.document[done : cell.value[0]], self._rewritten(cell, by_cell[cell])]
            done = cell.value[1]
        return "".join(pieces) + self.document[done:]

    def _hits_mask(self, row: int, starts: list[int], stop: int) -> bool:
        """Whether an edit that starts in ``row`` reaches into a masked row, beyond putting something before it."""
        for masked in range(row, bisect_right(starts, stop) + 1):
            if masked in self.masked:
                line = self.text[starts[masked - 1] :]
                if stop > starts[masked - 1] + len(line) - len(line.lstrip()):
                    return True
        return False

    def _rewritten(self, cell: Cell, replacements: list[Replacement]) -> str:
        """The JSON of a cell's source; elements of a list that do not change keep every byte."""
        pieces, done = [], cell.start
        for start, stop, text in replacements:
            pieces += [self.text[done:start], text]
            done = stop
        old, new = self.text[cell.start : cell.stop], "".join(pieces) + self.text[done : cell.stop]
        if not old.endswith("\n") and new.endswith("\n"):
            new = new[:-1]  # its last line is gone, and the one before becomes the last
        start, stop = cell.value
        write = _Writer(self.document, start, stop).write
        if self.document[start] == '"':
            return write(new)
        before = list(_items(self.document, start))
        after = _LINE.findall(new)
        kept = _common(before, after)
        ended = _common(before[kept:][::-1], after[kept:][::-1])
        if not after or [item for _, item, _ in before] != _LINE.findall(old):
            return f"[{', '.join(map(write, after))}]"
        between = self.document[before[0][2] : before[1][0]] if len(before) > 1 else ", "
        parts = [self.document[start : before[kept - 1][2]]] if kept else []
        lead = "" if kept else self.document[start : before[0][0]]
        parts += map(write, after[kept : len(after) - ended])
        parts += [self.document[before[-ended][0] : before[-1][2]]] if ended else []
        return lead + between.join(parts) + self.document[before[-1][2] : stop]


class _Writer:
    """Text as JSON strings in the manner of one cell: a character that it escapes somewhere is escaped the same way."""

    def __init__(self, document: str, start: int, stop: int) -> None:
        self._ascii = document.isascii()
        written = {match[0] for match in _ESCAPED.finditer(document, start, stop)}
        self._forms = {json.loads(f'"{form}"'): form for form in sorted(written)}

    def write(self, text: str) -> str:
        return f'"{"".join(self._forms.get(character) or self._plain(character) for character in text)}"'

    def _plain(self, character: str) -> str:
        return json.dumps(character, ensure_ascii=self._ascii)[1:-1]


def _common(before: list[tuple[int, Any, int]], after: list[str]) -> int:
    """How many elements at the start are the same."""
    same = 0
    while same < min(len(before), len(after)) and before[same][1] == after[same]:
        same += 1
    return same


# --- reading ---------------------------------------------------------------------------


def read(path: str, document: str) -> Notebook:
    """The notebook; raises SourceError for what is none. Under another kernel than Python's it has no code cells."""
    try:
        top = _members(document, _skip(document, 0))
        _DECODER.decode(document)  # which stumbles over what may stand behind
        cells = list(_cells(document, top))
    except json.JSONDecodeError as error:
        raise SourceError(path, f"not a notebook: {error.msg}", error.lineno) from None
    except RecursionError:
        raise SourceError(path, "not a notebook: nested too deeply") from None
    except _Strange as error:
        raise SourceError(path, f"not a notebook: {error}") from None
    if "metadata" in top and not _speaks_python(top["metadata"][1]):
        cells = []
    return _joined(path, document, cells)


class _Strange(Exception):
    """JSON, but no notebook."""


def _joined(path: str, document: str, found: list[_Found]) -> Notebook:
    texts: list[str] = []
    codes: list[str] = []
    cells: list[Cell] = []
    hidden: set[int] = set()
    broken: list[str] = []
    at, row = 0, 1
    for number, value, text, lines in found:
        if "\0" in text or not _is_text(text):
            raise SourceError(path, f"cell {number} holds characters that Python does not have")
        code, masked = ipython.masked(text)
        fault = ipython.fault(code)
        if fault:
            broken.append(f"cell {number}, line {fault[0]}: not checked: {fault[1]}")
        if fault and len(found) > 1:
            code, masked = ipython.blank(len(lines), text.endswith(("\n", "\r"))), set()
        hidden.update(row + one for one in masked)
        end = "" if text.endswith(("\n", "\r")) else "\n"
        cells.append(Cell(number, row, lines, at, at + len(text), value))
        texts += [text, end]
        codes += [code, end]
        at += len(text) + len(end)
        row += len(lines)
    text, code = "".join(texts), "".join(codes)
    return Notebook(document, tuple(cells), text, code, frozenset(hidden), tuple(broken) if len(found) > 1 else ())


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return True


def _speaks_python(metadata: Any) -> bool:
    """A notebook that does not say is Python's, as most are."""
    if not isinstance(metadata, dict):
        return True
    spec, info = metadata.get("kernelspec"), metadata.get("language_info")
    named = (spec.get("language") if isinstance(spec, dict) else None) or (
        info.get("name") if isinstance(info, dict) else None
    )
    return not isinstance(named, str) or named.lower().startswith(("python", "ipython"))


_Found = tuple[int, tuple[int, int], str, tuple[int, ...]]
"""Number, place, text and lines of a cell."""


def _cells(document: str, top: Members) -> Iterator[_Found]:
    """The Python cells; those of format 3 stand in work sheets."""
    if "cells" in top:
        arrays = [top["cells"]]
    elif "worksheets" in top and isinstance(top["worksheets"][1], list):
        sheets = [_members(document, start) for start, _, _ in _items(document, top["worksheets"][0])]
        arrays = [sheet["cells"] for sheet in sheets if "cells" in sheet]
    else:
        raise _Strange("it has no cells")
    number = 0
    for start, array, _ in arrays:
        if not isinstance(array, list):
            raise _Strange("its cells are no list")
        for at, cell, _ in _items(document, start):
            number += 1
            if isinstance(cell, dict) and _is_python(cell):
                yield _cell(document, number, at)


def _is_python(cell: dict[str, Any]) -> bool:
    if cell.get("cell_type") != "code":
        return False
    metadata = cell.get("metadata")
    editor = metadata.get("vscode") if isinstance(metadata, dict) else None
    said = editor.get("languageId") if isinstance(editor, dict) else cell.get("language")
    if said not in (None, "python"):
        return False
    source = cell.get("source", cell.get("input"))
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    return isinstance(source, str) and ipython.is_python(source)


def _cell(document: str, number: int, at: int) -> _Found:
    members = _members(document, at)
    start, value, stop = members["source"] if "source" in members else members["input"]
    items = [(start, value)] if isinstance(value, str) else [(at, item) for at, item, _ in _items(document, start)]
    text = "".join(item for _, item in items)
    rows = len(NEWLINE.findall(text)) + (not text.endswith(("\n", "\r")))
    lines: list[int] = []
    line, counted, begins = document.count("\n", 0, start) + 1, start, True
    for offset, item in items:
        line += document.count("\n", counted, offset)
        counted = offset
        if begins:
            lines.append(line)
        breaks = len(NEWLINE.findall(item))
        begins = item.endswith(("\n", "\r"))
        lines += [line] * (breaks - begins)
    lines += [line] * (rows - len(lines))
    return number, (start, stop), text, tuple(lines[:rows])


def _members(document: str, at: int) -> Members:
    if document[at : at + 1] != "{":
        raise _Strange("it is no JSON object")
    found: Members = {}
    at = _skip(document, at + 1)
    while document[at : at + 1] == '"':
        key, at = _DECODER.raw_decode(document, at)
        start = _skip(document, _expected(document, ":", _skip(document, at)))
        value, stop = _DECODER.raw_decode(document, start)
        found[key] = (start, value, stop)
        at = _skip(document, stop)
        if document[at : at + 1] == "}":
            return found
        at = _skip(document, _expected(document, ",", at))
    _expected(document, "}", at)
    return found


def _items(document: str, at: int) -> Iterator[tuple[int, Any, int]]:
    """The items of the array at ``at``, which was decoded before: start, value, stop."""
    at = _skip(document, at + 1)
    while document[at] != "]":
        start = at
        value, at = _DECODER.raw_decode(document, at)
        yield start, value, at
        at = _skip(document, at)
        if document[at] == ",":
            at = _skip(document, at + 1)


def _skip(document: str, at: int) -> int:
    found = _SPACE.match(document, at)
    return found.end() if found else at


def _expected(document: str, mark: str, at: int) -> int:
    if document[at : at + 1] != mark:
        raise json.JSONDecodeError(f"Expecting '{mark}' delimiter", document, at)
    return at + 1
