"""The files of a run, each read once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.engine.report import Failure
from dl_lint.source import parser
from dl_lint.source.file import Source, is_notebook
from dl_lint.source.parser import Syntax
from dl_lint.source.text import SourceError

if TYPE_CHECKING:
    from collections.abc import Mapping


Before = dict[str, tuple[bytes, Syntax]]
"""What earlier readings made of which bytes, by path."""

# Python's parser takes about 50 times a file's size in memory. torch's largest module has 1 MB.
LARGEST_BYTES = 8_000_000


class Reading:
    """The syntax or the failure of each file, by its path; ``data`` is that of the whole tree.

    ``before`` is what earlier readings made of which bytes, by path, and is brought up to date.
    """

    def __init__(self, data: Mapping[str, bytes], before: Before) -> None:
        self._data = dict(data)
        self._before = before
        self._known: dict[str, Syntax | Failure] = {}
        self._notes: dict[str, tuple[Failure, ...]] = {}
        self.repeatable = True
        """Whether the same files would fare the same again, as far as we know."""

    def add(self, path: str, data: bytes) -> None:
        """Take one more file in."""
        self._data[path] = data

    def of(self, path: str) -> Syntax | Failure:
        if path not in self._known:
            self._known[path] = self._read(path)
        return self._known[path]

    def notes(self, path: str) -> tuple[Failure, ...]:
        """What of a file could not be read, where the rest could."""
        self.of(path)
        return self._notes.get(path, ())

    def _read(self, path: str) -> Syntax | Failure:
        data, syntax = self._before.get(path, (None, None))
        if syntax is not None and data == self._data[path]:
            return syntax
        source = None
        try:
            source = _source(path, self._data[path])
            syntax = parser.parse(source)
        except SourceError as error:
            return _failure(error, source)
        except Exception as error:  # a fault of ours in reading one file must not hide what others hold
            self.repeatable = False
            said = " ".join(f"{type(error).__name__}: {error}".split())
            return Failure(path, f"reading it broke down, please report it: {said}")
        if source.notebook is None:  # of which there is more to be told than its syntax
            self._before[path] = self._data[path], syntax
        else:
            self._notes[path] = tuple(Failure(path, note, partial=True) for note in source.notebook.broken)
        return syntax


def _source(path: str, data: bytes) -> Source:
    if len(data) > LARGEST_BYTES and not is_notebook(path):
        raise SourceError(path, f"not analysed: more than {LARGEST_BYTES / 1e6:.0f} MB")
    source = Source.of(path, data)
    if len(source.code) > LARGEST_BYTES:
        raise SourceError(path, f"not analysed: more than {LARGEST_BYTES / 1e6:.0f} MB of code")
    return source


def _failure(error: SourceError, source: Source | None) -> Failure:
    """The line of a notebook is that of a cell, which only the message can name."""
    cell = None if source is None or source.notebook is None else source.notebook.cell(error.line or 1)
    if cell is None or error.line is None:
        return Failure(error.path, error.message, error.line)
    return Failure(error.path, f"cell {cell.number}, line {error.line - cell.first + 1}: {error.message}")
