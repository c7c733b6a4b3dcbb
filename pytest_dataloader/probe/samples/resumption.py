"""A run with its states along the way, and what fresh processes make of each state."""

from __future__ import annotations

import contextlib
import functools
import itertools
import pickle
import resource
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.host import child_process
from pytest_dataloader.probe.internals import torch_private
from pytest_dataloader.probe.loader import sampling
from pytest_dataloader.probe.loader.borrowing import shut_down
from pytest_dataloader.probe.loader.stream import underlying_loader
from pytest_dataloader.probe.samples.digests import leaves
from pytest_dataloader.probe.samples.generators import seed_child

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Batch = dict[str, str]
"""The digests of a batch's parts by their path."""

_TIMEOUT_SECONDS = 30.0
_NO_SNAPSHOTS = 10**9


@dataclass(frozen=True, slots=True)
class Stop:
    """A state taken after ``batches`` of an epoch; ``ended`` once the epoch had said that it was over."""

    epoch: int
    batches: int
    state: bytes
    ended: bool = False


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
    """What came after ``load_state_dict``, epoch by epoch."""

    epochs: tuple[tuple[Batch, ...], ...] = ()
    error: str = ""


def run_through(loader: Any, *, seed: int, most: int, seconds: float) -> Uninterrupted:
    """Run two epochs in a forked child, each for ``most`` batches or half of ``seconds``, taking a state after each."""
    found = child_process.ask(functools.partial(_run_through, loader, seed, most, seconds), _TIMEOUT_SECONDS)
    return found if isinstance(found, Uninterrupted) else Uninterrupted((), (), (), 0.0, "the loader did not answer")


def resume(loader: Any, build: Callable[[], Any] | None, stop: Stop, *, most: int) -> Resumed:
    """Load a state in a fresh process, with other random states, and take ``most`` batches or two epochs.

    The process is forked from this one, whose loader has not been iterated; ``build`` makes the loader anew.
    """
    found = child_process.ask(functools.partial(_resume, loader, build, stop, most), _TIMEOUT_SECONDS)
    return found if isinstance(found, Resumed) else Resumed(error="no answer in time")


def _run_through(loader: Any, seed: int, most: int, seconds: float) -> Uninterrupted:
    seed_child(seed)
    _begin_anew(loader)
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
                    batches.append(leaves(batch))
                    stops.append(Stop(number, len(batches), pickle.dumps(loader.state_dict())))
                    if len(batches) >= most or time.monotonic() > deadline:
                        break
                else:
                    over = True
                    stops.append(Stop(number, len(batches), pickle.dumps(loader.state_dict()), ended=True))
                count += len(batches)
                epochs.append(tuple(batches))
                ended.append(over)
                if not over:
                    break
        except Exception as error:
            return Uninterrupted((), (), (), 0.0, f"{type(error).__name__}: {error}")
    return Uninterrupted(
        tuple(epochs), tuple(ended), tuple(stops), (time.monotonic() - started) / max(1, count)
    )  # fmt: skip


def _resume(loader: Any, build: Callable[[], Any] | None, stop: Stop, most: int) -> Resumed:
    seed_child(1000 + stop.batches)
    try:
        made = loader if build is None else underlying_loader(build())
    except Exception as error:
        return Resumed(error=f"{type(error).__name__}: {error}")
    _begin_anew(made)
    epochs: list[tuple[Batch, ...]] = []
    with _workers_stopped(made):
        try:
            made.load_state_dict(pickle.loads(stop.state))
            left = most
            for _ in range(2):
                epochs.append(tuple(leaves(batch) for batch in itertools.islice(made, left)))
                left -= len(epochs[-1])
                if left <= 0:
                    break
        except Exception as error:
            return Resumed(error=f"{type(error).__name__}: {error}")
    return Resumed(tuple(epochs))


_LEFT_TO_PARENT: list[Any] = []
"""Iterators of the parent process: dropped, they would end its workers."""


def _begin_anew(loader: Any) -> None:
    """In a child: forget iterators of the parent, as accelerate makes one to ask a StatefulDataLoader for its state."""
    for each in (loader, *sampling.loaders_inside(loader)):
        _LEFT_TO_PARENT.extend(value for value in vars(each).values() if torch_private.is_iterator(value))
        torch_private.forget_iterations(each)


@contextlib.contextmanager
def _workers_stopped(loader: Any) -> Iterator[None]:
    """In a child: leave no workers behind, who would live until they miss their parent."""
    made: list[Any] = []
    torch_private.watch_iterators(loader, made.append)
    try:
        yield
    finally:
        for iterator in made:
            with contextlib.suppress(Exception):
                shut_down(iterator)


def stable_parts(one: Uninterrupted, other: Uninterrupted) -> frozenset[str] | None:
    """Paths of the parts of batches that other random states do not change; None where nothing can be compared."""
    pairs = list(zip(one.epochs[0], other.epochs[0], strict=False)) if one.epochs and other.epochs else []
    if not pairs:
        return None
    paths = set(pairs[0][0])
    for ours, theirs in pairs:
        paths = {path for path in paths if path in ours and ours.get(path) == theirs.get(path)}
    return frozenset(paths) or None


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
