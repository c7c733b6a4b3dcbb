"""Healthy loaders with the shapes that libraries give them; each reads 96 rows an epoch."""

from __future__ import annotations

import contextlib
import multiprocessing.context
import queue
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, IterableDataset, RandomSampler, get_worker_info

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SIZE, BATCH = 96, 8


class Noise(Dataset[Any]):
    """Rows with noise."""

    def __len__(self) -> int:
        return SIZE

    def __getitem__(self, index: Any) -> torch.Tensor:
        return torch.rand(4) + torch.as_tensor(index).reshape(-1, 1)


class Forever:
    """A batch sampler that starts again by itself."""

    def __init__(self, sampler: Any) -> None:
        self.sampler = sampler

    def __iter__(self) -> Iterator[Any]:
        while True:
            yield from self.sampler


class OneIterator(DataLoader[Any]):
    """Keeps one iterator for all epochs, made with it (``eager``) or for its first epoch."""

    def __init__(self, *, eager: bool, **options: Any) -> None:
        super().__init__(Noise(), BATCH, shuffle=True, num_workers=2, **options)
        object.__setattr__(self, "batch_sampler", Forever(self.batch_sampler))
        self.kept = super().__iter__() if eager else None

    def __len__(self) -> int:
        return len(self.batch_sampler.sampler)  # type: ignore[union-attr]  # Forever has one

    def __iter__(self) -> Any:
        if self.kept is None:
            self.kept = super().__iter__()
        for _ in range(len(self)):
            yield next(self.kept)


class Remembers(DataLoader[Any]):
    """Holds the iterator of its last epoch, and makes a new one for each."""

    last: Any = None

    def __iter__(self) -> Any:
        self.last = super().__iter__()
        return self.last


class CountsItself(DataLoader[Any]):
    """Asks for as many batches as an epoch has."""

    def __iter__(self) -> Any:
        batches = super().__iter__()
        for _ in range(SIZE // BATCH):
            yield next(batches)


FILLING: list[tuple[threading.Thread, queue.Queue[Any]]] = []
"""The threads that were started to take batches ahead, each with its queue."""


def let_threads_end(seconds: float = 10.0) -> None:
    """Take what threads wait to hand over, so that none keeps batches any more."""
    deadline = time.monotonic() + seconds
    while FILLING:
        thread, made = FILLING.pop()
        while thread.is_alive() and time.monotonic() < deadline:
            with contextlib.suppress(queue.Empty):
                made.get(timeout=0.01)
        with contextlib.suppress(queue.Empty):
            while True:
                made.get_nowait()


class _Filled:
    """Batches that a thread puts into a queue; it waits for ever for what comes after the last one."""

    def __init__(self, batches: Any) -> None:
        self.made: queue.Queue[Any] = queue.Queue(2)
        self.batches = batches
        thread = threading.Thread(target=self._fill, daemon=True)
        FILLING.append((thread, self.made))
        thread.start()

    def _fill(self) -> None:
        for batch in self.batches:
            self.made.put(batch)
        self.made.put(None)

    def __iter__(self) -> _Filled:
        return self

    def __next__(self) -> Any:
        batch = self.made.get()
        if batch is None:
            raise StopIteration
        return batch


class TakenAhead(DataLoader[Any]):
    """A thread of this process takes batches ahead; one of an epoch that is left early keeps them for ever."""

    def __iter__(self) -> Any:
        return _Filled(super().__iter__())


class CollatesItself(DataLoader[Any]):
    """Is its own collate function, as loaders of events are."""

    def __init__(self) -> None:
        super().__init__(Noise(), BATCH, shuffle=True, num_workers=2, collate_fn=self)

    def __call__(self, samples: list[torch.Tensor]) -> torch.Tensor:
        return torch.stack(samples)


class _Thread(threading.Thread):
    """What torch takes for a process."""

    @property
    def pid(self) -> int:
        return id(self)


class _Threads(multiprocessing.context.SpawnContext):
    """A context that makes threads of workers."""

    class Process(_Thread):
        """A worker."""

    class Queue(queue.Queue[Any]):
        """A queue that nothing travels through."""

        def close(self) -> None:
            """As a queue of processes."""

        def cancel_join_thread(self) -> None:
            """As a queue of processes."""


class Batches:
    """A batch sampler that gives batches of any type."""

    def __init__(self, convert: Callable[[torch.Tensor], Any]) -> None:
        self.convert = convert

    def __len__(self) -> int:
        return SIZE // BATCH

    def __iter__(self) -> Iterator[Any]:
        return map(self.convert, torch.split(torch.randperm(SIZE), BATCH))


@dataclass
class Cut:
    """An index that is no key: what it holds cannot be hashed, and it prints as all others do."""

    rows: list[int]

    def __repr__(self) -> str:
        return "Cut"


class OfCuts(Noise):
    """Is asked for what a cut holds."""

    def __getitem__(self, index: Any) -> torch.Tensor:
        return super().__getitem__(index.rows)


class OfSets(Noise):
    """Is asked for a set of indices at once."""

    def __getitem__(self, index: Any) -> torch.Tensor:
        return super().__getitem__(sorted(index))


class OfPairs(Noise):
    """Is asked for a pair."""

    def __getitem__(self, index: Any) -> torch.Tensor:
        return super().__getitem__(index[0])


class NotInstalled:
    """Stands for an optional library: whatever is asked of it raises."""

    def __getattr__(self, name: str) -> Any:
        raise ImportError(f"{name} needs a library that is not installed")


class Unopened(Mapping[str, Any]):
    """Stands for a store: to look at its values is to read them."""

    def __len__(self) -> int:
        return SIZE

    def __iter__(self) -> Iterator[str]:
        return (f"row {row}" for row in range(SIZE))

    def __getitem__(self, key: str) -> Any:
        raise OSError(f"{key} is not there")


class Holding(Noise):
    """Holds what nobody but itself may ask anything of."""

    def __init__(self) -> None:
        self.library, self.libraries, self.store = NotInstalled(), [NotInstalled()], Unopened()


def numpy_batch(rows: torch.Tensor) -> Any:
    """An array as a batch of indices."""
    return np.asarray(rows)


def sampled(dataset: Any, convert: Callable[[torch.Tensor], Any]) -> DataLoader[Any]:
    """A loader whose sampler's items are asked for one by one."""
    return DataLoader(dataset, batch_size=None, sampler=Batches(convert), num_workers=2)


class WholeBatches(IterableDataset[Any]):
    """Makes batches itself; each worker orders them in its own way, and all read ``shared`` rows or their own."""

    def __init__(self, *, shared: bool) -> None:
        self.shared = shared

    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        worker, workers = (info.id, info.num_workers) if info else (0, 1)
        order = torch.randperm(SIZE, generator=torch.Generator().manual_seed(worker))
        own = order if self.shared else order[order % workers == worker]
        for rows in torch.split(own, BATCH):
            yield {"row": rows, "name": [f"row {int(row)}" for row in rows], "more": {"twice": 2 * rows}}


HEALTHY: dict[str, Callable[[], DataLoader[Any]]] = {
    "one iterator": lambda: OneIterator(eager=True),
    "one iterator, made late": lambda: OneIterator(eager=False),
    "one iterator, drop_last": lambda: OneIterator(eager=True, drop_last=True),
    "remembers its iterator": lambda: Remembers(Noise(), BATCH, shuffle=True, num_workers=2),
    "counts its batches itself": lambda: CountsItself(Noise(), BATCH, shuffle=True, num_workers=2),
    "collates its batches itself": CollatesItself,
    "taken ahead by a thread": lambda: TakenAhead(Noise(), BATCH, shuffle=True, num_workers=2),
    "workers are threads": lambda: DataLoader(Noise(), BATCH, True, num_workers=2, multiprocessing_context=_Threads()),
    "batches of arrays": lambda: DataLoader(Noise(), batch_sampler=Batches(numpy_batch), num_workers=2),
    "batches of tensors": lambda: DataLoader(Noise(), batch_sampler=Batches(torch.clone), num_workers=2),
    "sampler of batches": lambda: DataLoader(
        Noise(), batch_size=None, sampler=BatchSampler(RandomSampler(range(SIZE)), BATCH, False), num_workers=2
    ),
    "pairs as indices": lambda: sampled(OfPairs(), lambda rows: (int(rows[0]), "train")),
    "cuts as indices": lambda: sampled(OfCuts(), lambda rows: Cut(rows.tolist())),
    "sets as indices": lambda: sampled(OfSets(), lambda rows: frozenset(rows.tolist())),
    "holds a missing library and a store": lambda: DataLoader(Holding(), BATCH, shuffle=True, num_workers=2),
    "whole batches": lambda: DataLoader(WholeBatches(shared=False), batch_size=None, num_workers=2),
}  # fmt: skip
