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

    make: Callable[[], Any]
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


class CountingAnew(Counting):
    """Counts the batches since it was resumed."""

    def __iter__(self) -> Any:
        skip, self.skip, self.given = self.skip, 0, 0
        for number, batch in enumerate(DataLoader.__iter__(self)):
            if number >= skip:
                self.given += 1
                yield batch
        self.given = 0


class ByEpoch(Counting):
    """Shuffled by the epoch, which is kept in the state."""

    def __init__(self, *given: Any, **settings: Any) -> None:
        super().__init__(*given, **settings, shuffle=True, generator=torch.Generator())
        self.epoch = 0

    def __iter__(self) -> Any:
        self.generator.manual_seed(self.epoch)
        yield from super().__iter__()
        self.epoch += 1

    def state_dict(self) -> dict[str, int]:
        return {**super().state_dict(), "epoch": self.epoch}

    def load_state_dict(self, state: dict[str, int]) -> None:
        super().load_state_dict(state)
        self.epoch = state["epoch"]


class Pipeline:
    """No DataLoader: batches of an order of its own, by the epoch, which it may forget."""

    def __init__(self, forgets_epoch: bool = False) -> None:
        self.forgets_epoch = forgets_epoch
        self.epoch = self.given = self.skip = 0

    def __iter__(self) -> Iterator[Any]:
        order = torch.randperm(SIZE, generator=torch.Generator().manual_seed(self.epoch))
        self.given, self.skip = self.skip, 0
        for at in range(4 * self.given, SIZE, 4):
            self.given += 1
            yield {"row": order[at : at + 4]}
        self.epoch, self.given = self.epoch + 1, 0

    def state_dict(self) -> dict[str, int]:
        return {"given": self.given, "epoch": 0 if self.forgets_epoch else self.epoch}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.skip, self.epoch = state["given"], state["epoch"]


class WhatIsLeft:
    """Draws each batch from the rows that are left, which are its state."""

    def __init__(self) -> None:
        self.left: list[int] = []

    def __iter__(self) -> Iterator[Any]:
        self.left = self.left or list(range(SIZE))
        while self.left:
            random.shuffle(self.left)
            batch, self.left = self.left[:4], self.left[4:]
            yield torch.tensor(batch)

    def state_dict(self) -> dict[str, Any]:
        return {"left": list(self.left)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.left = list(state["left"])


class ByFirstSeed(Sampler[int]):
    """Shuffled by the seed that torch was given, which belongs to the random state."""

    def __iter__(self) -> Iterator[int]:
        yield from torch.randperm(SIZE, generator=torch.Generator().manual_seed(torch.initial_seed() % 1000)).tolist()

    def __len__(self) -> int:
        return SIZE


class Skipping(Sampler[int]):
    """A sampler that can be told where to go on."""

    def __init__(self) -> None:
        self.at = self.skip = 0

    def __len__(self) -> int:
        return SIZE

    def __iter__(self) -> Iterator[int]:
        self.at, self.skip = self.skip, 0
        while self.at < SIZE:
            self.at += 1
            yield self.at - 1

    def position(self) -> int:
        return self.at % SIZE

    def seek(self, position: int) -> None:
        self.skip = position


def skipping(workers: int) -> Callable[[], DataLoader[Any]]:
    return lambda: DataLoader(rows(), 4, sampler=Skipping(), num_workers=workers)


class OtherNames(Pipeline):
    """Its methods are called otherwise, and what it inherits is not what is meant."""

    def position(self) -> dict[str, int]:
        return Pipeline.state_dict(self)

    def seek(self, state: dict[str, int]) -> None:
        Pipeline.load_state_dict(self, state)

    def state_dict(self) -> dict[str, int]:
        raise NotImplementedError


def nodes(shuffle: bool) -> Any:
    """torchdata.nodes over a sampler that does not tell the epoch in its state."""
    from torchdata import nodes  # type: ignore[import-untyped]  # no py.typed
    from torchdata.stateful_dataloader.sampler import StatefulDistributedSampler  # type: ignore[import-untyped]  # as above

    sampler = StatefulDistributedSampler(rows(), num_replicas=1, rank=0, shuffle=shuffle)
    return nodes.Loader(nodes.Batcher(nodes.SamplerWrapper(sampler), batch_size=4))


def make(dataset: Callable[[], Any], **settings: Any) -> Callable[[], Any]:
    return lambda: StatefulDataLoader(dataset(), **{"batch_size": 4, **settings})


rows = functools.partial(Rows, SIZE)
WORKERS: dict[str, Any] = {"num_workers": 2}
PERSISTENT: dict[str, Any] = {"num_workers": 2, "persistent_workers": True}

FAULTS = {
    # What torchdata 0.11 skips of a stream without a state it counts once more: wrong when it is resumed again.
    "stream without a state": Case(make(Stream), "skips"),
    "stream without a state, workers": Case(make(Stream, **WORKERS), "raises"),
    "stream that forgets": Case(make(functools.partial(StatefulStream, forgets=True)), "repeats"),
    "stream that forgets, workers": Case(make(functools.partial(StatefulStream, forgets=True), **WORKERS), "differs"),
    "stream that resumes too late": Case(make(functools.partial(StatefulStream, off_by=4)), "skips"),
    "stream that starts over late, persistent": Case(
        make(functools.partial(StatefulStream, lazy=True), **PERSISTENT), "differs"
    ),
    "stream that raises": Case(make(Raises), "raises"),
    "permutation of the global state": Case(make(rows, sampler=ByGlobalState()), "twice"),
    "a count of another shuffle": Case(lambda: Counting(rows(), 4, shuffle=True), "twice"),
    "a count of another shuffle, workers": Case(lambda: Counting(rows(), 4, shuffle=True, num_workers=2), "twice"),
    "a count that begins anew": Case(lambda: CountingAnew(rows(), 4), "repeats"),
    "nodes that shuffle": Case(lambda: nodes(shuffle=True), "differs"),
    "a pipeline that forgets the epoch": Case(lambda: Pipeline(forgets_epoch=True), "differs"),
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
    "stream with a state": Case(make(StatefulStream)),
    "stream that starts over late": Case(make(functools.partial(StatefulStream, lazy=True))),
    "stream with a state, persistent": Case(make(StatefulStream, **PERSISTENT)),
    "a count of its own": Case(lambda: Counting(rows(), 4)),
    "shuffled by the epoch": Case(lambda: ByEpoch(rows(), batch_size=4)),
    "shuffled by the epoch, workers": Case(lambda: ByEpoch(rows(), batch_size=4, num_workers=2)),
    "shuffled by the epoch, the last dropped": Case(lambda: ByEpoch(rows(), batch_size=6, drop_last=True)),
    "a pipeline of its own": Case(Pipeline),
    "a shuffle of what is left": Case(WhatIsLeft),
    "nodes in order": Case(lambda: nodes(shuffle=False)),
}

LONG = Case(lambda: Counting(Rows(1000), 4, shuffle=True), "twice")
"""An epoch of 250 batches."""

UNSURE = {"by torch's first seed": Case(lambda: Counting(rows(), 4, sampler=ByFirstSeed()))}

RELOADED = {
    "a count of a stream": Case(lambda: Counting(Stream(), 4, num_workers=2), "twice"),
    "a count of a stream, one worker": Case(lambda: Counting(Stream(), 4, num_workers=1), "twice"),
    "a count of rows": Case(lambda: Counting(rows(), 4, num_workers=2)),
    "a count of rows, of a part": Case(lambda: Counting(Rows(4000), 4, num_workers=2)),
    "shuffled by the epoch": Case(lambda: ByEpoch(rows(), batch_size=4, num_workers=2)),
    "of torchdata": Case(make(rows, **WORKERS), "raises"),
    "of torchdata, a stream": Case(make(StatefulStream, **WORKERS), "raises"),
}
"""Loaders that go on exactly with their own number of workers; how they do with another."""

NAMED = {
    "a sampler that skips": (Case(skipping(0)), "sampler.position", "sampler.seek"),
    "a sampler that skips, asked ahead by workers": (Case(skipping(2), "skips"), "sampler.position", "sampler.seek"),
    "a pipeline with other names": (Case(OtherNames), "position", "seek"),
}
"""Loaders whose state is given and taken by other names."""

UNTOLD = {
    "plain": (lambda: DataLoader(rows(), 4), "has no state_dict"),
    "random throughout": (make(functools.partial(Random, SIZE)), "a resumed run cannot be compared"),
}
