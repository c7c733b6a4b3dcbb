"""The files of a run, read: by Python's own parser here, and what it refuses by libcst, in processes that may die."""

from __future__ import annotations

import pickle
import signal
import sys
from typing import TYPE_CHECKING, Any

from dl_lint.engine.processes import Died, spread
from dl_lint.engine.report import Failure
from dl_lint.source import parser
from dl_lint.source.file import Source, is_notebook
from dl_lint.source.parser import Syntax
from dl_lint.source.text import SourceError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


Before = dict[str, tuple[bytes, Syntax]]
"""What earlier readings made of which bytes, by path."""

# Python's parser takes about 50 times a file's size in memory, libcst's 100. torch's largest module has 1 MB.
LARGEST_BYTES = 8_000_000

# Handing a tree over recurses in C, with four calls a level of at most 200.
DEEP_ENOUGH = 2_000


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

    def gather(self, paths: Iterable[str], jobs: int) -> None:
        """Have many files read; ``jobs`` processes read what is left to libcst."""
        refused: dict[str, Source] = {}
        for path in paths:
            if path in self._known:
                continue
            data, syntax = self._before.get(path, (None, None))
            if syntax is not None and data == self._data[path]:
                self._known[path] = syntax
            else:
                self._read(path, refused)
        sources = list(refused.values())
        sizes = [len(source.code) for source in sources]
        for number, answer in spread(lambda number: _answer(sources[number]), sizes, jobs) if sources else ():
            source = sources[number]
            found = answer if isinstance(answer, Died) else pickle.loads(answer)  # from a fork of this process
            if isinstance(found, Died):
                self.repeatable &= found.signal != signal.SIGKILL  # from outside, perhaps for want of memory
                self._known[source.path] = Failure(source.path, f"not analysed: {found}")
            elif isinstance(found, SourceError):
                self._known[source.path] = _failure(found, source)
            elif isinstance(found, str):
                self._broke_down(source.path, found)
            else:
                self._keep(source, Syntax(found, source.code))

    def of(self, path: str) -> Syntax | Failure:
        if path not in self._known:
            self.gather([path], jobs=1)
        return self._known[path]

    def notes(self, path: str) -> tuple[Failure, ...]:
        """What of a file could not be read, where the rest could."""
        self.of(path)
        return self._notes.get(path, ())

    def _read(self, path: str, refused: dict[str, Source]) -> None:
        """Read a file, or add it to those that this Python refuses."""
        source = None
        try:
            source = _source(path, self._data[path])
            syntax = parser.parse_natively(source)
        except SourceError as error:
            self._known[path] = _failure(error, source)
            return
        except Exception as error:  # a fault of ours in reading one file must not hide what others hold
            self._broke_down(path, _said(error))
            return
        if source.notebook is not None:
            self._notes[path] = tuple(Failure(path, note, partial=True) for note in source.notebook.broken)
        if syntax is None:
            refused[path] = source
        else:
            self._keep(source, syntax)

    def _keep(self, source: Source, syntax: Syntax) -> None:
        """Of a notebook there is more to be told than its syntax each time."""
        self._known[source.path] = syntax
        if source.notebook is None:
            self._before[source.path] = self._data[source.path], syntax

    def _broke_down(self, path: str, said: str) -> None:
        self._known[path] = Failure(path, f"reading it broke down, please report it: {said}")
        self.repeatable = False


def _source(path: str, data: bytes) -> Source:
    if len(data) > LARGEST_BYTES and not is_notebook(path):
        raise SourceError(path, f"not analysed: more than {LARGEST_BYTES / 1e6:.0f} MB")
    source = Source.of(path, data)
    if len(source.code) > LARGEST_BYTES:
        raise SourceError(path, f"not analysed: more than {LARGEST_BYTES / 1e6:.0f} MB of code")
    return source


def _answer(source: Source) -> bytes:
    """What libcst makes of a file: its nodes, why there are none, or what broke."""
    found: Any
    try:
        found = parser.parse_with_libcst(source).module
    except SourceError as error:
        found = error
    except Exception as error:
        found = _said(error)
    sys.setrecursionlimit(DEEP_ENOUGH)
    return pickle.dumps(found)


def _said(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


def _failure(error: SourceError, source: Source | None) -> Failure:
    """The line of a notebook is that of a cell, which only the message can name."""
    cell = None if source is None or source.notebook is None else source.notebook.cell(error.line or 1)
    if cell is None or error.line is None:
        return Failure(error.path, error.message, error.line)
    return Failure(error.path, f"cell {cell.number}, line {error.line - cell.first + 1}: {error.message}")
