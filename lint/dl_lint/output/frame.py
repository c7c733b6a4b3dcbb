"""A stretch of a file as people read it: numbered lines with the stretch marked below."""

from __future__ import annotations

from typing import TYPE_CHECKING
from unicodedata import category, east_asian_width

from dl_lint.output import where
from dl_lint.texts import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.output import Look
    from dl_lint.source.positions import Place

TAB = "    "

# A statement longer than this is shown by its ends.
SHOWN_LINES = 8


def frame(place: Place, look: Look, *, margin: int, context: int = 0) -> Iterator[str]:
    """The lines of the stretch, with ``context`` lines around it, behind a margin for line numbers of that width."""
    lines = look.lines(place.path)
    row, column, end_row, end_column = place.span
    if end_row > row and end_column == 0:  # ends before the first character of a line: mark the line before
        end_row, end_column = end_row - 1, len(lines[end_row - 2]) if end_row - 2 < len(lines) else 0
    name, shown_row = where(place, look)
    yield f"{' ' * margin}{look.paint('blue', '-->')} {printable(name)}:{shown_row}:{column + 1}"
    if not lines or end_row > len(lines):
        return  # changed or gone since it was read
    cell = look.cell(place.path, row)
    first, last = (1, len(lines)) if cell is None else (cell.first, cell.last)
    gutter = _Gutter(margin, look, bar=end_row > row, above=first - 1)
    yield gutter.empty()
    for number in range(max(first, row - context), row):
        yield gutter.line(number, lines[number - 1])
    if row == end_row:
        yield gutter.line(row, lines[row - 1])
        yield gutter.marks(lines[row - 1], column, end_column)
    else:
        yield from _several(lines, place, gutter, end_row)
        yield gutter.corner(lines[end_row - 1], end_column)
    for number in range(end_row + 1, min(last, end_row + context) + 1):
        yield gutter.line(number, lines[number - 1])


def _several(lines: tuple[str, ...], place: Place, gutter: _Gutter, end_row: int) -> Iterator[str]:
    row = place.span[0]
    skipped = range(row + SHOWN_LINES // 2, end_row - 1) if end_row - row >= SHOWN_LINES else range(0)
    for number in range(row, end_row + 1):
        if number in skipped:
            if number == skipped[0]:
                yield gutter.dots()
            continue
        yield gutter.line(number, lines[number - 1], bar="/" if number == row else "|")


class _Gutter:
    """Line numbers and the bar beside them; ``bar`` leaves room for the mark of a stretch of several lines; the
    lines ``above`` are not counted."""

    def __init__(self, margin: int, look: Look, *, bar: bool, above: int) -> None:
        self._margin = margin
        self._above = above
        self._paint = look.paint
        self._bar = bar

    def empty(self) -> str:
        return f"{' ' * self._margin} {self._paint('blue', '|')}"

    def dots(self) -> str:
        return f"{self._paint('blue', '...')}{' ' * max(0, self._margin - 1)} {self._paint('bold red', '|')}"

    def line(self, number: int, text: str, bar: str = " ") -> str:
        beside = f"{self._paint('bold red', bar) if bar != ' ' else ' '} " if self._bar else ""
        shown = f"{str(number - self._above).rjust(self._margin)} |"
        return f"{self._paint('blue', shown)} {beside}{printable(text)}".rstrip()

    def marks(self, text: str, column: int, end_column: int) -> str:
        start = width(text[:column])
        length = max(1, width(text[:end_column]) - start)
        return f"{self.empty()} {' ' * start}{self._paint('bold red', '^' * length)}"

    def corner(self, text: str, end_column: int) -> str:
        length = max(1, width(text[:end_column]))
        return f"{self.empty()} {self._paint('bold red', '|' + '_' * length + '^')}"


def printable(text: str) -> str:
    """Without what a terminal would obey or what would move the marks: tabs as spaces."""
    return visible(text.replace("\t", TAB))


def one_line(text: str) -> str:
    return printable(" ".join(text.split()))


def width(text: str) -> int:
    """Columns that a terminal takes for the printable form of the text."""
    if text.isascii() and text.isprintable():
        return len(text)
    return sum(map(_columns, printable(text)))


def _columns(character: str) -> int:
    if category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if east_asian_width(character) in "WF" else 1
