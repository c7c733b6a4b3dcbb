"""Ranks without a process group: what a loader would read as rank R of W, found out in forked children."""

from __future__ import annotations

import copy
import functools
import inspect
import itertools
import os
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pytest_dataloader.errors import NothingSeen, NotMeasured
from pytest_dataloader.probe.host import child_process
from pytest_dataloader.probe.internals import torch_pretence, torch_private
from pytest_dataloader.probe.loader.coordination import workers_meet
from pytest_dataloader.probe.loader.counting import samples_in
from pytest_dataloader.probe.loader.positions import holds_indices, indices_in, length_of
from pytest_dataloader.probe.loader.sampling import (
    RANK_NAMES,
    WORLD_NAMES,
    inner_sampler,
    is_distributed,
    total_size_of,
    what_takes_epochs,
)
from pytest_dataloader.probe.loader.stream import underlying_loader
from pytest_dataloader.probe.samples.digests import digest
from pytest_dataloader.probe.samples.generators import seed_child
from pytest_dataloader.probe.samples.journal import plain_index
from pytest_dataloader.probe.samples.partition import View, differ

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_dataloader.probe.samples.evidence import How

VIEW_SECONDS = 2.0
"""Budget of one rank's view; two epochs of 50,000 indices take 0.05 s."""
_GLANCE_SECONDS = 0.5
"""Whether two ranks read the same shows at the beginning of their shares; one sample of each is read at the least."""
_TIMEOUT_SECONDS = 20.0
_MOST = 2_000_000


@dataclass(frozen=True, slots=True)
class Simulation:
    """A loader whose ranks are simulated. ``build`` is the user's callable, if there is one."""

    loader: Any
    build: Callable[..., Any] | None
    how: How
    by_content: bool = False
    """Whether indexed samples are told by what they hold: datasets of different ranks may number theirs alike."""

    def view(self, rank: int, world: int, *, seconds: float, same_seeds: bool = False) -> View:
        """What rank ``rank`` of ``world`` reads; random states are other ones on each rank, unless asked otherwise."""
        iterable = torch_private.reads_by_iteration(self.loader)
        workers = max(1, self.loader.num_workers) if iterable else 1

        def look(worker: int) -> View:
            try:
                return self._look(rank, world, worker, seconds / workers, 0 if same_seeds else 1 + rank)
            except Exception as error:  # the user's code, as this rank
                return View(error=f"{type(error).__name__}: {error}")

        views = [child_process.ask(functools.partial(look, worker), _TIMEOUT_SECONDS) for worker in range(workers)]
        missing = View(error="no answer in time")
        parts = [missing if view is None else view for view in views]
        error = next((part.error for part in parts if part.error), "")
        epochs = zip(*(part.epochs for part in parts), strict=False)
        return View(
            tuple(tuple(itertools.chain.from_iterable(of_workers)) for of_workers in epochs),
            sum(part.batches for part in parts),
            tuple(len(part.epochs[0]) if part.epochs else 0 for part in parts),
            all(part.complete for part in parts),
            parts[0].seed,
            error,
            max(part.largest_batch for part in parts),
            parts[0].total_size,
        )  # fmt: skip

    def base_seeds(self, world: int) -> tuple[int | None, ...]:
        """What seeds the workers of each rank; None where a rank's code raised."""
        return tuple(
            child_process.ask(functools.partial(self._base_seed, rank, world), _TIMEOUT_SECONDS)
            for rank in range(world)
        )

    def _base_seed(self, rank: int, world: int) -> int:
        seed_child(1 + rank)
        os.environ.update(_environment(rank, world))
        return _drawn_seed(self._made(rank, world))

    def _look(self, rank: int, world: int, worker: int, seconds: float, seed: int) -> View:
        """In a child of its own: be that rank."""
        seed_child(seed)
        os.environ.update(_environment(rank, world))
        torch_pretence.pretend_rank(rank, world)
        loader = self._made(rank, world)
        base = _drawn_seed(loader)
        if torch_private.reads_by_iteration(loader):
            return _iterated(loader, worker, seconds, base)
        return _indexed(loader, seconds, base, self.by_content)

    def _made(self, rank: int, world: int) -> Any:
        if self.how == "sampler":
            return with_rank(self.loader, rank, world)
        if self.build is None:
            return self.loader
        return underlying_loader(self.build(**(rank_arguments(self.build, rank, world) or {})))


def simulate_ranks(loader: Any, build: Callable[..., Any] | None, *, insist: bool) -> Simulation:
    """How to tell a loader its rank: the first way that makes two ranks read different samples.

    Raises NotMeasured where none does, unless asked to ``insist``.
    """
    if workers_meet(loader):
        raise NotMeasured(
            "the processes of its dataset wait for each other in shared memory: no rank can be simulated alone"
        )
    if build is not None and rank_arguments(build, 0, 1) is not None:
        return Simulation(loader, build, "arguments")
    if build is None and is_distributed(loader):
        return Simulation(loader, None, "sampler")
    told = Simulation(loader, build, "environment")
    try:
        unsharded = _reads_alike(told)
    except NotMeasured:
        if is_distributed(loader):  # its sampler may be made anew though the rest cannot
            return Simulation(loader, None, "sampler")
        raise
    if unsharded and not torch_private.reads_by_iteration(loader):
        told = replace(told, by_content=True)
        unsharded = _reads_alike(told)
    if not unsharded or insist:
        return told
    if is_distributed(loader):
        return Simulation(loader, None, "sampler")
    raise NotMeasured(
        "no sharding by rank. To test it, name a callable that takes rank and world_size, or set world_size = N"
    )


def _reads_alike(told: Simulation) -> bool:
    first = told.view(0, 2, seconds=_GLANCE_SECONDS, same_seeds=True)
    if first.error:
        raise NotMeasured(f"as rank 0 of 2 it raised {first.error}")
    views = [first, told.view(1, 2, seconds=_GLANCE_SECONDS, same_seeds=True)]
    if not any(view.epochs and view.epochs[0] for view in views):
        raise NothingSeen("as rank 0 of 2 it gives no sample: the epoch is empty")
    return not differ(views)


def rank_arguments(function: Callable[..., Any], rank: int, world: int) -> dict[str, int] | None:
    """The arguments by which a callable is told its rank; None where it takes none."""
    try:
        names = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return None
    taken = {name: rank for name in RANK_NAMES if name in names} | {
        name: world for name in WORLD_NAMES if name in names
    }
    return taken if any(name in names for name in RANK_NAMES) else None


def with_rank(loader: Any, rank: int, world: int) -> Any:
    """A shallow copy of a loader whose distributed sampler is that of another rank.

    Raises TypeError for a sampler that cannot be made anew from its own attributes.
    """
    sampler = inner_sampler(loader)
    named = {**dict.fromkeys(RANK_NAMES, rank), **dict.fromkeys(WORLD_NAMES, world)}
    settings: dict[str, Any] = {}
    for name, parameter in inspect.signature(type(sampler)).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        value = named.get(name, getattr(sampler, name, getattr(sampler, f"_{name}", parameter.default)))
        if value is inspect.Parameter.empty:
            raise TypeError(f"{type(sampler).__name__} cannot be made anew: it keeps no attribute {name!r}")
        settings[name] = value
    other = type(sampler)(**settings)
    made = torch_private.shallow_copy(loader)
    torch_private.forget_iterations(made)
    vars(made).update({name: _replaced(vars(made).get(name), sampler, other) for name in ("sampler", "batch_sampler")})
    return made


def _replaced(outer: Any, sampler: Any, other: Any) -> Any:
    """A chain of samplers with its innermost one replaced."""
    if outer is sampler:
        return other
    if not hasattr(outer, "__dict__") or "sampler" not in vars(outer):
        return outer
    outer = copy.copy(outer)
    outer.sampler = _replaced(outer.sampler, sampler, other)
    return outer


def _indexed(loader: Any, seconds: float, seed: int, by_content: bool) -> View:
    epochs, batches, complete, largest = [], 0, True, 1
    for epoch in range(2):
        for part in what_takes_epochs(loader).values():
            part.set_epoch(epoch)
        deadline = time.monotonic() + seconds / 2
        found: list[Any] = []
        for each in torch_private.index_sampler(loader):
            batches += epoch == 0
            indices = indices_in(each, many=torch_private.reads_batches(loader), size=length_of(loader.dataset))
            largest = max(largest, len(indices))
            found += _contents(loader, each, indices) if by_content else map(plain_index, indices)
            if time.monotonic() > deadline or len(found) >= _MOST:
                complete = False
                break
        epochs.append(tuple(found))
    total_size = total_size_of(loader)
    return View(tuple(epochs), batches, (len(epochs[0]),), complete, seed, largest_batch=largest, total_size=total_size)


def _contents(loader: Any, given: Any, indices: Sequence[Any]) -> list[str]:
    """Digests of the samples at what the index sampler gave; a dataset that takes many indices at once is asked so."""
    if torch_private.reads_batches(loader):
        return [digest(loader.dataset[index]) for index in indices]
    made = loader.dataset[given]
    return [digest(sample) for sample in (samples_in(made) if holds_indices(given, many=False) else (made,))]


def _iterated(loader: Any, worker: int, seconds: float, seed: int) -> View:
    """What one worker of a rank reads."""
    dataset = loader.dataset
    if loader.num_workers:
        torch_pretence.pretend_worker(worker, loader.num_workers, seed + worker, dataset)
        if loader.worker_init_fn is not None:
            loader.worker_init_fn(worker)
    epochs: list[tuple[str, ...]] = []
    complete, given = True, 0
    whole = torch_private.iterates_batches(loader)
    for epoch in range(2):
        for part in what_takes_epochs(loader).values():
            part.set_epoch(epoch)
        deadline = time.monotonic() + seconds / 2
        found: list[str] = []
        for sample in itertools.islice(iter(dataset), _MOST):
            given += not epochs
            found += map(digest, samples_in(sample) if whole else (sample,))
            if time.monotonic() > deadline:
                complete = False
                break
        epochs.append(tuple(found))
    size = loader.batch_size or 1
    batches = given // size if loader.drop_last else -(-given // size)
    return View(tuple(epochs), batches, (), complete, seed)


def _drawn_seed(loader: Any) -> int:
    """What torch would seed the next workers with."""
    import torch

    return int(torch.empty((), dtype=torch.int64).random_(generator=loader.generator).item())


def _environment(rank: int, world: int) -> dict[str, str]:
    """What torchrun tells a process of a single machine."""
    told = {
        "RANK": rank,
        "WORLD_SIZE": world,
        "LOCAL_RANK": rank,
        "LOCAL_WORLD_SIZE": world,
        "GROUP_RANK": 0,
    }
    return {name: str(value) for name, value in told.items()}
