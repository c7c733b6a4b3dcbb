"""Epochs of a borrowed loader with the provenance of each sample: worker, epoch, index, content, random states."""

from __future__ import annotations

import contextlib
import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_dataloader.errors import NothingSeen
from pytest_dataloader.probe.internals import torch_private
from pytest_dataloader.probe.loader.borrowing import borrow
from pytest_dataloader.probe.loader.positions import indices_in, length_of
from pytest_dataloader.probe.loader.settings import make_shallow
from pytest_dataloader.probe.loader.state_restoration import random_state
from pytest_dataloader.probe.loader.timeout import Hang, time_limit
from pytest_dataloader.probe.samples.generators import find_generators, global_digests
from pytest_dataloader.probe.samples.journal import Journal, JournalEntry, plain_index
from pytest_dataloader.probe.samples.tracing import TracedCollate, TracedDataset, TracedStart, Tracer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pytest_dataloader.probe.loader.borrowing import Borrowed

_WAIT_SECONDS = 30.0
"""For one batch; forkserver workers took 12 to 25 s to import torch on a busy machine."""

_MOST_INDICES = 2_000_000
_LOOKED_STEPS = 4
_END = object()


@dataclass(slots=True)
class Given:
    """What the sampler gave in an epoch: index lists or single indices, and whether it was asked to the end."""

    indices: list[tuple[Any, ...]] = field(default_factory=list)
    exhausted: bool = False
    cut: bool = False
    drew: bool = False
    """Whether the sampler drew from a global generator, as far as its first steps tell."""
    lengths: tuple[int, ...] = ()
    """What its len() said as it began and as it ended; none without one. Some know it only after an epoch."""


class TracedSampler:
    """A sampler that notes what it gives and stops early once ``over`` says so; the loader then ends its epoch.

    Ending an epoch at its source leaves nothing under way that could be taken for the next one's. With a ``plan`` that
    is given instead; everything but what it gives is the sampler's.
    """

    def __init__(
        self, sampler: Any, epochs: list[Given], over: Callable[[int], bool], *, many: bool,
        size: int = 0, plan: Sequence[Any] | None = None,
    ) -> None:  # fmt: skip
        self._sampler = sampler
        self._plan = plan
        self._many = many
        self._size = size
        self._epochs = epochs
        self._over = over

    def __iter__(self) -> Iterator[Any]:
        given = Given(lengths=self._lengths())
        self._epochs.append(given)
        samples = 0
        iterator = iter(self._sampler if self._plan is None else self._plan)
        while (each := self._next(iterator, given)) is not _END:
            if self._over(samples):
                given.cut = True
                return
            asked = indices_in(each, many=self._many, size=self._size)
            given.indices.append(tuple(map(plain_index, asked)))
            samples += len(given.indices[-1])
            yield each
        given.exhausted = True
        given.lengths += self._lengths()

    def _lengths(self) -> tuple[int, ...]:
        length = length_of(self._sampler)
        return (length,) if length else ()

    def _next(self, iterator: Iterator[Any], given: Given) -> Any:
        """What the sampler gives next, and whether it drew for it: an order is mostly drawn at the first step."""
        looked = self._plan is None and not given.drew and len(given.indices) < _LOOKED_STEPS
        before = global_digests() if looked else ()
        each = next(iterator, _END)
        given.drew = given.drew or (looked and global_digests() != before)
        return each

    def __len__(self) -> int:
        return len(self._sampler if self._plan is None else self._plan)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._sampler, name)


@dataclass(frozen=True, slots=True)
class TracedEpoch:
    """One epoch: what the sampler gave in each pass, what the workers wrote, how many batches came."""

    passes: tuple[Given, ...]
    entries: tuple[JournalEntry, ...]
    batches: int
    seconds: float

    @property
    def given(self) -> Given:
        """What the sampler gave in one pass, the fullest: a loader may begin several in an epoch."""
        return max(self.passes, key=lambda given: len(given.indices))

    @property
    def cut(self) -> bool:
        return any(given.cut for given in self.passes)

    @property
    def samples(self) -> list[JournalEntry]:
        return [entry for entry in self.entries if entry.kind == "sample"]


class TracedRun:
    """A traced copy of a loader. ``plan`` replaces what its sampler gives; ``workers`` how many it starts."""

    def __init__(self, journal: Journal, tracer: Tracer) -> None:
        self.journal = journal
        self.tracer = tracer
        self.epochs: list[TracedEpoch] = []
        self.borrowed: Borrowed
        self._given: list[Given] = []
        self._samplers: list[Any] = []
        self._planned = False
        self._deadline = math.inf
        self._most: float = math.inf

    def prepare(self, copy: Any, plan: list[Any] | None, workers: int | None) -> None:
        fields = vars(copy)
        size = length_of(fields["dataset"])
        fields["dataset"] = TracedDataset(fields["dataset"], self.tracer)
        fields["collate_fn"] = TracedCollate(fields["collate_fn"], self.tracer)
        fields["worker_init_fn"] = TracedStart(fields["worker_init_fn"], self.tracer)
        if workers is not None:
            fields["num_workers"] = workers
        name = "batch_sampler" if torch_private.reads_batches(copy) else "sampler"
        self._samplers.append(fields[name])
        many = name == "batch_sampler"
        fields[name] = TracedSampler(fields[name], self._given, self._over, many=many, size=size, plan=plan)
        self._planned = plan is not None
        if self._planned and "in_order" in fields:  # else a plan's batches go to whichever worker is free
            fields["in_order"] = True

    def _over(self, samples: int) -> bool:
        return samples >= self._most or (self._most < math.inf and time.monotonic() > self._deadline)

    def epoch(self, *, seconds: float, most: int) -> TracedEpoch:
        """Run the next epoch, cut off ``seconds`` after its first batch, or after ``most`` samples.

        Raises NothingSeen for a loader that hangs; the user's errors come out as they are.
        """
        number, begun, started = len(self.epochs), len(self._given), time.monotonic()
        self.journal.epoch = number
        self._deadline, self._most = math.inf, most
        batches, ended = 0, False
        try:
            with time_limit(_WAIT_SECONDS) as alive:
                self.borrowed.begin_epoch()
                while not (ended := not self._pulled()) and time.monotonic() < self._latest:
                    batches += 1
                    if self.borrowed.keeps_iterator:
                        self._most = math.inf  # an iterator that is kept for ever may not end
                    self._deadline = min(self._deadline, time.monotonic() + seconds)
                    alive()
                self._end_what_is_under_way(alive)
        except Hang:
            self.borrowed.close(kill=True)
            raise NothingSeen(f"no batch came for {_WAIT_SECONDS:.0f} s") from None
        passes = self._given_in(number, begun, batches + (not ended), ended=ended)
        entries = tuple(entry for entry in self.journal.read() if entry.epoch == number)
        self.epochs.append(TracedEpoch(passes, entries, batches + (not ended), time.monotonic() - started))
        return self.epochs[-1]

    @property
    def _latest(self) -> float:
        """When an epoch is left that does not end: nothing tells a kept iterator to end."""
        return self._deadline + (0.0 if self.borrowed.keeps_iterator else _WAIT_SECONDS)

    def _pulled(self) -> bool:
        """Whether a batch came. A loader that counts its batches itself asks past the end of an epoch that we cut."""
        try:
            return self.borrowed.pull(1)[0] > 0
        except RuntimeError as error:
            cut = self._planned or any(given.cut for given in self._given[-1:])
            if cut and isinstance(error.__cause__, StopIteration):
                return False
            raise

    def _given_in(self, number: int, begun: int, batches: int, *, ended: bool) -> tuple[Given, ...]:
        """What the sampler gave for an epoch; of a kept iterator's, which goes on and on, as many as came."""
        if self._planned or not self.borrowed.keeps_iterator:
            last = self._given[-1:] if len(self._given) > number else []
            return tuple(self._given[begun:] or last or [Given()])
        first = sum(epoch.batches for epoch in self.epochs)
        given = self._given[-1].indices if self._given else []
        return (Given(given[first : first + batches], exhausted=ended, cut=not ended),)

    def _end_what_is_under_way(self, alive: Callable[[], None]) -> None:
        """Have workers done with this epoch before the next: a loader that stops early leaves batches on their way.

        Workers that do not persist would end with the loop of a user, who holds no iterator; others make what they
        were asked for, which nobody looks at, nor at what it raises.
        """
        borrowed = self.borrowed
        if borrowed.keeps_iterator or not torch_private.outstanding_batches(borrowed.iterator):
            return
        if getattr(borrowed.loader, "persistent_workers", False):
            given = self._given[-1]
            cut, self._most = given.cut, 0
            with contextlib.suppress(Exception):
                for _ in borrowed.iterator:
                    alive()
            given.cut = cut
        borrowed.abandon()

    def given_in_full(self, seconds: float) -> tuple[list[Any], bool]:
        """What the sampler gives in an epoch, loading nothing: the indices in order, and whether they are all.

        One that goes on after twice the dataset is taken to give for ever, unless the loader counts its epochs itself.
        """
        loader = self.borrowed.loader
        epoch = length_of(loader) if self.borrowed.keeps_iterator else 0
        enough = min(_MOST_INDICES, 2 * length_of(loader.dataset) or _MOST_INDICES)
        many = torch_private.reads_batches(loader)
        deadline = time.monotonic() + seconds
        found: list[Any] = []
        for number, each in enumerate(self._samplers[-1], 1):
            found += map(plain_index, indices_in(each, many=many, size=length_of(loader.dataset)))
            if number == epoch:
                return found, True
            if time.monotonic() > deadline or len(found) > enough:
                return found, False
        return found, True


@contextlib.contextmanager
def traced(
    loader: Any,
    *,
    generators: bool = False,
    fields: bool = False,
    displaced_from: dict[str, int] | None = None,
    plan: Callable[[Any], list[Any]] | None = None,
    workers: int | None = None,
    shallow: bool = False,
) -> Iterator[TracedRun]:
    """A traced copy of a loader; the user's is left as it was. ``shallow``: its workers make one batch ahead each.

    ``plan`` makes what the sampler gives instead of its own, from the loader and with random states put back later.
    """
    roots = (("dataset", loader.dataset), ("collate_fn", loader.collate_fn)) if generators else ()
    with Journal.open() as journal, _generators_kept(roots):
        whole = torch_private.iterates_batches(loader)
        run = TracedRun(journal, Tracer(journal, roots, displaced_from or {}, fields=fields, whole_batches=whole))

        def prepare(copy: Any) -> None:
            run.prepare(copy, None if plan is None else plan(copy), workers)
            if shallow:
                make_shallow(copy)

        with borrow(loader, prepare=prepare) as borrowed:
            run.borrowed = borrowed
            yield run


@contextlib.contextmanager
def _generators_kept(roots: tuple[tuple[str, Any], ...]) -> Iterator[None]:
    """Put every generator back that tracing displaces in this process, module-level ones too."""
    restorers = [random_state(each) for each in find_generators(roots).values()] if roots else []
    try:
        yield
    finally:
        for restore in restorers:
            if restore is not None:
                restore()
