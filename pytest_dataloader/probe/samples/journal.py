"""A journal that the processes of a loader write: which sample was made where, from which random states."""

from __future__ import annotations

import contextlib
import json
import mmap
import operator
import os
import tempfile
from dataclasses import astuple, dataclass, field
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal

from pytest_dataloader.probe.samples.digests import digest
from pytest_dataloader.probe.samples.generators import GeneratorState
from pytest_dataloader.probe.samples.schema import FieldSeen

if TYPE_CHECKING:
    from collections.abc import Iterator

EntryKind = Literal["start", "sample", "whole", "overwritten", "left out", "collate", "fields", "stop", "end"]
"""A worker began (its states before and after ``worker_init_fn``); samples were made; they were made as a whole, in
which the sample of an index cannot be told from others; some were changed by the reading of others of their batch; the
collate function was given some that its batch does not hold; samples were collated; the fields of the batch that came
of it; StopIteration came out of code that should make a sample; an iterable dataset ended."""

_EPOCH = "epoch"
_WIDTH = 8


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One call of the user's code. ``number`` counts calls of a kind in a worker's epoch; workers count from 0, and -1
    is the main process. ``indices`` and ``digests`` are of the samples that the call made.
    """

    kind: EntryKind
    epoch: int
    worker: int
    number: int
    indices: tuple[Any, ...] = ()
    digests: tuple[str, ...] = ()
    before: dict[str, GeneratorState] = field(default_factory=dict)
    after: dict[str, GeneratorState] = field(default_factory=dict)
    fields: tuple[FieldSeen, ...] = ()

    def moved(self, name: str) -> bool:
        """Whether the call drew from a generator, or seeded it."""
        return name in self.before and name in self.after and self.before[name].state != self.after[name].state

    def made(self, name: str) -> bool:
        """Whether the call made a generator and drew from it, or seeded it at least."""
        return name not in self.before and name in self.after


class Journal:
    """A folder with a file of each process. Pickles as its path, for workers that are spawned.

    Each entry is one write of its own: a worker that is killed loses none.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._file = -1
        self._owner = 0
        with Path(folder, _EPOCH).open("r+b") as file:
            self._epoch = mmap.mmap(file.fileno(), _WIDTH)

    def __reduce__(self) -> tuple[Any, ...]:
        return Journal, (self.folder,)

    @classmethod
    @contextlib.contextmanager
    def open(cls) -> Iterator[Journal]:
        """A new journal, gone with its folder at the end."""
        with tempfile.TemporaryDirectory(prefix="dataloader-", ignore_cleanup_errors=True) as folder:
            Path(folder, _EPOCH).write_bytes(bytes(_WIDTH))
            journal = cls(folder)
            try:
                yield journal
            finally:
                journal._close()
                journal._epoch.close()

    @property
    def epoch(self) -> int:
        """The epoch under way, in every process; set where nothing of an earlier one is left to be done."""
        return int.from_bytes(self._epoch[:_WIDTH], "little")

    @epoch.setter
    def epoch(self, number: int) -> None:
        self._epoch[:_WIDTH] = number.to_bytes(_WIDTH, "little")

    def write(self, entry: JournalEntry) -> None:
        if self._owner != os.getpid():  # forked: the file is the parent's
            self._close()
            name = Path(self.folder, f"{os.getpid()}.jsonl")
            self._file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            self._owner = os.getpid()
        fields = [
            entry.kind, entry.epoch, entry.worker, entry.number, entry.indices,
            entry.digests, entry.before, entry.after, list(map(astuple, entry.fields)),
        ]  # fmt: skip
        with contextlib.suppress(FileNotFoundError):
            os.write(self._file, json.dumps(fields).encode() + b"\n")

    def read(self) -> list[JournalEntry]:
        """Everything that was written, each process's entries in the order in which it wrote them."""
        entries = []
        for file in sorted(Path(self.folder).glob("*.jsonl")):
            for line in file.read_bytes().splitlines():
                kind, epoch, worker, number, indices, digests, before, after, fields = json.loads(line)
                entries.append(
                    JournalEntry(
                        kind, epoch, worker, number, tuple(indices), tuple(digests),
                        _generator_states(before), _generator_states(after),
                        tuple(FieldSeen(*each) for each in fields),
                    )
                )  # fmt: skip
        return entries

    def _close(self) -> None:
        if self._file >= 0 and self._owner == os.getpid():
            os.close(self._file)
        self._file, self._owner = -1, 0


def _generator_states(read: dict[str, list[Any]]) -> dict[str, GeneratorState]:
    return {name: GeneratorState(*fields) for name, fields in read.items()}


def plain_index(index: Any) -> Any:
    """An index as journals keep it: whole numbers and texts as they are, other values as they print.

    An object (a set of cuts, a node of a graph) counts by what it holds: how it prints may leave out what matters.
    """
    if type(index) is int or index is None or isinstance(index, str | bool):
        return index
    try:
        return operator.index(index)
    except TypeError:
        pass
    plain = isinstance(index, float | bytes | range | slice) or (
        isinstance(index, list | tuple) and all(isinstance(each, str | int | float | NoneType) for each in index)
    )
    return repr(index) if plain else f"{type(index).__name__} {digest(index)}"
