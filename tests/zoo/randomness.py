"""Loaders whose workers, epochs or samples draw the same random numbers; and twins that do not."""

from __future__ import annotations

import functools
import random
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.utils.data import (
    DataLoader,
    Dataset,
    IterableDataset,
    WeightedRandomSampler,
    default_collate,
    get_worker_info,
)

from tests.zoo.case import Case

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SIZE = 64


class Rows(Dataset[Any]):
    """Numbers with noise on top; subclasses and arguments say where the noise comes from."""

    def __init__(self, noise: Callable[[Any, int], Any] = lambda _self, _index: 0.0, **fields: Any) -> None:
        self.rows = torch.arange(SIZE, dtype=torch.float64)
        self.noise = noise
        vars(self).update(fields)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> Any:
        return self.rows[index] + self.noise(self, index)


class Batched(Rows):
    def __getitems__(self, indices: list[int]) -> Any:
        return [self[index] for index in indices]


class Stream(IterableDataset[Any]):
    """Shards dealt out to workers; ``order`` is drawn from at the start, ``noise`` for each sample."""

    def __init__(self, noise: Callable[[Any], Any] = lambda _self: 0.0, order: Any = None, **fields: Any) -> None:
        self.noise = noise
        self.order = order
        vars(self).update(fields)

    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        mine, of = (info.id, info.num_workers) if info else (0, 1)
        rows = list(range(SIZE))
        if self.order is not None:
            self.order.shuffle(rows)
        for row in rows[mine::of]:
            yield row + self.noise(self)


class Walk(IterableDataset[Any]):
    """Rows of a worker, given by a generator function that is handed the rows and the dataset."""

    def __init__(self, walk: Callable[[Walk, list[int]], Iterator[Any]]) -> None:
        self.walk = walk
        self.rng: Any = None

    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        mine, of = (info.id, info.num_workers) if info else (0, 1)
        return self.walk(self, list(range(SIZE))[mine::of])


def worker_seed() -> int:
    info = get_worker_info()
    return info.seed if info else torch.initial_seed()


def noisy_from(seed: Callable[[], Any]) -> Callable[[Walk, list[int]], Iterator[Any]]:
    def noisy(_dataset: Walk, rows: list[int]) -> Iterator[Any]:
        rng = np.random.default_rng(seed())
        for row in rows:
            yield row + rng.random()

    return noisy


def noisy_on_self(dataset: Walk, rows: list[int]) -> Iterator[Any]:
    dataset.rng = random.Random(42)
    for row in rows:
        yield row + dataset.rng.random()


def noisy_beside_names(_dataset: Walk, rows: list[int]) -> Iterator[Any]:
    """Every other sample is distorted, which leaves its name as it is."""
    rng = random.Random(42)
    for row in rows:
        yield {"name": f"row {row}", "value": row + rng.random() if rng.random() < 0.5 else row}


def distorted(samples: Iterator[Any], generator: torch.Generator) -> Iterator[Any]:
    for sample in samples:
        yield sample + torch.rand((), generator=generator)


def noisy_in_a_stage(_dataset: Walk, rows: list[int]) -> Iterator[Any]:
    return map(float, distorted(iter(rows), torch.Generator().manual_seed(42)))


def noisy_by_a_transform(_dataset: Walk, rows: list[int]) -> Iterator[Any]:
    flip = Flip(42)
    for row in rows:
        yield row + flip(1.0)


class NoisyRows:
    """An iterator of the user's own, with a generator on it."""

    def __init__(self, rows: list[int]) -> None:
        self.rows = iter(rows)
        self.rng = np.random.RandomState(42)

    def __iter__(self) -> NoisyRows:
        return self

    def __next__(self) -> Any:
        return next(self.rows) + self.rng.rand()


def buffered(_dataset: Walk, rows: list[int]) -> Iterator[Any]:
    """A shuffle buffer, seeded alike in all workers."""
    rng = random.Random(42)
    buffer = rows[:8]
    for row in rows[8:]:
        place = rng.randrange(8)
        buffer[place], row = row, buffer[place]
        yield row + np.random.random()
    yield from buffer


def mixed(_dataset: Walk, rows: list[int]) -> Iterator[Any]:
    """Two sources of a worker, drawn from by lot."""
    rng = np.random.default_rng(42)
    sources = [rows[::2], rows[1::2]]
    while any(sources):
        source = sources[rng.integers(2)]
        if source:
            yield source.pop(0)


def chosen(_dataset: Walk, rows: list[int]) -> Iterator[Any]:
    """Nine of ten rows, the same in every epoch."""
    rng = random.Random(42)
    return (row for row in rows if rng.random() < 0.9)


def by_row(_dataset: Walk, rows: list[int]) -> Iterator[Any]:
    for row in rows:
        rng = np.random.default_rng(row)
        yield row + rng.random()


def without_effect(_dataset: Walk, rows: list[int]) -> Iterator[Any]:
    rng = random.Random(42)
    for row in rows:
        rng.random()
        yield row


class DividedAfterwards(IterableDataset[Any]):
    """Every worker goes through one stream, distorted alike, and gives its share of it."""

    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        mine, of = (info.id, info.num_workers) if info else (0, 1)
        rng = np.random.default_rng(42)
        for row in range(SIZE):
            value = row + rng.random()
            if row % of == mine:
                yield value


class DividedShuffle(IterableDataset[Any]):
    """Every worker shuffles the same rows, again and again as they are given, and gives its share of them."""

    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        mine, of = (info.id, info.num_workers) if info else (0, 1)
        rng = random.Random(42)
        rows = list(range(SIZE))
        while len(rows) >= of:
            drawn = [rows.pop(rng.randrange(len(rows))) for _ in range(of)]
            rng.shuffle(rows)
            yield drawn[mine]


class Flip:
    """A transform with a generator of its own."""

    def __init__(self, seed: int | None = None) -> None:
        self.rng = np.random.default_rng(seed)

    def __call__(self, row: Any) -> Any:
        return row * (1 + self.rng.random())


class Transformed(Rows):
    def __getitem__(self, index: int) -> Any:
        return self.transforms[1](self.rows[index])  # type: ignore[attr-defined]  # given by the case


MODULE_RNG = np.random.default_rng(7)


def from_module(_self: Any, _index: int) -> Any:
    return MODULE_RNG.random()


def from_own(self: Any, _index: int) -> Any:
    return self.rng.random()


def from_legacy(self: Any, _index: int) -> Any:
    return self.rng.rand()


def from_torch_own(self: Any, _index: int) -> Any:
    return torch.rand((), generator=self.rng).item()


def from_numpy(_self: Any, _index: int) -> Any:
    return np.random.rand()


def from_random(_self: Any, _index: int) -> Any:
    return random.random()


def from_torch(_self: Any, _index: int) -> Any:
    return torch.rand(()).item()


def by_index(_self: Any, index: int) -> Any:
    random.seed(index)
    return random.random()


def by_index_own(_self: Any, index: int) -> Any:
    return np.random.default_rng(index).random()


def by_worker(_self: Any, _index: int) -> Any:
    info = get_worker_info()
    random.seed(info.seed if info else 0)
    return random.random()


def by_constant(_self: Any, _index: int) -> Any:
    torch.manual_seed(0)
    return torch.rand(()).item()


def lazily(self: Any, _index: int) -> Any:
    if self.rng is None:
        info = get_worker_info()
        self.rng = np.random.default_rng(info.seed if info else None)
    return self.rng.random()


def lazily_alike(self: Any, _index: int) -> Any:
    if self.rng is None:
        self.rng = np.random.default_rng(42)
    return self.rng.random()


def table_of_own(self: Any, index: int) -> Any:
    if self.rng is None:
        self.rng = np.random.default_rng(42)
        self.table = self.rng.permutation(SIZE)
    return float(self.table[index])


def table(self: Any, index: int) -> Any:
    if self.table is None:
        self.table = self.rng.permutation(SIZE)
    return float(self.table[index])


def seed_alike(_worker: int) -> None:
    np.random.seed(42)


def seed_by_worker(worker: int) -> None:
    np.random.seed(1234 + worker)
    random.seed(1234 + worker)


def seed_by_idiom(worker: int) -> None:
    np.random.seed(np.random.get_state()[1][0] + worker)  # type: ignore[index]


def seed_well(_worker: int) -> None:
    np.random.seed(torch.initial_seed() % 2**32)


def seed_dataset(_worker: int) -> None:
    info: Any = get_worker_info()
    info.dataset.rng = np.random.default_rng(info.seed)


class Mix:
    """A collate function that draws."""

    def __init__(self, rng: Any = None) -> None:
        self.rng = rng

    def __call__(self, rows: list[Any]) -> Any:
        share = np.random.rand() if self.rng is None else self.rng.random()
        return share * default_collate(rows)


class Masks:
    """A collate function that makes its generator in the worker, from a fixed seed and the worker's number."""

    def __init__(self, seed: int | None = 42) -> None:
        self.seed = seed
        self.generator: torch.Generator | None = None

    def __call__(self, rows: list[Any]) -> Any:
        if self.generator is None:
            info = get_worker_info()
            seed = torch.initial_seed() if self.seed is None else self.seed + (info.id if info else 0)
            self.generator = torch.Generator().manual_seed(seed)
        return default_collate(rows), torch.rand(len(rows), 4, generator=self.generator)


class SeedsEveryEpoch(DataLoader[Any]):
    def __iter__(self) -> Any:
        torch.manual_seed(0)
        return super().__iter__()


def make(dataset: Any, **settings: Any) -> Callable[[], DataLoader[Any]]:
    given = {"batch_size": 8, "num_workers": 2, "shuffle": None if isinstance(dataset(), IterableDataset) else True}
    return lambda: DataLoader(dataset(), **{**given, **settings})


def rows(noise: Callable[[Any, int], Any], kind: type[Rows] = Rows, **fields: Callable[[], Any]) -> Callable[[], Rows]:
    return lambda: kind(noise, **{name: value() for name, value in fields.items()})


def drawing(self: Any) -> Any:
    return self.rng.random()


def stream(noise: Callable[[Any], Any] = lambda _self: 0.0, **fields: Callable[[], Any]) -> Callable[[], Stream]:
    return lambda: Stream(noise, **{name: value() for name, value in fields.items()})


def walk(by: Callable[[Walk, list[int]], Iterator[Any]]) -> Callable[[], Walk]:
    return lambda: Walk(by)


numpy_generator = functools.partial(np.random.default_rng, 3)
legacy_generator = functools.partial(np.random.RandomState, 3)
python_generator = functools.partial(random.Random, 3)


def torch_generator() -> torch.Generator:
    return torch.Generator().manual_seed(3)


FROZEN = ("frozen_generator", "dataset.rng", "DL402")
ITERATION = ("seeded_alike_by_iteration", "dataset.rng")
CONSTANT = ("constant_seed", "seed_alike", "DL403")
REPEATING = ("epoch_repeating_seed", "seed_by_worker", "DL404")
PER_SAMPLE = ("reseeding_per_sample", "Rows.__getitem__", "DL407")
PERSISTENT: dict[str, Any] = {"persistent_workers": True}

FAULTS = {
    "numpy generator on the dataset": Case(make(rows(from_own, rng=numpy_generator)), *FROZEN),
    "unseeded generator on the dataset": Case(make(rows(from_own, rng=np.random.default_rng)), *FROZEN),
    "RandomState on the dataset": Case(make(rows(from_legacy, rng=legacy_generator)), *FROZEN),
    "random.Random on the dataset": Case(make(rows(from_own, rng=python_generator)), *FROZEN),
    "torch.Generator on the dataset": Case(make(rows(from_torch_own, rng=torch_generator)), *FROZEN),
    "frozen, one worker": Case(make(rows(from_own, rng=numpy_generator), num_workers=1), *FROZEN),
    "frozen, persistent": Case(make(rows(from_own, rng=numpy_generator), **PERSISTENT), *FROZEN),
    "frozen, unbatched": Case(make(rows(from_own, rng=numpy_generator), batch_size=None), *FROZEN),
    "frozen, whole batches": Case(make(rows(from_own, Batched, rng=numpy_generator)), *FROZEN),
    "frozen transform": Case(
        make(rows(from_own, Transformed, transforms=lambda: [None, Flip(1)])),
        *(FROZEN[0], "dataset.transforms[1].rng", "DL402"),
    ),
    "generator of the module": Case(make(rows(from_module)), FROZEN[0], "tests.zoo.randomness.MODULE_RNG", "DL402"),
    "frozen collate": Case(make(Rows, collate_fn=Mix(np.random.default_rng(1))), FROZEN[0], "collate_fn.rng", "DL402"),
    "made in the worker from a fixed seed": Case(make(rows(lazily_alike, rng=lambda: None)), *FROZEN),
    "made in the worker from a fixed seed, collate": Case(
        lambda: make(Rows, collate_fn=Masks())(), FROZEN[0], "collate_fn.generator", "DL402"
    ),
    "frozen in a stream": Case(make(stream(drawing, rng=numpy_generator)), *FROZEN),
    "made in the iteration": Case(make(walk(noisy_from(lambda: 42))), ITERATION[0], "noisy_from.<locals>.noisy.rng"),
    "made in the iteration, persistent": Case(
        make(walk(noisy_from(lambda: 42)), **PERSISTENT), ITERATION[0], "noisy_from.<locals>.noisy.rng"
    ),
    "made in the iteration, whole": Case(
        make(walk(noisy_from(lambda: 42)), batch_size=None), ITERATION[0], "noisy_from.<locals>.noisy.rng"
    ),
    "made in the iteration, on the dataset": Case(make(walk(noisy_on_self)), *ITERATION),
    "made in the iteration, every other sample": Case(
        make(walk(noisy_beside_names)), ITERATION[0], "noisy_beside_names.rng"
    ),
    "made in the iteration, in a stage of it": Case(
        make(walk(noisy_in_a_stage)), ITERATION[0], "distorted.generator"
    ),
    "made in the iteration, in a transform": Case(
        make(walk(noisy_by_a_transform)), ITERATION[0], "noisy_by_a_transform.flip.rng"
    ),
    "made in the iteration, on its iterator": Case(
        make(walk(lambda _dataset, rows: NoisyRows(rows))), ITERATION[0], "NoisyRows.rng"
    ),
    "constant worker seed": Case(make(rows(from_numpy), worker_init_fn=seed_alike), *CONSTANT),
    "constant worker seed, persistent": Case(
        make(rows(from_numpy), worker_init_fn=seed_alike, **PERSISTENT), *CONSTANT
    ),
    "constant worker seed, collate": Case(
        make(Rows, collate_fn=Mix(), worker_init_fn=seed_alike), *CONSTANT
    ),
    "seed by worker": Case(make(rows(from_random), worker_init_fn=seed_by_worker), *REPEATING),
    "the idiom": Case(make(rows(from_numpy), worker_init_fn=seed_by_idiom), REPEATING[0], "seed_by_idiom", "DL404"),
    "seed by worker in a stream": Case(
        make(stream(lambda _: np.random.rand()), worker_init_fn=seed_by_worker), *REPEATING
    ),
    "loader seeds every epoch": Case(
        lambda: SeedsEveryEpoch(Rows(from_torch), batch_size=8, num_workers=2), "repeating_loader_seed", "torch", ""
    ),
    "seeded by the worker per sample": Case(make(rows(by_worker)), *PER_SAMPLE),
    "seeded by a constant per sample": Case(make(rows(by_constant)), *PER_SAMPLE),
    "seeded by a constant per sample, no workers": Case(
        make(rows(by_constant), num_workers=0), *PER_SAMPLE
    ),
}  # fmt: skip

CLEAN = {
    "deterministic": Case(make(Rows)),
    "deterministic, unbatched": Case(make(Rows, batch_size=None)),
    "deterministic, no workers": Case(make(Rows, num_workers=0)),
    "numpy's global generator": Case(make(rows(from_numpy))),
    "python's global generator, persistent": Case(make(rows(from_random), **PERSISTENT)),
    "torch's global generator, whole batches": Case(make(rows(from_torch, Batched))),
    "drawn from without workers": Case(make(rows(from_own, rng=numpy_generator), num_workers=0)),
    "kept and never drawn from": Case(make(rows(from_numpy, rng=numpy_generator))),
    "made in the worker": Case(make(rows(lazily, rng=lambda: None))),
    "made in the worker, persistent": Case(make(rows(lazily, rng=lambda: None), **PERSISTENT)),
    "made in the worker from a fixed seed, persistent, collate": Case(
        lambda: make(Rows, collate_fn=Masks(), **PERSISTENT)()
    ),
    "made in the worker from a fixed seed, evaluation": Case(lambda: make(Rows, collate_fn=Masks(), shuffle=False)()),
    "made in the worker from torch's seed, collate": Case(lambda: make(Rows, collate_fn=Masks(None))()),
    "table made with its generator on first use": Case(make(rows(table_of_own, rng=lambda: None, table=lambda: None))),
    "made by worker_init_fn": Case(make(rows(from_own, rng=numpy_generator), worker_init_fn=seed_dataset)),
    "seeded well": Case(make(rows(from_numpy), worker_init_fn=seed_well)),
    "seed by worker, persistent": Case(make(rows(from_random), worker_init_fn=seed_by_worker, **PERSISTENT)),
    "constant seed of what is not drawn from": Case(make(rows(from_torch), worker_init_fn=seed_alike)),
    "seeded by the index": Case(make(rows(by_index))),
    "seeded by the index, persistent": Case(make(rows(by_index), **PERSISTENT)),
    "own generator by the index": Case(make(rows(by_index_own))),
    "evaluation with a constant seed": Case(make(rows(by_constant), shuffle=False)),
    "table made on first use": Case(make(rows(table, rng=numpy_generator, table=lambda: None))),
    "shards ordered alike": Case(make(stream(order=numpy_generator))),
    "stream drawing globally": Case(make(stream(lambda _: random.random(), order=numpy_generator))),
    "made in the iteration from the worker's seed": Case(make(walk(noisy_from(worker_seed)))),
    "made in the iteration by worker, evaluation": Case(
        make(walk(noisy_from(lambda: getattr(get_worker_info(), "id", 0))))
    ),
    "made in the iteration, one worker, evaluation": Case(make(walk(noisy_from(lambda: 42)), num_workers=1)),
    "made in the iteration, no workers, evaluation": Case(make(walk(noisy_from(lambda: 42)), num_workers=0)),
    "made in the iteration for each row": Case(make(walk(by_row))),
    "shuffle buffer seeded alike": Case(make(walk(buffered))),
    "shuffle buffer seeded alike, whole": Case(make(walk(buffered), batch_size=None)),
    "sources mixed alike": Case(make(walk(mixed))),
    "rows chosen alike": Case(make(walk(chosen))),
    "draws without effect": Case(make(walk(without_effect))),
    "distorted alike, then divided": Case(make(DividedAfterwards)),
    "shuffled alike, then divided": Case(make(DividedShuffle)),
    "deterministic stream, unbatched": Case(make(stream(), batch_size=None)),
    "collate drawing globally": Case(make(Rows, collate_fn=Mix())),
    "weighted": Case(make(rows(from_numpy), shuffle=None, sampler=WeightedRandomSampler([1.0] * SIZE, SIZE))),
}
