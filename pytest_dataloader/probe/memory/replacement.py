"""Tries the remedy on the spot: some records of the guilty container, packed into one array, read in a fork."""

from __future__ import annotations

import mmap
import pickle
import struct
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.host.child_process import Child
from pytest_dataloader.probe.memory.copy_on_access import MIB, Sources
from pytest_dataloader.probe.memory.footprint import PAGE

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_dataloader.probe.memory.diagnosis import Diagnosis

_RECORDS = 4096
_TIMEOUT_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Replacement:
    """The same records packed: what reading them all copies, and what a record takes and costs to read."""

    form: str
    records: int
    bytes_per_record: float
    share_copied: float
    microseconds_per_read: float


def try_replacement(loader: Any, found: Diagnosis, sources: Sources) -> Replacement | None:
    """Pack records of the attribute that pays and read them back in a forked child; None where that cannot be tried."""
    if (
        found.kinds[0] != "copy_on_access"
        or found.source != "pagemap"
        or found.culprit is None
        or found.culprit.written
        or sources.pages is None
    ):
        return None
    records = _records(loader.dataset, found.culprit.path)
    if len(records) < 64:
        return None
    try:
        packed = _pack(records)
    except Exception:  # records that cannot be pickled, integers of more than 64 bits
        return None
    with Child.fork(packed.read_all) as reader:
        answer = reader.hear(_TIMEOUT_SECONDS)
        if answer is None:
            return None
        try:
            pages = sources.pages(reader.pid, packed.pages)
        except OSError:
            return None
        seen = [page for page in pages.values() if page is not None]
    if not seen:
        return None
    return Replacement(
        packed.form, len(records), round(packed.size / len(records), 1), round(sum(seen) / len(seen), 4),
        round(pickle.loads(answer) * 1e6, 2),
    )  # fmt: skip


def container_type(dataset: Any, path: str) -> str:
    """The type of the container at a path; empty where it is not found."""
    found = _at(dataset, path)
    return "" if found is None else type(found).__name__


def _at(dataset: Any, path: str) -> Any:
    """The container at a path such as ``dataset.index['path']``; None where it is not found."""
    thing: Any = dataset
    for step in path.removeprefix("dataset").replace("[", ".[").split(".")[1:]:
        try:
            thing = thing[_key(step)] if step.startswith("[") else getattr(thing, step)
        except Exception:  # a path with dots in its keys, or code of the user's that refuses
            return None
    return thing


def _records(dataset: Any, path: str) -> list[Any]:
    """The first records of the container at a path; none where it is not found."""
    thing = _at(dataset, path)
    if isinstance(thing, dict):
        thing = list(thing.items())[:_RECORDS] if len(thing) < 4 * MIB else []
    try:
        return [record for _, record in zip(range(_RECORDS), thing, strict=False)]
    except TypeError:
        return []


def _key(step: str) -> Any:
    inner = step[1:-1]
    return inner[1:-1] if inner[:1] in "'\"" else int(inner)


class _Packed:
    """Records one behind another in anonymous memory of their own, with their offsets."""

    def __init__(self, form: str, decode: Callable[[bytes], object], encoded: list[bytes]) -> None:
        self.form = form
        self.decode = decode
        self.size = sum(map(len, encoded))
        self.memory = mmap.mmap(-1, max(PAGE, self.size), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.memory.write(b"".join(encoded))
        self.ends: list[int] = []
        at = 0
        for record in encoded:
            at += len(record)
            self.ends.append(at)
        self.pages = self._page_numbers()

    def _page_numbers(self) -> list[int]:
        import ctypes

        view = ctypes.c_char.from_buffer(self.memory)
        first = ctypes.addressof(view) // PAGE
        del view
        return list(range(first, first + max(1, self.size // PAGE)))

    def read_all(self, child: Child) -> None:
        """In a child: read each record and say what one costs, in seconds."""
        started = time.perf_counter()
        start = 0
        for end in self.ends:
            record = self.memory[start:end]
            self.decode(record)
            start = end
        child.tell(pickle.dumps((time.perf_counter() - started) / len(self.ends)))


def _pack(records: list[Any]) -> _Packed:
    """As the advice has it: numbers as numbers, anything else pickled."""
    if all(isinstance(record, int | float) for record in records):
        number = struct.Struct("d" if any(isinstance(record, float) for record in records) else "q")
        return _Packed("one array of numbers", number.unpack, [number.pack(record) for record in records])
    return _Packed("one array of pickled bytes", pickle.loads, [pickle.dumps(record) for record in records])
