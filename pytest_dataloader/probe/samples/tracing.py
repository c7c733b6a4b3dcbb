"""Stand-ins for what a loader calls in its workers: the user's dataset, collate function and worker_init_fn, traced.

They pickle, so they work under fork, spawn and forkserver. What they call are the user's own objects.
"""

from __future__ import annotations

import contextlib
import itertools
import operator
import weakref
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_dataloader.probe.loader.batch_storages import arrays_by_address
from pytest_dataloader.probe.loader.counting import first_dimension, samples_for, samples_in
from pytest_dataloader.probe.loader.positions import indices_in, length_of
from pytest_dataloader.probe.samples import generators
from pytest_dataloader.probe.samples.digests import digest, leaves
from pytest_dataloader.probe.samples.journal import EntryKind, Journal, JournalEntry, plain_index
from pytest_dataloader.probe.samples.schema import fields_in

if TYPE_CHECKING:
    from collections.abc import Callable


_MOST_READ = 4096
"""Samples of one batch that are looked at again: a loader may never collate what it reads."""


_ALIGNED_BATCHES = 8
"""Batches of a worker's epoch whose rows are held against their samples."""


class Read(NamedTuple):
    """What a sample held when it was read: a digest of it, and of each of its arrays by where that lies in memory.

    Samples that were read together have overwritten each other before anybody saw them: no arrays.
    """

    content: str
    arrays: dict[int, str]


@dataclass(slots=True)
class Tracer:
    """Writes down each call. ``roots`` are looked through for random generators (nothing is said of them without).

    From so many calls of a kind on as ``displaced_from`` says, every generator is seeded anew before each call: what
    comes out the same all the same was seeded by the user's code itself.
    """

    journal: Journal
    roots: tuple[tuple[str, Any], ...] = ()
    displaced_from: dict[str, int] = field(default_factory=dict)
    digests: bool = True
    fields: bool = False
    """Whether the fields of each batch are looked at."""
    whole_batches: bool = False
    """Whether the dataset is iterated for whole batches: the samples in them are told, each by its own digest."""
    worker: int = -1
    _found: dict[str, Any] = field(default_factory=dict)
    """The generators that the last walk came to: nobody's code runs between two calls of an epoch."""
    _passing: dict[str, Any] = field(default_factory=dict)
    """Of these, those that only the iteration under way holds."""
    _iteration: weakref.ref[TracedIterator] | None = None
    _epoch: int = -1
    _numbers: dict[str, int] = field(default_factory=dict)
    _read: deque[Read] = field(default_factory=lambda: deque(maxlen=_MOST_READ))
    """The samples that were read for the next batch."""

    def begin(self, worker: int) -> None:
        """Be in a worker from now on."""
        self.worker = worker
        self._found.clear()
        self._iteration = None
        self._epoch = -1

    def call(
        self, kind: EntryKind, indices: tuple[Any, ...], function: Callable[..., Any], *given: Any, many: bool
    ) -> Any:
        """Call user code and write an entry of it; ``many``: it makes a sample for each index, in a list or otherwise.

        What can be iterated only once is handed on as an iterator over the samples that were looked at.
        """
        number = self._count(kind)
        if not self._found:
            self._walk()
        if number >= self.displaced_from.get(kind, number + 1):
            for name, generator in self._displaceable.items():
                generators.displace(generator, f"{name} {kind} {self._epoch} {self.worker} {number}")
        before = self._generator_states()
        try:
            made = function(*given)
        except StopIteration:
            ends = kind == "sample" and function is next
            self.journal.write(JournalEntry("end" if ends else "stop", self._epoch, self.worker, number, indices))
            raise
        once = many and isinstance(made, Iterator)
        if once:
            made = list(made)
        after = self._look()  # before digests are made: an image that is loaded late may draw as well
        contents = self._digests(kind, made, len(indices), many=many) if self.digests else ()
        self.journal.write(JournalEntry(kind, self._epoch, self.worker, number, indices, contents, before, after))
        if kind == "sample":
            self._read += [Read(content, {} if len(contents) > 1 else _arrays(made)) for content in contents]
        if many and samples_for(made, len(indices)) is None:
            self.journal.write(JournalEntry("whole", self._epoch, self.worker, number, indices))
        return iter(made) if once else made

    def collate(self, function: Callable[[Any], Any], samples: Any) -> Any:
        """Make a batch, and write which of its samples were changed since they were read, or left out of it."""
        read = list(self._read)
        self._read.clear()
        if not self.digests or not isinstance(samples, list) or len(read) != len(samples):
            return self.call("collate", (), function, samples, many=False)
        given = list(samples)
        self._tell("overwritten", _overwritten(given, read))
        batch = self.call("collate", (), function, samples, many=False)
        with contextlib.suppress(Exception):  # a batch of the user's may have a shape and no rows
            self._tell("left out", _left_out(given, read, batch))
        if self.fields:
            with contextlib.suppress(Exception):  # types of the user's that look like a tensor and are none
                aligned = self._numbers["collate"] <= _ALIGNED_BATCHES
                seen = fields_in(given, batch, aligned=aligned)
                self.journal.write(JournalEntry("fields", self._epoch, self.worker, 0, fields=seen))
        return batch

    def _tell(self, kind: EntryKind, digests: tuple[str, ...]) -> None:
        if digests:
            self.journal.write(JournalEntry(kind, self._epoch, self.worker, 0, digests=digests))

    def _digests(self, kind: EntryKind, made: Any, asked: int, *, many: bool) -> tuple[str, ...]:
        if many:
            samples = samples_for(made, asked)
            return (digest(made),) * asked if samples is None else tuple(map(digest, samples))
        whole = kind == "sample" and (asked > 1 or self.whole_batches)
        found = tuple(map(digest, samples_in(made))) if whole else (digest(made),)
        # A batch that was asked for whole and shows no samples has the same content at each of its indices.
        return found if asked <= 1 or len(found) == asked else (digest(made),) * asked

    def start(self, worker: int, function: Callable[[int], Any] | None) -> None:
        """Run ``worker_init_fn``, between two looks at the random states."""
        self.begin(worker)
        self._epoch = self.journal.epoch
        before = self._look()
        if function is not None:
            function(worker)
        self.journal.write(JournalEntry("start", self._epoch, worker, 0, before=before, after=self._look()))

    def _look(self) -> dict[str, generators.GeneratorState]:
        self._walk()
        return self._generator_states()

    def iterate(self, iteration: TracedIterator) -> None:
        """Look at an iteration from now on, for as long as its loader keeps it."""
        if self._iteration is None or self._iteration() is not iteration:
            self._iteration = weakref.ref(iteration)
            self._found.clear()

    def _walk(self) -> None:
        self._found = generators.find_generators(self.roots) if self.roots else {}
        iteration = self._iteration() if self.roots and self._iteration is not None else None
        self._passing = {}
        if iteration is not None:
            self._passing = generators.of_iteration(iteration._traced, self.roots, self._found.values())
            self._found = {**self._passing, **self._found}

    @property
    def _displaceable(self) -> dict[str, Any]:
        """All that were found; in the user's own process those that are put back where they stood, found by roots."""
        if self.worker >= 0:
            return self._found
        return {name: each for name, each in self._found.items() if name not in self._passing}

    def _generator_states(self) -> dict[str, generators.GeneratorState]:
        return {name: generators.generator_state(each) for name, each in self._found.items()}

    def _count(self, kind: EntryKind) -> int:
        epoch = self.journal.epoch
        if epoch != self._epoch:
            self._epoch = epoch
            self._numbers.clear()
            self._read.clear()
            self._found.clear()  # in between, the main process may have put others in their places
        number = self._numbers.get(kind, 0)
        self._numbers[kind] = number + 1
        return number


class TracedDataset:
    """A dataset in whose place a loader finds another one that says what it was asked for; see-through otherwise.

    ``isinstance`` sees the user's class, attributes are read from and written to the user's object, and
    ``__getitems__`` is there only if the dataset has it.
    """

    __slots__ = ("_traced_by", "_traced_dataset")

    def __init__(self, dataset: Any, tracer: Tracer) -> None:
        object.__setattr__(self, "_traced_dataset", dataset)
        object.__setattr__(self, "_traced_by", tracer)

    @property  # type: ignore[misc]  # isinstance asks for it where the type itself does not match
    def __class__(self) -> Any:
        return type(self._traced_dataset)

    def __reduce_ex__(self, _protocol: Any) -> tuple[Any, ...]:
        return TracedDataset, (self._traced_dataset, self._traced_by)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._traced_dataset, name)
        if name != "__getitems__" or not callable(found):
            return found
        return lambda indices: self._traced_by.call("sample", _plain(indices), found, indices, many=True)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._traced_dataset, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._traced_dataset, name)

    def __len__(self) -> int:
        return len(self._traced_dataset)

    def __getitem__(self, index: Any) -> Any:
        size = length_of(self._traced_dataset) if isinstance(index, slice) else 0
        indices = _plain(indices_in(index, many=False, size=size))
        return self._traced_by.call("sample", indices, operator.getitem, self._traced_dataset, index, many=False)

    def __iter__(self) -> Iterator[Any]:
        return TracedIterator(iter(self._traced_dataset), self._traced_by)


class TracedIterator:
    """The iteration of an iterable dataset in one worker."""

    def __init__(self, iterator: Iterator[Any], tracer: Tracer) -> None:
        self._traced = iterator
        self._by = tracer

    def __iter__(self) -> TracedIterator:
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._traced, name)

    def __next__(self) -> Any:
        self._by.iterate(self)
        return self._by.call("sample", (), next, self._traced, many=False)


@dataclass(slots=True)
class TracedCollate:
    """The user's collate function (or conversion, with ``batch_size=None``)."""

    function: Callable[[Any], Any]
    tracer: Tracer

    def __call__(self, samples: Any) -> Any:
        return self.tracer.collate(self.function, samples)


@dataclass(slots=True)
class TracedStart:
    """The user's worker_init_fn, if there is one."""

    function: Callable[[int], Any] | None
    tracer: Tracer

    def __call__(self, worker: int) -> None:
        self.tracer.start(worker, self.function)


def _overwritten(samples: list[Any], read: list[Read]) -> tuple[str, ...]:
    """Samples of which an array shares memory with another of their batch and holds something else than when read."""
    times = Counter(itertools.chain.from_iterable(each.arrays for each in read))
    found = []
    for sample, each in zip(samples, read, strict=True):
        shared = [address for address in each.arrays if times[address] > 1]
        now = arrays_by_address(sample) if shared else {}
        if any(address in now and digest(now[address]) != each.arrays[address] for address in shared):
            found.append(each.content)
    return tuple(found)


def _arrays(sample: Any) -> dict[int, str]:
    return {address: digest(array) for address, array in arrays_by_address(sample).items()}


def _left_out(samples: list[Any], read: list[Read], batch: Any) -> tuple[str, ...]:
    """Samples of which nothing is in a batch that is made of fewer samples, each as it was read."""
    if (first_dimension(batch) or len(samples)) >= len(samples):
        return ()
    parts = [set(leaves(sample).values()) for sample in samples]
    rows = [set(leaves(row).values()) for row in samples_in(batch)]
    known, kept = set().union(*parts), set().union(*rows)
    if not all(row & known for row in rows):
        return ()
    return tuple(
        each.content for sample, part, each in zip(samples, parts, read, strict=True)
        if sample is not None and not part & kept
    )  # fmt: skip


def _plain(indices: Any) -> tuple[Any, ...]:
    return tuple(plain_index(each) for each in indices)
