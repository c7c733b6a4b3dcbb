"""Stand-ins for what a loader calls in its workers: the user's dataset, collate function and worker_init_fn, traced.

They pickle, so they work under fork, spawn and forkserver. What they call are the user's own objects.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.loader.counting import samples_in
from pytest_dataloader.probe.loader.positions import indices_in, length_of
from pytest_dataloader.probe.samples import generators
from pytest_dataloader.probe.samples.digests import digest
from pytest_dataloader.probe.samples.journal import Entry, Journal, Kind, plain_index

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


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
    whole_batches: bool = False
    """Whether the dataset is iterated for whole batches: the samples in them are told, each by its own digest."""
    worker: int = -1
    _found: dict[str, Any] = field(default_factory=dict)
    """The generators that the last walk came to: nobody's code runs between two calls of an epoch."""
    _epoch: int = -1
    _numbers: dict[str, int] = field(default_factory=dict)

    def begin(self, worker: int) -> None:
        """Be in a worker from now on."""
        self.worker = worker
        self._found.clear()
        self._epoch = -1

    def call(self, kind: Kind, indices: tuple[Any, ...], function: Callable[..., Any], *given: Any, many: bool) -> Any:
        """Call user code and write an entry of it; ``many``: what it returns is a list of samples."""
        number = self._count(kind)
        if not self._found:
            self._walk()
        if number >= self.displaced_from.get(kind, number + 1):
            for name, generator in self._found.items():
                generators.displace(generator, f"{name} {kind} {self._epoch} {self.worker} {number}")
        before = self._standings()
        try:
            made = function(*given)
        except StopIteration:
            ends = kind == "sample" and function is next
            self.journal.write(Entry("end" if ends else "stop", self._epoch, self.worker, number, indices))
            raise
        after = self._look()  # before digests are made: an image that is loaded late may draw as well
        contents = self._digests(kind, made, len(indices), many=many) if self.digests else ()
        self.journal.write(Entry(kind, self._epoch, self.worker, number, indices, contents, before, after))
        return made

    def _digests(self, kind: Kind, made: Any, asked: int, *, many: bool) -> tuple[str, ...]:
        if many:
            return tuple(map(digest, made))
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
        self.journal.write(Entry("start", self._epoch, worker, 0, before=before, after=self._look()))

    def _look(self) -> dict[str, generators.Standing]:
        self._walk()
        return self._standings()

    def _walk(self) -> None:
        self._found = generators.find(self.roots) if self.roots else {}

    def _standings(self) -> dict[str, generators.Standing]:
        return {name: generators.standing(each) for name, each in self._found.items()}

    def _count(self, kind: Kind) -> int:
        epoch = self.journal.epoch
        if epoch != self._epoch:
            self._epoch = epoch
            self._numbers.clear()
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
        return self._by.call("sample", (), next, self._traced, many=False)


@dataclass(slots=True)
class TracedCollate:
    """The user's collate function (or conversion, with ``batch_size=None``)."""

    function: Callable[[Any], Any]
    tracer: Tracer

    def __call__(self, samples: Any) -> Any:
        return self.tracer.call("collate", (), self.function, samples, many=False)


@dataclass(slots=True)
class TracedStart:
    """The user's worker_init_fn, if there is one."""

    function: Callable[[int], Any] | None
    tracer: Tracer

    def __call__(self, worker: int) -> None:
        self.tracer.start(worker, self.function)


def _plain(indices: Any) -> tuple[Any, ...]:
    return tuple(plain_index(each) for each in indices)
