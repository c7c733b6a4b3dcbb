"""A run with its states along the way, and what fresh processes make of each state."""

from __future__ import annotations

import contextlib
import functools
import itertools
import operator
import pickle
import resource
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.host import child_process
from pytest_dataloader.probe.internals import torch_private, worker_errors
from pytest_dataloader.probe.loader import sampling
from pytest_dataloader.probe.loader.borrowing import shut_down
from pytest_dataloader.probe.loader.counting import samples_in
from pytest_dataloader.probe.loader.recognition import is_dataloader
from pytest_dataloader.probe.loader.settings import settings_of
from pytest_dataloader.probe.loader.stream import Stream, underlying_loader
from pytest_dataloader.probe.samples.digests import leaves
from pytest_dataloader.probe.samples.generators import global_states, restore_global, seed_child

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Sample = dict[str, str]
"""The digests of a sample's parts by their path."""
Batch = tuple[Sample, ...]
"""Its samples; one where they cannot be told apart."""

_TIMEOUT_SECONDS = 30.0
_EVERY_STATE = 48
"""After so many batches of an epoch states are kept of every second, then every fourth batch, and so on."""
_MANY = 4
"""Columns of a batch that have one type and shape are fewer: an anchor, what is like it and what is not."""
_NO_SNAPSHOTS = 10**9


@dataclass(frozen=True, slots=True)
class StateMethods:
    """The names of the method that gives a loader's state and of the one that takes it; of its parts, with dots."""

    state: str = "state_dict"
    load: str = "load_state_dict"

    def are_of(self, thing: Any) -> bool:
        try:
            return callable(_method(thing, self.state)) and callable(_method(thing, self.load))
        except AttributeError:
            return False

    def taken(self, thing: Any) -> bytes:
        return pickle.dumps(_method(thing, self.state)())

    def loaded(self, thing: Any, state: bytes) -> None:
        _method(thing, self.load)(pickle.loads(state))


def _method(thing: Any, path: str) -> Any:
    return operator.attrgetter(path)(thing)


@dataclass(frozen=True, slots=True)
class Stop:
    """A state taken after ``batches`` of an epoch; ``ended`` once the epoch had said that it was over.

    ``random_states`` are those of the global generators at the stop; ``earlier`` is the batch after which the run that
    was stopped had been resumed itself.
    """

    epoch: int
    batches: int
    state: bytes
    ended: bool = False
    random_states: bytes = b""
    earlier: int = 0


@dataclass(frozen=True, slots=True)
class Uninterrupted:
    """Two epochs: their batches, whether each was run to its end, and the states along the way."""

    epochs: tuple[tuple[Batch, ...], ...]
    ended: tuple[bool, ...]
    stops: tuple[Stop, ...]
    seconds_per_batch: float
    error: str = ""


@dataclass(frozen=True, slots=True)
class Resumed:
    """What came after ``load_state_dict``, epoch by epoch, and a state that was taken on the way."""

    epochs: tuple[tuple[Batch, ...], ...] = ()
    error: str = ""
    state: bytes = b""


@dataclass(frozen=True, slots=True)
class Resumable:
    """A loader, or what else is iterated and gives its state; ``build`` makes it anew.

    ``workers``: it is run and resumed with this number of workers, whatever its own is.
    """

    loader: Any
    build: Callable[[], Any] | None = None
    methods: StateMethods = field(default_factory=StateMethods)
    workers: int | None = None

    @property
    def own_workers(self) -> int | None:
        """The number of workers of the DataLoader that makes the batches; None without one."""
        loaders = _loaders(self.loader)
        return settings_of(loaders[0]).num_workers if loaders else None

    def begin_anew(self, loader: Any) -> None:
        """In a child: forget iterators of the parent, as accelerate makes one to ask a StatefulDataLoader for a state,
        and take the number of workers that is asked for.
        """
        for each in _loaders(loader):
            _LEFT_TO_PARENT.extend(value for value in vars(each).values() if torch_private.is_iterator(value))
            torch_private.forget_iterations(each)
            if self.workers is not None:
                replace(settings_of(each), num_workers=self.workers).apply(each)

    def run_through(self, *, seed: int, most: int, seconds: float) -> Uninterrupted:
        """Run two epochs in a forked child, each for ``most`` batches or half of ``seconds``, taking states."""
        found = child_process.ask(functools.partial(_run_through, self, seed, most, seconds), _TIMEOUT_SECONDS)
        return (
            found if isinstance(found, Uninterrupted) else Uninterrupted((), (), (), 0.0, "the loader did not answer")
        )

    def resume(self, stop: Stop, *, most: int, again_after: int = 0, random_states: bool = False) -> Resumed:
        """Load a state in a fresh process, and take ``most`` batches or two epochs; a state after ``again_after``.

        The process is forked from this one, whose loader has not been iterated. Its random states are others, or those
        of the stop.
        """
        run = functools.partial(_resume, self, stop, most, again_after, random_states)
        found = child_process.ask(run, _TIMEOUT_SECONDS)
        return found if isinstance(found, Resumed) else Resumed(error="no answer in time")


def resumable_in(value: Any, methods: StateMethods) -> Any:
    """What is resumed of what a callable returns: itself where it has the methods, else the DataLoader in it."""
    return value if methods.are_of(value) and isinstance(value, Iterable) else underlying_loader(value)


def _run_through(what: Resumable, seed: int, most: int, seconds: float) -> Uninterrupted:
    seed_child(seed)
    loader, taken = what.loader, what.methods.taken
    what.begin_anew(loader)
    stops: list[Stop] = []
    epochs, ended = [], []
    started, count = time.monotonic(), 0
    with _workers_stopped(loader):
        try:
            for number in range(2):
                deadline = 0.0
                batches: list[Batch] = []
                over = False
                for batch in loader:
                    # Starting takes no part in it: torchdata 0.11 takes 5 s for that under torch 2.4.
                    deadline = deadline or time.monotonic() + seconds / 2
                    batches.append(_parts(batch))
                    if len(batches) % _step(len(batches)) == 0:
                        stops.append(Stop(number, len(batches), taken(loader), random_states=global_states()))
                    if len(batches) >= most or time.monotonic() > deadline:
                        break
                else:
                    over = True
                    stops.append(Stop(number, len(batches), taken(loader), ended=True))
                count += len(batches)
                epochs.append(tuple(batches))
                ended.append(over)
                if not over:
                    break
        except Exception as error:
            return Uninterrupted((), (), (), 0.0, _named(error))
    return Uninterrupted(
        tuple(epochs), tuple(ended), tuple(stops), (time.monotonic() - started) / max(1, count)
    )  # fmt: skip


def _step(batches: int) -> int:
    step = 1
    while batches > _EVERY_STATE * step:
        step *= 2
    return step


def _parts(batch: Any) -> Batch:
    return tuple(map(leaves, batch if _is_list_of_samples(batch) else samples_in(batch)))


def _is_list_of_samples(batch: Any) -> bool:
    """Whether a batch is a list of many arrays alike, as ``torchdata.nodes.Batcher`` makes it, rather than columns."""
    if type(batch) is not list or len(batch) < _MANY:
        return False
    return len({(type(each), getattr(each, "dtype", None), getattr(each, "shape", None)) for each in batch}) == 1


def _resume(what: Resumable, stop: Stop, most: int, again_after: int, random_states: bool) -> Resumed:
    seed_child(1000 + stop.batches)
    try:
        made = what.loader if what.build is None else resumable_in(what.build(), what.methods)
    except Exception as error:
        return Resumed(error=_named(error))
    what.begin_anew(made)
    epochs: list[tuple[Batch, ...]] = []
    state = b""
    with _workers_stopped(made):
        try:
            what.methods.loaded(made, stop.state)
            if random_states:
                restore_global(stop.random_states)
            left = most
            for _ in range(2):
                batches: list[Batch] = []
                for batch in itertools.islice(made, left):
                    batches.append(_parts(batch))
                    if not epochs and len(batches) == again_after:
                        state = what.methods.taken(made)
                epochs.append(tuple(batches))
                left -= len(batches)
                if left <= 0:
                    break
        except Exception as error:
            return Resumed(error=_named(error))
    return Resumed(tuple(epochs), state=state)


def _named(error: Exception) -> str:
    text, place = worker_errors.told(error).removesuffix(": "), worker_errors.place(error)
    return f"{text} ({place})" if place else text


_LEFT_TO_PARENT: list[Any] = []
"""Iterators of the parent process: dropped, they would end its workers."""


def _loaders(loader: Any) -> list[Any]:
    """The DataLoaders that make the batches: that one itself, and those inside it."""
    if is_dataloader(loader):
        return [loader, *sampling.loaders_inside(loader)]
    inner = Stream(lambda: iter(loader), "", loader).inner
    return [] if inner is None else [inner]


@contextlib.contextmanager
def _workers_stopped(loader: Any) -> Iterator[None]:
    """In a child: leave no workers behind, who would live until they miss their parent."""
    made: list[Any] = []
    for each in _loaders(loader)[:1]:
        torch_private.watch_iterators(each, made.append)
    try:
        yield
    finally:
        for iterator in made:
            with contextlib.suppress(Exception):
                shut_down(iterator)


@dataclass(frozen=True, slots=True)
class Overhead:
    """CPU time of taking snapshots every so many steps, as a share of running without any: median and least."""

    every_n_steps: int
    share: float
    least: float


def snapshot_overhead(loader: Any, every: int, *, batches: int, rounds: int = 5) -> Overhead | None:
    """Run the loader with and without snapshots in turn, each in a child; None where that cannot be done."""
    ratios = []
    for _ in range(rounds):
        without, having = (
            child_process.ask(functools.partial(_cpu_seconds, loader, steps, batches), _TIMEOUT_SECONDS)
            for steps in (_NO_SNAPSHOTS, every)
        )
        if not without or not having:
            return None
        ratios.append(having / without - 1)
    ratios.sort()
    return Overhead(every, round(ratios[len(ratios) // 2], 3), round(ratios[0], 3))


def _cpu_seconds(loader: Any, every: int, batches: int) -> float:
    """CPU time of this child and of its workers for some batches; what starting the workers takes is in it."""
    seed_child(3)
    loader.snapshot_every_n_steps = every
    started = time.process_time()
    with _workers_stopped(loader):
        for _ in itertools.islice(itertools.chain(loader, loader), batches):
            pass
    workers = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() - started + workers.ru_utime + workers.ru_stime
