"""The facts of files: from the cache, or parsed now, in several processes where that pays or where one might die."""

from __future__ import annotations

import json
import re
import signal
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dl_lint.cache import digest, tool_version
from dl_lint.facts import read, store
from dl_lint.processes import Died, spread
from dl_lint.report import Failure
from dl_lint.source import Source, SourceError, is_notebook

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dl_lint.cache import Cache
    from dl_lint.facts import FileFacts

# Above this, processes save time. 1 MB takes 0.8 s of CPU to read with Python's own parser and 0.2 s to store for the
# cache; from processes it takes the parent 0.3 s to take in what they found, and they 0.1 to 0.2 s more and 0.02 s each
# to start. Two processes break even at 200 kB with a cache, at 400 kB without one, and spare 0.2 of 0.85 s at 760 kB.
WORTH_PROCESSES_BYTES = 400_000

# Time that it takes to take in what a process found in a file, over that to read the file.
TAKING_IN = 0.3

# libcst takes about 100 times a file's size in memory. torch's largest module has 1 MB.
LARGEST_BYTES = 8_000_000

# Most of a notebook is pictures, which are read over at 100 MB/s.
LARGEST_NOTEBOOK_BYTES = 200_000_000

# On a stack of 8 MB the parser survives 1,045 nested brackets and chains of 4,000 operators, but not 1,673 and 6,849.
DEEPEST_BRACKETS = 500
LONGEST_EXPRESSION_BYTES = 8_000
MOST_ELIFS = 4_000

Record = dict[str, Any]
"""The facts of a file as stored, why there are none, or what broke; the last is not kept."""

BRACKET = re.compile(rb"[()\[\]{}]")


class Extraction:
    """The facts or the failure of each file, by its path; ``data`` and ``digests`` are those of the whole tree."""

    def __init__(self, data: Mapping[str, bytes], digests: Mapping[str, str], cache: Cache) -> None:
        self._data = dict(data)
        self._digests = dict(digests)
        self._cache = cache
        self._version = tool_version("__init__.py", "source.py", "notebook.py", "ipython.py", "facts")
        self._known: dict[str, FileFacts | Failure] = {}
        self._notes: dict[str, tuple[Failure, ...]] = {}
        self.repeatable = True
        """Whether the same files would fare the same again, as far as we know."""

    def add(self, path: str, data: bytes) -> str:
        """Take one more file in; returns its digest."""
        self._data[path] = data
        self._digests[path] = digest(data)
        return self._digests[path]

    def gather(self, paths: Iterable[str], jobs: int) -> None:
        """Have the facts of many files ready."""
        missing = [path for path in paths if path not in self._known and not self._recall(path)]
        here = self._for_this_process(missing, jobs)
        apart = [path for path in missing if path not in here]
        if apart:
            import_module("dl_lint.facts.lower")  # once, not in every process
        sizes = [len(self._data[path]) for path in apart]
        others = max(1, jobs - 1 if here else jobs)
        for number, answer in spread(
            lambda number: self._answer(apart[number]), sizes, others, meanwhile=map(self._read, here)
        ):
            path = apart[number]
            body = _body(_obituary(answer)) if isinstance(answer, Died) else answer
            record = json.loads(body)
            self._keep(path, _from_record(path, record), record, body)

    def _for_this_process(self, missing: list[str], jobs: int) -> dict[str, None]:
        """Which files to read here: none that the parser might not survive, and where processes pay, as many as keep
        this one busy for as long as the others."""
        sizes = {path: len(self._data[path]) for path in missing}
        total = sum(sizes.values())
        room = total * _own_share(jobs) if jobs > 1 and total >= WORTH_PROCESSES_BYTES else total
        here: dict[str, None] = {}
        for path in sorted(missing, key=sizes.__getitem__):  # small ones: the others are heard between any two
            room -= sizes[path]
            if room < 0:
                break
            if not monstrous(_python(path, self._data[path])):
                here[path] = None
        return here

    def of(self, path: str) -> FileFacts | Failure:
        if path not in self._known:
            self.gather([path], jobs=1)
        return self._known[path]

    def notes(self, path: str) -> tuple[Failure, ...]:
        """What of a file could not be read, where the rest could."""
        self.of(path)
        return self._notes.get(path, ())

    def _key(self, path: str) -> str:
        return digest(self._version, self._digests[path], "notebook" if is_notebook(path) else "")

    def _recall(self, path: str) -> bool:
        record = self._cache.read("facts", self._key(path))
        if record is not None:
            try:
                self._known[path] = _from_record(path, record)
                self._notes[path] = _notes(path, record)
            except (KeyError, TypeError, ValueError):
                return False
        return record is not None

    def _read(self, path: str) -> None:
        found, record = _extract(path, self._data[path], stored=self._cache.keeps)
        self._keep(path, found, record, _body(record) if self._cache.keeps else b"")

    def _keep(self, path: str, found: FileFacts | Failure, record: Record, body: bytes) -> None:
        self._known[path] = found
        self._notes[path] = _notes(path, record)
        if "broken" in record:
            self.repeatable = False
        else:
            self._cache.write_body("facts", self._key(path), body)

    def _answer(self, path: str) -> bytes:
        return _body(_extract(path, self._data[path])[1])


def _own_share(jobs: int) -> float:
    """Share of the reading that the process that takes in what the others found does itself."""
    alone = 1 / (jobs - 1)
    return max(0.0, (alone - TAKING_IN) / (alone + 1 - TAKING_IN))


def _body(record: Record) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode("ascii")


def _extract(path: str, data: bytes, *, stored: bool = True) -> tuple[FileFacts | Failure, Record]:
    """What a file says, and the same as stored, but for facts that nobody will store."""
    source = None
    try:
        largest = LARGEST_NOTEBOOK_BYTES if is_notebook(path) else LARGEST_BYTES
        if len(data) > largest:
            raise SourceError(path, f"not analysed: more than {largest / 1e6:.0f} MB")
        source = Source.of(path, data)
        if len(source.code) > LARGEST_BYTES:
            raise SourceError(path, f"not analysed: more than {LARGEST_BYTES / 1e6:.0f} MB of code")
        facts = read(source)
        record: Record = {"facts": store.encode(facts)} if stored else {}
        if source.notebook is not None and source.notebook.broken:
            record["notes"] = source.notebook.broken
        return facts, record
    except SourceError as error:
        record = {"failure": _failure(error, source)}
    except Exception as error:  # a fault of ours in reading one file must not hide what others hold
        said = " ".join(f"{type(error).__name__}: {error}".split())
        record = {"broken": f"reading it broke down, please report it: {said}"}
    return _from_record(path, record), record


def _failure(error: SourceError, source: Source | None) -> list[Any]:
    """Message and line; the line of a notebook is that of a cell, which only the message can name."""
    cell = None if source is None or source.notebook is None else source.notebook.cell(error.line or 1)
    if cell is None or error.line is None:
        return [error.message, error.line]
    return [f"cell {cell.number}, line {error.line - cell.first + 1}: {error.message}", None]


def _python(path: str, data: bytes) -> bytes:
    """What the parser will see of a file; nothing if that cannot be told."""
    if not is_notebook(path):
        return data
    try:
        return Source.of(path, data).code.encode()
    except SourceError:
        return b""


def _obituary(died: Died) -> Record:
    """A process killed from outside, perhaps for want of memory, may do better next time."""
    message = f"not analysed: {died}"
    return {"broken": message} if died.signal == signal.SIGKILL else {"failure": [message, None]}


def _notes(path: str, record: Record) -> tuple[Failure, ...]:
    return tuple(Failure(path, str(note), partial=True) for note in record.get("notes", ()))


def _from_record(path: str, record: Record) -> FileFacts | Failure:
    if "facts" in record:
        return store.decode(record["facts"])
    message, line = (record["broken"], None) if "broken" in record else record["failure"]
    return Failure(path, message, line)


def monstrous(data: bytes) -> bool:
    """Whether the native parser might overflow its stack on this file. Wrongly yes costs a process, nothing else."""
    if len(data) < 2 * DEEPEST_BRACKETS:
        return False
    if data.count(b"elif") > MOST_ELIFS or data.count(b"\\\n") > LONGEST_EXPRESSION_BYTES // 80:
        return True
    if max(map(len, data.split(b"\n"))) > LONGEST_EXPRESSION_BYTES:
        return True
    depth = start = 0
    for bracket in BRACKET.finditer(data):
        if depth == 0:
            start = bracket.start()
        elif bracket.start() - start > LONGEST_EXPRESSION_BYTES:
            return True
        depth = depth + 1 if bracket[0] in b"([{" else max(0, depth - 1)
        if depth > DEEPEST_BRACKETS:
            return True
    return False
