"""Loaders that leak descriptors or shared memory, each beside a clean twin that differs in the fault alone."""

from __future__ import annotations

import os
from dataclasses import dataclass
from multiprocessing import shared_memory
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import DataLoader, Dataset, Sampler

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Rows(Dataset[Any]):
    """400 samples of ``tensors`` tensors; ``before`` is called with the dataset and the index."""

    def __init__(self, before: Callable[[Any, int], object] | None = None, tensors: int = 2) -> None:
        self.before, self.tensors = before, tensors
        self.kept: list[Any] = []

    def __len__(self) -> int:
        return 400

    def __getitem__(self, at: int) -> Any:
        if self.before is not None:
            self.before(self, at)
        return {f"field{number}": torch.full((4,), at) for number in range(self.tensors)}


class InList(DataLoader[Any]):
    """Keeps what ``keep`` makes of each batch in a list of its own."""

    keep: Any = staticmethod(lambda batch: batch)

    def __iter__(self) -> Any:
        kept = vars(self).setdefault("kept", [])
        for batch in super().__iter__():
            kept.append(type(self).keep(batch))
            yield batch


class InListCopied(InList):
    keep = staticmethod(lambda batch: {name: field.clone() for name, field in batch.items()})


class InDict(DataLoader[Any]):
    def __iter__(self) -> Any:
        kept = vars(self).setdefault("kept", {})
        for batch in super().__iter__():
            kept[len(kept)] = batch["field0"][0]  # a view of one row
            yield batch


class InDictAsNumber(DataLoader[Any]):
    def __iter__(self) -> Any:
        kept = vars(self).setdefault("kept", {})
        for batch in super().__iter__():
            kept[len(kept)] = batch["field0"][0].tolist()
            yield batch


class History:
    """An object of the loader's that keeps arrays of batches."""

    def __init__(self, *, copies: bool) -> None:
        self.copies = copies
        self.arrays: list[Any] = []

    def add(self, batch: Any) -> None:
        array = batch["field0"].numpy()
        self.arrays.append(array.copy() if self.copies else array)


class InAttribute(DataLoader[Any]):
    history: History

    def __iter__(self) -> Any:
        for batch in super().__iter__():
            self.history.add(batch)
            yield batch


class InClosure(DataLoader[Any]):
    note: Any

    def __iter__(self) -> Any:
        for batch in super().__iter__():
            self.note(batch)
            yield batch


class OpensEveryEpoch(Sampler[int]):
    def __init__(self, *, closes: bool) -> None:
        self.closes = closes
        self.numbers: list[int] = []

    def __len__(self) -> int:
        return 400

    def __iter__(self) -> Iterator[int]:
        self.numbers.append(os.open(os.devnull, os.O_RDONLY))
        if self.closes:
            os.close(self.numbers.pop())
        yield from range(400)


def load(dataset: Any = None, kind: Any = DataLoader, **settings: Any) -> Any:
    given = {"batch_size": 2, "num_workers": 2, "multiprocessing_context": "fork", **settings}
    return kind(Rows() if dataset is None else dataset, **given)


def opens(self: Any, _at: int) -> None:
    self.kept.append(os.open(os.devnull, os.O_RDONLY))


def opens_once(self: Any, at: int) -> None:
    if not self.kept:
        opens(self, at)


def opens_pipes(self: Any, _at: int) -> None:
    self.kept.append(os.pipe())


def closes_pipes(_self: Any, _at: int) -> None:
    for end in os.pipe():
        os.close(end)


def forgets(_self: Any, _at: int) -> None:
    shared_memory.SharedMemory(create=True, size=100).close()


def unlinks(_self: Any, _at: int) -> None:
    piece = shared_memory.SharedMemory(create=True, size=100)
    piece.close()
    piece.unlink()


def keeps_pieces(self: Any, _at: int) -> None:
    self.kept.append(shared_memory.SharedMemory(create=True, size=100))


def keeps_shared(self: Any, _at: int) -> None:
    self.kept.append(torch.zeros(4).share_memory_())


def drops_shared(_self: Any, _at: int) -> None:
    torch.zeros(4).share_memory_()


def with_history(*, copies: bool) -> Any:
    loader = load(kind=InAttribute)
    vars(loader)["history"] = History(copies=copies)
    return loader


def with_closure(*, copies: bool) -> Any:
    kept: list[Any] = []

    def note(batch: Any) -> None:
        field = batch["field0"]
        kept.append(field.clone() if copies else field)

    loader = load(kind=InClosure)
    vars(loader)["note"] = note
    return loader


@dataclass(frozen=True, slots=True)
class Pair:
    """A fault and its twin. ``by_file``: under the file_system strategy. ``room``: descriptors left below the limit.

    ``holder`` is what the check must name as keeping the batches.
    """

    check: str
    faulty: Callable[[], Any]
    clean: Callable[[], Any]
    by_file: bool = False
    room: int = 0
    holder: str = ""


PAIRS: dict[str, Pair] = {
    "batches kept in a list": Pair(
        "fds", lambda: load(kind=InList), lambda: load(kind=InListCopied), holder="loader.kept"
    ),
    "rows kept in a dict": Pair(
        "fds", lambda: load(kind=InDict), lambda: load(kind=InDictAsNumber), holder="loader.kept"
    ),
    "arrays kept by an attribute": Pair(
        "fds", lambda: with_history(copies=False), lambda: with_history(copies=True), holder="loader.history.arrays"
    ),
    "tensors kept by a closure": Pair(
        "fds", lambda: with_closure(copies=False), lambda: with_closure(copies=True), holder="closure['kept']"
    ),
    "a descriptor for each sample": Pair("fds", lambda: load(Rows(opens)), lambda: load(Rows(opens_once))),
    "a descriptor for each sample, persistent workers": Pair(
        "fds", lambda: load(Rows(opens), persistent_workers=True),
        lambda: load(Rows(opens_once), persistent_workers=True),
    ),
    "a pipe for each sample": Pair("fds", lambda: load(Rows(opens_pipes)), lambda: load(Rows(closes_pipes))),
    "a descriptor for each epoch": Pair(
        "fds", lambda: load(sampler=OpensEveryEpoch(closes=False)), lambda: load(sampler=OpensEveryEpoch(closes=True))
    ),
    "more tensors than a worker may have open": Pair(
        "fds", lambda: load(Rows(tensors=40)), lambda: load(Rows(tensors=4)), room=100
    ),
    "kept batches until the limit": Pair(
        "fds", lambda: load(Rows(tensors=4), InList), lambda: load(Rows(tensors=4)), room=80, holder="loader.kept"
    ),
    "an epoch left early, by file": Pair(
        "shm", load, lambda: load(persistent_workers=True), by_file=True
    ),
    "batches kept in a list, by file": Pair(
        "shm", lambda: load(kind=InList, persistent_workers=True),
        lambda: load(kind=InListCopied, persistent_workers=True), by_file=True, holder="loader.kept",
    ),
    "segments not unlinked": Pair("shm", lambda: load(Rows(forgets)), lambda: load(Rows(unlinks))),
    "segments kept": Pair("shm", lambda: load(Rows(keeps_pieces)), lambda: load(Rows(unlinks))),
    "tensors moved to shared memory and kept": Pair(
        "shm", lambda: load(Rows(keeps_shared)), lambda: load(Rows(drops_shared))
    ),
    "the same, persistent workers": Pair(
        "shm", lambda: load(Rows(keeps_shared), persistent_workers=True),
        lambda: load(Rows(drops_shared), persistent_workers=True),
    ),
}  # fmt: skip
