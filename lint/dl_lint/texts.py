"""What the files of a tree say line by line, for those who show findings."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING
from unicodedata import bidirectional, category

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dl_lint.engine.report import Reported
    from dl_lint.source.file import Source
    from dl_lint.source.notebook import Cell

Lines = Callable[[str], "tuple[str, ...]"]
"""The lines of a file by its path, without their ends; empty for a file that cannot be read any more."""


def visible(text: str) -> str:
    """Text as a terminal or a log may show it: what they would obey (control characters, also those of C1, line ends,
    marks that turn the direction, bytes that are no text) is written out as in Python, ``\\x1b``."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_written_out, text))


def _written_out(character: str) -> str:
    kind = category(character)
    if kind in ("Cc", "Zl", "Zp", "Cs") or (kind == "Cf" and bidirectional(character) not in ("BN", "AN")):
        code = ord(character)
        if 0xDC80 <= code <= 0xDCFF:  # a byte of a name that is no UTF-8
            return f"\\x{code - 0xDC00:02x}"
        return character.encode("unicode_escape", "surrogatepass").decode("ascii")
    return character


def flagged(reported: Reported, lines: Lines) -> str:
    """The flagged lines without their indentation and white space at the end."""
    row, _, end_row, _ = reported.finding.place.span
    return "\n".join(line.strip() for line in lines(reported.path)[row - 1 : end_row])


class Texts:
    """Lines and cells by path: of the content given, or from the disk for a file beyond it."""

    def __init__(self, data: Mapping[str, bytes]) -> None:
        self._data = data
        self._sources: dict[str, Source | None] = {}
        self._lines: dict[str, tuple[str, ...]] = {}

    def lines(self, path: str) -> tuple[str, ...]:
        """Without their ends; none for a file that cannot be read any more."""
        if path not in self._lines:
            from dl_lint.source.text import NEWLINE

            source = self._source(path)
            self._lines[path] = () if source is None else tuple(NEWLINE.split(source.text))
        return self._lines[path]

    def cell(self, path: str, row: int) -> Cell | None:
        """The cell of a notebook in which a row stands."""
        source = self._source(path)
        return None if source is None or source.notebook is None else source.notebook.cell(row)

    def _source(self, path: str) -> Source | None:
        if path not in self._sources:
            from dl_lint.source.file import Source
            from dl_lint.source.text import SourceError

            try:
                data = self._data.get(path)
                self._sources[path] = Source.read(path) if data is None else Source.of(path, data)
            except SourceError:
                self._sources[path] = None
        return self._sources[path]
