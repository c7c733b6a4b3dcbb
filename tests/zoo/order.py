"""Loaders that lose, repeat or never reshuffle samples, or keep a stale dataset; and twins that do not."""

from __future__ import annotations

import itertools
import os
import random
import tempfile
import time
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    Sampler,
    SequentialSampler,
    Subset,
    SubsetRandomSampler,
    WeightedRandomSampler,
    get_worker_info,
)

from tests.zoo.case import Case

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SIZE = 96


class Rows(Dataset[Any]):
    def __init__(self, size: int = SIZE) -> None:
        self.rows = torch.arange(size)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> Any:
        return self.rows[index]


class Replacing(Rows):
    """A row late in the order cannot be read: another is drawn in its place."""

    def __getitem__(self, index: int) -> Any:
        return self[random.randrange(64)] if index == SIZE - 3 else self.rows[index]


class Slow(Rows):
    def __getitem__(self, index: int) -> Any:
        time.sleep(0.002)
        return self.rows[index]


class Noisy(Rows):
    def __getitem__(self, index: int) -> Any:
        return self.rows[index] + random.random()


class Stops(Rows):
    """An inner iterator that ends too soon."""

    def __getitem__(self, index: int) -> Any:
        return next(iter([self.rows[index]] if index != 50 else []))


class Guarded(Stops):
    def __getitem__(self, index: int) -> Any:
        return next(iter([self.rows[index]] if index != 50 else []), self.rows[index])


class Short(Rows):
    """Answers for fewer samples than it was asked for."""

    def __getitems__(self, indices: list[int]) -> list[Any]:
        return [self[index] for index in indices if index != 50]


class Whole(Rows):
    """Makes other samples by the batch than singly."""

    def __getitems__(self, indices: list[int]) -> list[Any]:
        return [("of a batch", self[index]) for index in indices]


class Once(Rows):
    """Makes the samples of a batch as they are asked for, which is once."""

    def __getitems__(self, indices: list[int]) -> Any:
        return (self.rows[index] for index in indices)


def listed(samples: Any) -> torch.Tensor:
    return torch.stack(list(samples))


class Columns(Rows):
    """Makes batches by columns, as a mapping or a pair; ``whole``: with a part that has no row for each index."""

    def __init__(self, kind: str = "mapping") -> None:
        super().__init__()
        self.kind = kind

    def __getitems__(self, indices: list[int]) -> Any:
        rows, labels = self.rows[indices], torch.tensor(indices)
        match self.kind:
            case "pair":
                return rows, labels
            case "whole":
                return {"rows": rows, "mean": rows.float().mean()}
        return {"rows": rows, "labels": labels, "names": list(map(str, indices))}


def as_they_are(batch: Any) -> Any:
    return batch


class Buffered(Rows):
    """Reads every sample into the same memory, or in turn into one of ``buffers``; with a label beside it."""

    def __init__(self, buffers: int = 1) -> None:
        super().__init__()
        self.buffers = torch.zeros(buffers, 4)

    def __getitem__(self, index: int) -> Any:
        buffer = self.buffers[index % len(self.buffers)]
        return buffer.fill_(index), index


class BufferedArray(Buffered):
    def __getitem__(self, index: int) -> Any:
        return {"row": super().__getitem__(index)[0].numpy(), "label": index}


class BufferedStream(IterableDataset[Any]):
    def __iter__(self) -> Iterator[Any]:
        buffer = torch.zeros(4)
        return (buffer.fill_(index) for index in range(SIZE))


class Copied(Buffered):
    """The same memory, of which samples are copies, beside a count and a constant that all samples share."""

    def __init__(self) -> None:
        super().__init__()
        self.shared = {"read": 0, "mask": torch.ones(4)}

    def __getitem__(self, index: int) -> Any:
        self.shared["read"] += 1  # type: ignore[operator]  # a number
        row, _ = super().__getitem__(index)
        return row.clone(), self.shared


def rows_alone(samples: list[Any]) -> torch.Tensor:
    return torch.stack([row for row, _ in samples])


def all_but_one(samples: list[Any]) -> torch.Tensor:
    return torch.stack(samples[1:])


def in_pairs(samples: list[Any]) -> torch.Tensor:
    return torch.stack(samples).view(2, -1).T.flip(0)[: len(samples) // 2]


class Gaps(Rows):
    """One in eight rows is missing."""

    def __getitem__(self, index: int) -> Any:
        return self.rows[index] if index % 8 else None


def without_gaps(samples: list[Any]) -> torch.Tensor:
    return torch.stack([sample for sample in samples if sample is not None])


class OwnFile(Rows):
    """Numbers in a file that each process opens for itself."""

    def __init__(self) -> None:
        super().__init__()
        self.file: Any = None
        number, self.path = tempfile.mkstemp()
        with os.fdopen(number, "wb") as file:
            file.write(b"".join(index.to_bytes(8, "little") for index in range(SIZE)))

    def __getitem__(self, index: int) -> Any:
        if self.file is None:
            self.file = open(self.path, "rb", buffering=0)  # noqa: PTH123, SIM115  # kept open on purpose
        self.file.seek(8 * index)
        time.sleep(0.0005)  # the other worker moves the position here
        return int.from_bytes(self.file.read(8), "little")

    def __del__(self) -> None:
        if self.file is not None:
            self.file.close()


class SharedFile(OwnFile):
    """The same, with one file for all forked workers."""

    def __init__(self) -> None:
        super().__init__()
        self.file = open(self.path, "rb", buffering=0)  # noqa: PTH123, SIM115  # kept open on purpose


class FixedOrder(Sampler[int]):
    """An order that looks shuffled and is always the same, or by ``step`` in turn; ``goes_on`` draws anew."""

    def __init__(self, order: str = "seeded") -> None:
        self.order = order
        self.dice = random.Random(7)
        self.drawn = random.Random(3).sample(range(SIZE), SIZE)

    def __len__(self) -> int:
        return SIZE

    def __iter__(self) -> Iterator[int]:
        match self.order:
            case "seeded":
                yield from torch.randperm(SIZE, generator=torch.Generator().manual_seed(7)).tolist()
            case "drawn once":
                yield from self.drawn
            case "goes on":
                yield from self.dice.sample(range(SIZE), SIZE)
            case "in turn":
                yield from (index for start in range(4) for index in range(start, SIZE, 4))


class Scaled(Rows):
    """Halves what it has stored, at each reading, ``how`` people do it; or a copy of it."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.how = how
        self.grids = torch.arange(float(SIZE * 4)).reshape(SIZE, 4)
        self.targets = [{"grid": grid.clone(), "label": at} for at, grid in enumerate(self.grids)]
        self.kept: dict[int, Any] = {}

    def __getitem__(self, index: int) -> Any:
        target = self.targets[index]
        match self.how:
            case "row":
                return self.grids[index].div_(2).flip(0)
            case "record":
                target["grid"] /= 2
                return target["grid"].double()
            case "key":
                target["grid"] = target["grid"] / 2
                return target["grid"]
            case "position":
                self.targets[index] = {**target, "grid": target["grid"] / 2}
                return self.targets[index]["grid"]
            case "cache":
                grid = self.kept.setdefault(index, self.grids[index].clone())
                grid /= 2
                return grid
        return target["grid"] / 2


class Counting(Scaled):
    """Counts its readings, keeps what it has read, and moves samples by a generator of its own."""

    def __init__(self) -> None:
        super().__init__("copy")
        self.rng = random.Random(0)
        self.readings = torch.zeros(SIZE)
        self.all_readings = 0

    def __getitem__(self, index: int) -> Any:
        self.readings[index] += 1
        self.all_readings += 1
        self.kept[index] = self.grids[index] + self.rng.random()
        return self.kept[index]


class InTurn(Rows):
    """Gives another view of a row at each reading."""

    def __init__(self) -> None:
        super().__init__()
        self.turns = torch.zeros(SIZE, dtype=torch.int64)

    def __getitem__(self, index: int) -> Any:
        self.turns[index] += 1
        return self.rows[index] * 1000 + self.turns[index]


class Named(Rows):
    """Rows with names, in the order of a set or sorted, or numbered as classes."""

    def __init__(self, *, ordered: bool, classes: bool = False) -> None:
        super().__init__()
        names = {f"{number:03}.jpg" for number in range(SIZE)}
        self.names = sorted(names) if ordered or classes else list(names)
        self.known = names
        if classes:
            self.number_of = {name: number for number, name in enumerate(sorted(names) if ordered else names)}

    def __getitem__(self, index: int) -> Any:
        return len(self.names[index]) + self.rows[index]


class Reshuffling(Rows):
    """Shuffles itself when its first row is asked for: in whichever worker that is; ``once``: never."""

    def __init__(self, *, once: bool = False) -> None:
        super().__init__()
        self.order = list(range(SIZE))
        self.once = once

    def __getitem__(self, index: int) -> Any:
        if index == 0 and not self.once:
            random.shuffle(self.order)
        return self.rows[self.order[index]]


class Resampled(IterableDataset[Any]):
    """Draws the samples of an epoch with replacement: ``divided`` by the workers, or all of them in each."""

    def __init__(self, *, divided: bool) -> None:
        self.divided = divided

    def __len__(self) -> int:
        return SIZE

    def __iter__(self) -> Iterator[int]:
        worker = get_worker_info()
        workers = worker.num_workers if worker and self.divided else 1
        return (random.randrange(SIZE) for _ in range(SIZE // workers))


class Equal(IterableDataset[Any]):
    """Gives each worker as many rows as the others: ``size`` may not go round."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __iter__(self) -> Iterator[int]:
        worker = get_worker_info()
        workers, number = (worker.num_workers, worker.id) if worker else (1, 0)
        share = self.size // workers
        return iter(range(number * share, (number + 1) * share))


class Lying(IterableDataset[Any]):
    """A stream of SIZE samples, shared among workers, that says it has ``length``."""

    def __init__(self, length: int) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[int]:
        worker = get_worker_info()
        return iter(range(worker.id if worker else 0, SIZE, worker.num_workers if worker else 1))


class TakesEpochs:
    """Is told the epoch; keeps it in a tensor where that is what it was given, for all workers to see."""

    def __init__(self, epoch: Any) -> None:
        super().__init__()
        self.epoch = epoch

    def set_epoch(self, epoch: int) -> None:
        if isinstance(self.epoch, torch.Tensor):
            self.epoch.fill_(epoch)
        else:
            self.epoch = epoch


class Rotating(TakesEpochs, Rows):
    """Content that follows the epoch."""

    def __getitem__(self, index: int) -> Any:
        return self.rows[index] + 1000 * int(self.epoch)


class Stream(IterableDataset[Any]):
    """Numbers in shards, dealt out to workers unless ``sharded`` is false."""

    def __init__(self, shards: int = SIZE, sharded: bool = True, overlap: int = 0, noise: bool = False) -> None:
        self.shards, self.sharded, self.overlap, self.noise = shards, sharded, overlap, noise

    def rows_of(self, shard: int) -> range:
        each = SIZE // self.shards
        return range(shard * each, min(SIZE, (shard + 1) * each + self.overlap))

    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        mine, of = (info.id, info.num_workers) if info and self.sharded else (0, 1)
        for shard in range(mine, self.shards, of):
            for row in self.rows_of(shard):
                yield row + (random.random() if self.noise else 0)


class Halves(Stream):
    """Cut in two by the first and last row of each worker; ``gap`` rows are lost at the cut, or come twice."""

    def __init__(self, gap: int = 0) -> None:
        super().__init__()
        self.gap = gap

    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        if info is None:
            yield from range(SIZE)
        else:
            each = SIZE // info.num_workers
            yield from range(info.id * each + (self.gap if info.id else 0), (info.id + 1) * each)


class Repeating(Stream):
    """Its rows come again and again by themselves: each ``times`` in a row, or all of them in turn."""

    def __init__(self, times: int = 2, *, in_turn: bool = False, sharded: bool = True, drops: int = 0) -> None:
        super().__init__(sharded=sharded)
        self.times, self.in_turn, self.drops = times, in_turn, drops

    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        mine, of = (info.id, info.num_workers) if info and self.sharded else (0, 1)
        each = SIZE // of
        dealt = range(mine * each, (mine + 1) * each) if self.in_turn else range(mine, SIZE, of)
        for row in dealt[: len(dealt) - (self.drops if mine else 0)]:
            yield row % (SIZE // self.times) if self.in_turn else row // self.times


class RepeatingForever(Repeating):
    def __iter__(self) -> Iterator[Any]:
        while True:
            yield from super().__iter__()


class ShuffledStream(Stream):
    """Every worker shuffles all of it in its own way."""

    def __iter__(self) -> Iterator[Any]:
        rows = list(super().__iter__())
        random.shuffle(rows)
        return iter(rows)


class EpochStream(TakesEpochs, Stream):
    """The order follows the epoch."""

    def __iter__(self) -> Iterator[Any]:
        rows = list(super().__iter__())
        random.Random(int(self.epoch)).shuffle(rows)
        return iter(rows)


class Forever(Stream):
    def __iter__(self) -> Iterator[Any]:
        while True:
            yield from super().__iter__()


class Skipping(Sampler[int]):
    """A permutation that misses its first row and gives the last one twice."""

    def __iter__(self) -> Iterator[int]:
        yield from torch.randperm(SIZE - 1).add(1).tolist()
        yield SIZE - 1

    def __len__(self) -> int:
        return SIZE


class Oversampling(Sampler[int]):
    """A third of the rows twice as often, on purpose."""

    def __iter__(self) -> Iterator[int]:
        yield from [index % (2 * SIZE // 3) for index in torch.randperm(SIZE).tolist()]

    def __len__(self) -> int:
        return SIZE


class Buckets(Sampler[list[int]]):
    """Batches of neighbours, complete."""

    def __iter__(self) -> Iterator[list[int]]:
        yield from [list(range(at, min(at + 7, SIZE))) for at in range(0, SIZE, 7)]

    def __len__(self) -> int:
        return -(-SIZE // 7)


class SeedsEveryEpoch(DataLoader[Any]):
    def __iter__(self) -> Any:
        torch.manual_seed(0)
        return super().__iter__()


class LosesLast(DataLoader[Any]):
    """A loop that forgets the batch it holds back."""

    def __iter__(self) -> Any:
        held = None
        for batch in super().__iter__():
            if held is not None:
                yield held
            held = batch


class HoldsBack(DataLoader[Any]):
    """The same loop, which remembers."""

    def __iter__(self) -> Any:
        held = None
        for batch in super().__iter__():
            if held is not None:
                yield held
            held = batch
        if held is not None:
            yield held


class Limited(DataLoader[Any]):
    """An epoch of a few batches, on purpose."""

    def __iter__(self) -> Any:
        yield from itertools.islice(super().__iter__(), 3)


class Thrice(DataLoader[Any]):
    """An epoch is three passes; its length says so, or ``says`` otherwise."""

    def __init__(self, *given: Any, says: int = 3, **settings: Any) -> None:
        super().__init__(*given, **settings)
        self.says = says

    def __len__(self) -> int:
        return self.says * super().__len__()

    def __iter__(self) -> Any:
        for _ in range(3):
            yield from super().__iter__()


class Peeks(DataLoader[Any]):
    """Looks at its first batch and at the plan of the epoch before it begins."""

    def __iter__(self) -> Any:
        next(super().__iter__())
        assert list(self.batch_sampler or ())
        yield from super().__iter__()


class Endless:
    """A sampler that begins again for ever."""

    def __init__(self, sampler: Any) -> None:
        self.sampler = sampler

    def __iter__(self) -> Any:
        while True:
            yield from self.sampler


class KeepsIterator(DataLoader[Any]):
    """One iterator for all epochs, whose workers never end."""

    def __init__(self, *given: Any, **settings: Any) -> None:
        super().__init__(*given, **settings)
        object.__setattr__(self, "batch_sampler", Endless(self.batch_sampler))
        self.iterator = super().__iter__()

    def __len__(self) -> int:
        return len(self.batch_sampler.sampler)  # type: ignore[union-attr]  # an Endless

    def __iter__(self) -> Any:
        for _ in range(len(self)):
            yield next(self.iterator)


def make(dataset: Callable[[], Any], kind: type[DataLoader[Any]] = DataLoader, **settings: Any) -> Callable[[], Any]:
    given: dict[str, Any] = {"batch_size": 8, "num_workers": 2}
    return lambda: kind(dataset(), **{**given, **settings})


def shared_epoch() -> torch.Tensor:
    epoch: Any = torch.zeros((), dtype=torch.int64)
    epoch.share_memory_()
    return epoch  # type: ignore[no-any-return]  # share_memory_ is not typed


PERSISTENT: dict[str, Any] = {"persistent_workers": True}

FAULTS = {
    "StopIteration in __getitem__": Case(make(Stops), "truncated", "Stops", "DL309"),
    "StopIteration without workers": Case(make(Stops, num_workers=0), "truncated", "Stops", "DL309"),
    "StopIteration, shuffled": Case(make(Stops, shuffle=True), "truncated", "Stops", "DL309"),
    "more passes than it says": Case(make(Rows, Thrice, says=1, shuffle=True), "duplicated", "the loader", ""),
    "one buffer for all samples": Case(make(Buffered), "overwritten", "Buffered", ""),
    "a ring of buffers, shuffled": Case(make(lambda: Buffered(4), shuffle=True), "overwritten", "Buffered", ""),
    "an array for all samples": Case(make(BufferedArray, num_workers=0), "overwritten", "BufferedArray", ""),
    "a stream through one buffer": Case(
        make(BufferedStream, num_workers=1), "overwritten", "BufferedStream", ""
    ),
    "__getitems__ answers short": Case(make(Short), "lost", "Short", ""),
    "a loader that loses a batch": Case(make(Rows, LosesLast), "lost", "the loader", ""),
    "seeded every epoch": Case(make(Rows, SeedsEveryEpoch, shuffle=True), "not_reshuffled", "RandomSampler", ""),
    "file shared over fork": Case(make(SharedFile), "differs_with_workers", "dataset.file", "DL303"),
    "stale persistent workers": Case(
        make(lambda: Rotating(0), **PERSISTENT), "stale", "Rotating.set_epoch", "DL308"
    ),
    "stale stream": Case(make(lambda: EpochStream(0), **PERSISTENT), "stale", "EpochStream.set_epoch", "DL308"),
    "unsharded stream": Case(make(lambda: Stream(sharded=False)), "unsharded", "Stream", "DL405"),
    "unsharded stream, three workers": Case(
        make(lambda: Stream(sharded=False), num_workers=3), "unsharded", "Stream", "DL405"
    ),
    "unsharded stream, unbatched": Case(
        make(lambda: Stream(sharded=False), batch_size=None), "unsharded", "Stream", "DL405"
    ),
    "unsharded stream, shuffled": Case(
        make(lambda: ShuffledStream(sharded=False)), "unsharded", "ShuffledStream", "DL405"
    ),
    "unsharded stream without end": Case(make(lambda: Forever(sharded=False)), "unsharded", "Forever", "DL405"),
    "unsharded stream of runs": Case(make(lambda: Repeating(8, sharded=False)), "unsharded", "Repeating", "DL405"),
    "a stream of pairs that loses rows": Case(make(lambda: Repeating(drops=3)), "lost", "Repeating", ""),
    "rows lost between workers": Case(make(lambda: Halves(3)), "lost", "Halves", ""),
    "rows doubled between workers": Case(make(lambda: Halves(-3)), "duplicated", "Halves", ""),
    "longer than it says": Case(make(lambda: Lying(40)), "wrong_length", "Lying", ""),
    "changed in place, a record": Case(
        make(lambda: Scaled("record"), shuffle=True), "changed_in_place", "dataset.targets[*]['grid']", ""
    ),
    "changed in place, rows": Case(make(lambda: Scaled("row")), "changed_in_place", "dataset.grids", ""),
    "changed in place, a key": Case(make(lambda: Scaled("key")), "changed_in_place", "dataset.targets[*]['grid']", ""),
    "changed in place, a position": Case(
        make(lambda: Scaled("position")), "changed_in_place", "dataset.targets[*]", ""
    ),
    "changed in place, a cache": Case(
        make(lambda: Scaled("cache"), shuffle=True), "changed_in_place", "dataset.kept[*]", ""
    ),
    "changed in place, behind a Subset": Case(
        make(lambda: Subset(Scaled("row"), range(SIZE - 1, 8, -1))), "changed_in_place", "dataset.dataset.grids", ""
    ),
    "changed in place, without workers": Case(
        make(lambda: Scaled("record"), num_workers=0), "changed_in_place", "dataset.targets[*]['grid']", ""
    ),
    "classes numbered in the order of a set": Case(
        make(lambda: Named(ordered=False, classes=True)), "hash_order_divided", "dataset.number_of", ""
    ),
    "names in the order of a set, divided by ranks": Case(
        make(lambda: Named(ordered=False), sampler=DistributedSampler(Rows(), num_replicas=1, rank=0)),
        "hash_order_divided", "dataset.names", "",
    ),
    "shuffles itself": Case(make(Reshuffling), "shuffles_itself", "Reshuffling", ""),
    "an epoch's length in each worker": Case(
        make(lambda: Resampled(divided=False)), "length_per_worker", "Resampled", ""
    ),
    "shorter than it says": Case(make(lambda: Lying(400), num_workers=0), "wrong_length", "Lying", ""),
    "fewer shards than workers": Case(make(lambda: Stream(shards=2), num_workers=4), "starved", "Stream", ""),
}  # fmt: skip

UNSURE = {
    "names in the order of a set": Case(
        make(lambda: Named(ordered=False), shuffle=True), "hash_order", "dataset.names", ""
    ),
    "a view in turn": Case(make(InTurn, shuffle=True), "follows_readings", "dataset.turns", ""),
    "a sampler that misses a row": Case(make(Rows, sampler=Skipping()), "uneven_sampler", "Skipping", ""),
    "a seeded order": Case(make(Rows, sampler=FixedOrder()), "same_order", "FixedOrder", ""),
    "an order drawn once": Case(make(Rows, sampler=FixedOrder("drawn once")), "same_order", "FixedOrder", ""),
    "as many samples in each worker as alone": Case(
        make(lambda: Stream(sharded=False, noise=True)), "unlike", "Stream", ""
    ),
    "a collate function that leaves a row out": Case(
        make(Rows, collate_fn=all_but_one, shuffle=True), "left_out", "all_but_one", ""
    ),
    "batches that show no samples": Case(
        make(lambda: Columns("whole"), collate_fn=as_they_are, shuffle=True), "whole", "Columns", ""
    ),
    "pairs of columns, or pairs of samples": Case(
        make(lambda: Columns("pair"), batch_size=2, collate_fn=as_they_are, shuffle=True), "whole", "Columns", ""
    ),
    "stream of pairs without end": Case(make(RepeatingForever), "unlike", "RepeatingForever", ""),
}

CLEAN = {
    "in order": Case(make(Rows)),
    "shuffled": Case(make(Rows, shuffle=True)),
    "shuffled, persistent": Case(make(Rows, shuffle=True, **PERSISTENT)),
    "shuffled, no workers": Case(make(Rows, shuffle=True, num_workers=0)),
    "random content": Case(make(Noisy, shuffle=True)),
    "a row replaced at random": Case(make(Replacing)),
    "drop_last": Case(make(lambda: Rows(SIZE - 3), drop_last=True)),
    "guarded next": Case(make(Guarded)),
    "whole batches": Case(make(Whole)),
    "a buffer of which samples are copies": Case(make(Copied, collate_fn=rows_alone)),
    "as many buffers as samples in a batch": Case(make(lambda: Buffered(8))),
    "batches of pairs": Case(make(Rows, collate_fn=in_pairs)),
    "missing rows that no batch needs": Case(make(Gaps, collate_fn=without_gaps)),
    "samples of a batch that come once": Case(make(Once, collate_fn=listed, shuffle=True)),
    "batches by columns": Case(make(Columns, collate_fn=as_they_are, shuffle=True)),
    "batches by pairs of columns": Case(make(lambda: Columns("pair"), collate_fn=as_they_are, shuffle=True)),
    "unbatched": Case(make(Rows, batch_size=None)),
    "three passes": Case(make(Rows, Thrice, shuffle=True)),
    "three passes of a stream": Case(make(Stream, Thrice)),
    "a loader that peeks": Case(make(Rows, Peeks, num_workers=0)),
    "a loader that holds back a batch": Case(make(Rows, HoldsBack)),
    "a loader that gives a few batches": Case(make(Rows, Limited)),
    "a loader that gives a few batches, slowly made": Case(make(Slow, Limited)),
    "a loader that gives a few batches, persistent": Case(make(Slow, Limited, **PERSISTENT)),
    "a loader that gives a few batches of a stream": Case(make(Stream, Limited, **PERSISTENT)),
    "a loader that keeps its iterator": Case(make(Rows, KeepsIterator, shuffle=True)),
    "file opened in the worker": Case(make(OwnFile)),
    "shared file, one worker": Case(make(SharedFile, num_workers=1)),
    "epoch seen by new workers": Case(make(lambda: Rotating(0))),
    "epoch shared with persistent workers": Case(make(lambda: Rotating(shared_epoch()), **PERSISTENT)),
    "stream": Case(make(Stream)),
    "stream, unbatched": Case(make(Stream, batch_size=None)),
    "stream, no workers": Case(make(lambda: Stream(sharded=False), num_workers=0)),
    "stream, one worker": Case(make(lambda: Stream(sharded=False), num_workers=1)),
    "stream of halves": Case(make(Halves)),
    "stream of runs of equal labels": Case(make(lambda: Repeating(8))),
    "stream of pairs": Case(make(Repeating)),
    "stream of passes": Case(make(lambda: Repeating(4, in_turn=True))),
    "shuffled stream": Case(make(ShuffledStream)),
    "noisy stream": Case(make(lambda: Stream(noise=True))),
    "stream without end": Case(make(Forever)),
    "stream that sees the epoch": Case(make(lambda: EpochStream(0))),
    "stream that shares the epoch": Case(make(lambda: EpochStream(shared_epoch()), **PERSISTENT)),
    "as many shards as workers": Case(make(lambda: Stream(shards=4), num_workers=4)),
    "weighted": Case(make(Rows, sampler=WeightedRandomSampler([1.0] * SIZE, SIZE))),
    "with replacement": Case(make(Rows, sampler=RandomSampler(range(SIZE), replacement=True))),
    "a part of the epoch": Case(make(Rows, sampler=RandomSampler(range(SIZE), num_samples=40))),
    "subset sampler": Case(make(Rows, sampler=SubsetRandomSampler(range(0, SIZE, 2)))),
    "subset": Case(make(lambda: Subset(Rows(), range(10, 60)), shuffle=True)),
    "oversampling": Case(make(Rows, sampler=Oversampling())),
    "buckets": Case(lambda: DataLoader(Rows(), batch_sampler=Buckets(), num_workers=2)),
    "batch sampler of torch": Case(
        lambda: DataLoader(Rows(), batch_sampler=BatchSampler(SequentialSampler(range(SIZE)), 5, False), num_workers=2)
    ),
    "one of two ranks": Case(make(Rows, sampler=DistributedSampler(Rows(), num_replicas=2, rank=0))),
    "a list": Case(make(lambda: list(range(SIZE)), shuffle=True)),
    "an order of its own that goes on": Case(make(Rows, sampler=FixedOrder("goes on"))),
    "an order in turn": Case(make(Rows, sampler=FixedOrder("in turn"))),
    "an order written down": Case(make(Rows, sampler=random.Random(3).sample(range(SIZE), SIZE))),
    "names that are sorted": Case(make(lambda: Named(ordered=True), shuffle=True)),
    "classes that are sorted": Case(make(lambda: Named(ordered=True, classes=True), shuffle=True)),
    "an order of its own that stays": Case(make(lambda: Reshuffling(once=True))),
    "a copy is changed": Case(make(lambda: Scaled("copy"), shuffle=True)),
    "readings are counted": Case(make(Counting, shuffle=True)),
    "resampled, an epoch divided by the workers": Case(make(lambda: Resampled(divided=True))),
    "a length that batches and workers round": Case(make(lambda: Lying(SIZE + 13))),
    "few samples for many workers": Case(make(lambda: Rows(3), num_workers=4)),
}  # fmt: skip
