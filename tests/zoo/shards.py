"""Loaders whose ranks overlap, miss samples or differ in length; and twins that do not."""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
import torch.distributed
from torch.utils.data import (
    DataLoader,
    DistributedSampler,
    IterableDataset,
    Sampler,
    Subset,
    WeightedRandomSampler,
    get_worker_info,
)

from tests.zoo.order import Rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SIZE = 96


class Case(NamedTuple):
    """A loader, or what makes one of a rank; what the reason says of a faulty one, and the code that finds it."""

    given: Callable[[], Any]
    says: str = ""
    code: str = ""
    world_size: int | None = None


class Own(Sampler[int]):
    """A share of a permutation. ``seed``: None is the global random state."""

    def __init__(self, rank: int, world_size: int, seed: int | None = 0, step: int = 0, cut: bool = True) -> None:
        self.rank, self.world_size, self.seed, self.step, self.cut = rank, world_size, seed, step, cut
        self.shuffle = True
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch * self.step

    def __iter__(self) -> Iterator[int]:
        own = None if self.seed is None else torch.Generator().manual_seed(self.seed + self.epoch)
        rows = torch.randperm(SIZE, generator=own).tolist()
        yield from rows[self.rank :: self.world_size]

    def __len__(self) -> int:
        return len(range(SIZE)[self.rank :: self.world_size])


class Stream(IterableDataset[Any]):
    """Rows by rank and worker, as ``share`` deals them out."""

    def __init__(self, share: Callable[[list[int], int, int, int, int], list[int]]) -> None:
        self.share = share

    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        worker, workers = (info.id, info.num_workers) if info else (0, 1)
        rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
        return iter(self.share(list(range(SIZE)), rank, world, worker, workers))


def by_both(rows: list[int], rank: int, world: int, worker: int, workers: int) -> list[int]:
    return rows[rank * workers + worker :: world * workers]


def by_worker_alone(rows: list[int], _rank: int, _world: int, worker: int, workers: int) -> list[int]:
    return rows[worker::workers]


def by_one_of_both(rows: list[int], rank: int, world: int, worker: int, workers: int) -> list[int]:
    """The rank where there are several, which every worker then repeats."""
    return rows[rank::world] if world > 1 else rows[worker::workers]


def in_whole_batches(rows: list[int], rank: int, world: int, worker: int, workers: int) -> list[int]:
    """Each worker of several ranks fills its last batch up with the first rows, as accelerate has them do."""
    share = by_both(rows[:-3], rank, world, worker, workers)
    return share + rows[: -len(share) % 4] if world > 1 else share


def loses_rest(rows: list[int], rank: int, world: int, worker: int, workers: int) -> list[int]:
    each = SIZE // (world * workers) - 1
    at = (rank * workers + worker) * each
    return rows[at : at + each] if world > 1 else rows[worker::workers]


def by_distributed_sampler(rank: int, world_size: int) -> DataLoader[Any]:
    dataset = Rows(SIZE)
    return DataLoader(dataset, 8, sampler=DistributedSampler(dataset, world_size, rank))


def ignores_rank(rank: int, world_size: int) -> DataLoader[Any]:
    del rank, world_size
    return DataLoader(Rows(SIZE), 8, shuffle=True)


def off_by_one(rank: int, world_size: int) -> DataLoader[Any]:
    each = SIZE // world_size
    first = rank * each - (3 * world_size if rank else 0)
    return DataLoader(Subset(Rows(SIZE), range(SIZE)), 4, sampler=range(first, (rank + 1) * each))


def unequal(rank: int, world_size: int) -> DataLoader[Any]:
    each = SIZE // world_size
    first = 0 if rank == 0 else rank * each + (8 if world_size > 1 else 0)
    last = (rank + 1) * each + (8 if rank < world_size - 1 else 0)
    return DataLoader(Rows(SIZE), 4, sampler=range(first, SIZE if rank == world_size - 1 else last))


def own_sampler(rank: int = 0, world_size: int = 1, **settings: Any) -> DataLoader[Any]:
    return DataLoader(Rows(SIZE), 8, sampler=Own(rank, world_size, **settings))


def reshuffles(rank: int = 0, world_size: int = 1) -> DataLoader[Any]:
    return own_sampler(rank, world_size, step=1)


def by_global_state(rank: int = 0, world_size: int = 1) -> DataLoader[Any]:
    return own_sampler(rank, world_size, seed=None)


def by_process_group() -> DataLoader[Any]:
    dataset = Rows(SIZE)
    there = torch.distributed.is_initialized()
    return DataLoader(dataset, 8, sampler=DistributedSampler(dataset) if there else None)


def by_environment() -> DataLoader[Any]:
    rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    return DataLoader(Subset(Rows(SIZE), range(rank, SIZE - SIZE % world, world)), 8)


def distributed(size: int = SIZE, **settings: Any) -> DataLoader[Any]:
    dataset = Rows(size)
    sampler: Any = DistributedSampler(dataset, num_replicas=2, rank=0, **settings)
    return DataLoader(dataset, 8, sampler=sampler, num_workers=2)


class Sets(Sampler[frozenset[int]]):
    """A rank's share in sets, which hold other rows together in each world, as bucketing samplers have it."""

    def __init__(self, rank: int, world_size: int) -> None:
        self.rows = range(rank, SIZE, world_size)

    def __iter__(self) -> Iterator[frozenset[int]]:
        return (frozenset(self.rows[at : at + 8]) for at in range(0, len(self.rows), 8))


class OfSets(Rows):
    """Is asked for a set of rows at once."""

    def __getitem__(self, index: Any) -> Any:
        return torch.tensor(sorted(index))


def by_sets(rank: int, world_size: int) -> DataLoader[Any]:
    return DataLoader(OfSets(SIZE), batch_size=None, sampler=Sets(rank, world_size))


class Buckets(Sampler[list[int]]):
    """Batches of four to nine rows, dealt out; ``rounds`` of them are left out at the end, -1 fills the last one up."""

    def __init__(self, rank: int, world_size: int, rounds: int) -> None:
        self.rank, self.world_size, self.rounds = rank, world_size, rounds

    def __iter__(self) -> Iterator[list[int]]:
        ends = itertools.accumulate(itertools.cycle(range(4, 10)))
        cuts = [0, *itertools.takewhile(lambda end: end < SIZE, ends), SIZE]
        batches = [list(range(begin, end)) for begin, end in itertools.pairwise(cuts)]
        if self.rounds < 0:
            yield from [*batches, *batches[: -len(batches) % self.world_size]][self.rank :: self.world_size]
            return
        whole = len(batches) // self.world_size * self.world_size - self.world_size * self.rounds
        yield from batches[self.rank : whole : self.world_size]


def in_buckets(rank: int, world_size: int) -> DataLoader[Any]:
    return DataLoader(Rows(SIZE), batch_sampler=Buckets(rank, world_size, 0))


def in_too_few_buckets(rank: int, world_size: int) -> DataLoader[Any]:
    return DataLoader(Rows(SIZE), batch_sampler=Buckets(rank, world_size, int(world_size > 1)))


class PaddedGroups(Sampler[int]):
    """Each of three groups is padded to whole batches of all ranks, as detectors and speech models have it."""

    def __init__(self, rank: int, world_size: int, size: int) -> None:
        self.rank, self.world_size = rank, world_size
        groups = [list(range(group, size, 3)) for group in range(3)]
        padded = [rows + rows[: -len(rows) % (8 * world_size)] for rows in groups]
        self.rows = [row for rows in padded for row in rows]
        self.total_size = len(self.rows)

    def __iter__(self) -> Iterator[int]:
        return iter(self.rows[self.rank :: self.world_size])

    def __len__(self) -> int:
        return self.total_size // self.world_size


def in_padded_groups(rank: int, world_size: int) -> DataLoader[Any]:
    return DataLoader(Rows(4 * SIZE), 8, sampler=PaddedGroups(rank, world_size, 4 * SIZE))


def in_groups_of_one_rank(rank: int, world_size: int) -> DataLoader[Any]:
    """Counts its samples as all ranks together should read them, and reads those of the first two ranks alone."""
    return DataLoader(Rows(4 * SIZE), 8, sampler=PaddedGroups(rank % 2, world_size, 4 * SIZE))


def in_filled_buckets(rank: int, world_size: int) -> DataLoader[Any]:
    return DataLoader(Rows(SIZE), batch_sampler=Buckets(rank, world_size, -1))


def in_padded_batches(rank: int, world_size: int) -> DataLoader[Any]:
    """Whole batches are dealt out, and the first rows fill the last round up, as accelerate has it."""
    rows = list(range(SIZE)) + (list(range(-SIZE % (10 * world_size))) if world_size > 1 else [])
    batches = [rows[at : at + 10] for at in range(0, len(rows), 10)][rank::world_size]
    return DataLoader(Rows(SIZE), 10, sampler=[row for batch in batches for row in batch])


def stream(share: Any, workers: int = 2) -> Callable[[], DataLoader[Any]]:
    return lambda: DataLoader(Stream(share), 4, num_workers=workers)


def weighted_by_rank(rank: int = 0, world_size: int = 1, seed: int = 1) -> DataLoader[Any]:  # noqa: ARG001  # a share does not depend on it
    """Draws by weight, from a generator that is seeded by the rank."""
    generator = torch.Generator().manual_seed(rank + seed)
    weights = [1.0 + row % 2 for row in range(SIZE)]
    return DataLoader(Rows(SIZE), 8, sampler=WeightedRandomSampler(weights, SIZE, generator=generator))


def weighted_alike(rank: int = 0, world_size: int = 1) -> DataLoader[Any]:  # noqa: ARG001  # the fault
    """Draws by weight, from one seed on all ranks."""
    return weighted_by_rank(seed=1)


FAULTS = {
    "weighted, with one seed": Case(lambda: weighted_alike, "read the same samples", "DL406"),
    "a callable that ignores its rank": Case(lambda: ignores_rank, "read the same samples", "DL406"),
    "overlapping shares": Case(lambda: off_by_one, "samples are read by several", "DL406", 4),
    "shares of unequal length": Case(lambda: unequal, "ranks with more batches hang", "", 2),
    "set_epoch without effect": Case(lambda: own_sampler, "set_epoch changes nothing", "DL401"),
    "no share asked for two ranks": Case(lambda: DataLoader(Rows(SIZE), 8), "read the same samples", "DL406", 2),
    "padded groups of two ranks alone": Case(lambda: in_groups_of_one_rank, "by none", "DL406", 4),
    "buckets of which a whole round is left out": Case(lambda: in_too_few_buckets, "are read by no rank", "DL406", 2),
    "stream by worker alone": Case(stream(by_worker_alone), "read the same samples", "DL405", 2),
    "stream by rank or by worker": Case(stream(by_one_of_both), "samples are read by several", "DL406"),
    "stream that loses its rest": Case(stream(loses_rest), "are read by no rank", "DL406"),
}

CLEAN = {
    "weighted, with a seed for each rank": Case(lambda: weighted_by_rank, "with replacement, each on its own"),
    "distributed sampler": Case(distributed),
    "distributed sampler, padded": Case(lambda: distributed(SIZE + 1), "samples repeated by padding"),
    "distributed sampler, cut": Case(lambda: distributed(SIZE + 1, drop_last=True)),
    "distributed sampler, in order": Case(lambda: distributed(shuffle=False)),
    "distributed sampler by arguments": Case(lambda: by_distributed_sampler),
    "distributed sampler by process group": Case(lambda: by_process_group),
    "own sampler": Case(lambda: reshuffles),
    "sets of rows": Case(lambda: by_sets),
    "buckets of which the rest is left out": Case(lambda: in_buckets, "samples dropped at the end"),
    "groups that are padded": Case(lambda: in_padded_groups, "samples repeated by padding"),
    "buckets of which the last round is filled up": Case(lambda: in_filled_buckets, "samples repeated by padding"),
    "batches dealt out, padded": Case(lambda: in_padded_batches, "samples repeated by padding"),
    "stream by both": Case(stream(by_both)),
    "stream by both, no workers": Case(stream(by_both, 0)),
    "stream in whole batches": Case(stream(in_whole_batches), "samples repeated by padding"),
}

UNSHARDED = {
    "plain": Case(lambda: DataLoader(Rows(SIZE), 8, shuffle=True)),
    "stream": Case(stream(by_worker_alone)),
}
