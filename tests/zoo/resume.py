"""Loaders that do not resume where they were stopped; and twins that do."""

from __future__ import annotations

import functools
import random
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch.utils.data import DataLoader, IterableDataset, Sampler, get_worker_info
from torchdata.stateful_dataloader import StatefulDataLoader  # type: ignore[import-untyped]  # no py.typed

from tests.zoo.order import Rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SIZE = 40


class Case(NamedTuple):
    """A loader; for a faulty one how stops go wrong."""

    make: Callable[[], DataLoader[Any]]
    outcome: str = ""


class Augmented(Rows):
    def __getitem__(self, index: int) -> Any:
        return {"row": index, "image": index + random.random()}


class Random(Rows):
    def __getitem__(self, _index: int) -> Any:
        return random.random()


class Stream(IterableDataset[Any]):
    """Rows of a worker, without a state: the loader reads them again up to where it was."""

    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        return iter(range(SIZE)[info.id :: info.num_workers] if info else range(SIZE))


class StatefulStream(Stream):
    """Keeps its position. ``off_by`` is added to it when it is restored."""

    def __init__(self, off_by: int = 0, forgets: bool = False, lazy: bool = False) -> None:
        self.off_by, self.forgets, self.lazy = off_by, forgets, lazy
        self.at = 0
        self.resumed = False

    def __iter__(self) -> Iterator[Any]:
        if not self.lazy:
            self.start_over()
        return self.rest(list(super().__iter__()))

    def start_over(self) -> None:
        if not self.resumed:
            self.at = 0
        self.resumed = False

    def rest(self, rows: list[Any]) -> Iterator[Any]:
        if self.lazy:  # only once the first row is asked for: a state taken before is of the epoch that is over
            self.start_over()
        while self.at < len(rows):
            self.at += 1
            yield rows[self.at - 1]

    def state_dict(self) -> dict[str, Any]:
        return {"at": 0 if self.forgets else self.at}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.at = max(0, state["at"] + self.off_by) if state["at"] else 0
        self.resumed = True


class Raises(StatefulStream):
    def load_state_dict(self, state: dict[str, Any]) -> None:
        raise KeyError(f"no shard {state['at']}")


class ByGlobalState(Sampler[int]):
    """A permutation that depends on what nobody saves; ``seed`` makes it the same in every process."""

    def __init__(self, seed: int | None = None) -> None:
        self.seed = seed

    def __iter__(self) -> Iterator[int]:
        own = None if self.seed is None else torch.Generator().manual_seed(self.seed)
        yield from torch.randperm(SIZE, generator=own).tolist()

    def __len__(self) -> int:
        return SIZE


class Counting(DataLoader[Any]):
    """A state of its own: how many batches it gave. ``late`` counts them when they are asked for again."""

    late = False

    def __init__(self, *given: Any, **settings: Any) -> None:
        super().__init__(*given, **settings)
        self.given = self.skip = 0

    def __iter__(self) -> Any:
        skip, self.skip, self.given = self.skip, 0, 0
        for batch in super().__iter__():
            if not self.late:
                self.given += 1
            if self.given > skip or (self.late and self.given >= skip):
                yield batch
            if self.late:
                self.given += 1
        self.given = 0

    def state_dict(self) -> dict[str, int]:
        return {"given": self.given}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.skip = state["given"]


class CountingLate(Counting):
    late = True


def make(dataset: Callable[[], Any], **settings: Any) -> Callable[[], Any]:
    return lambda: StatefulDataLoader(dataset(), **{"batch_size": 4, **settings})


rows = functools.partial(Rows, SIZE)
WORKERS: dict[str, Any] = {"num_workers": 2}
PERSISTENT: dict[str, Any] = {"num_workers": 2, "persistent_workers": True}

FAULTS = {
    "stream that forgets": Case(make(functools.partial(StatefulStream, forgets=True)), "repeats"),
    "stream that forgets, workers": Case(make(functools.partial(StatefulStream, forgets=True), **WORKERS), "differs"),
    "stream that resumes too late": Case(make(functools.partial(StatefulStream, off_by=4)), "skips"),
    "stream that starts over late, persistent": Case(
        make(functools.partial(StatefulStream, lazy=True), **PERSISTENT), "differs"
    ),
    "stream that raises": Case(make(Raises), "raises"),
    "a count taken too late": Case(lambda: CountingLate(rows(), 4), "repeats"),
}

CLEAN = {
    "in order": Case(make(rows)),
    "shuffled": Case(make(rows, shuffle=True)),
    "shuffled, workers": Case(make(rows, shuffle=True, **WORKERS)),
    "shuffled, persistent": Case(make(rows, shuffle=True, **PERSISTENT)),
    "rare snapshots": Case(make(rows, shuffle=True, snapshot_every_n_steps=3, **WORKERS)),
    "augmented": Case(make(functools.partial(Augmented, SIZE), shuffle=True)),
    "own permutation": Case(make(rows, sampler=ByGlobalState(1))),
    "stream without a state": Case(make(Stream)),
    "stream without a state, workers": Case(make(Stream, **WORKERS)),
    "stream with a state": Case(make(StatefulStream)),
    "stream that starts over late": Case(make(functools.partial(StatefulStream, lazy=True))),
    "stream with a state, persistent": Case(make(StatefulStream, **PERSISTENT)),
    "a count of its own": Case(lambda: Counting(rows(), 4)),
}

UNTOLD = {
    "plain": (lambda: DataLoader(rows(), 4), "has no state_dict"),
    "random throughout": (make(functools.partial(Random, SIZE)), "cannot be told from another"),
    "permutation of the global state": (make(rows, sampler=ByGlobalState()), "cannot be told from another"),
}
