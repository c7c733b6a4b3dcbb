"""Loaders of known kinds for calibrating the memory check: what is clean, what is faulty, and which attribute pays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass(frozen=True)
class Case:
    """A loader to judge: ``kinds`` are acceptable (all are needed where ``together``), ``path`` must be named."""

    name: str
    build: Callable[[], DataLoader[Any]]
    kinds: tuple[str, ...]
    path: str = ""
    megabytes: float = 0.0
    together: bool = False


CLEAN: list[Case] = []
FAULTY: list[Case] = []
ROWS = 200_000


def path_of(number: int) -> str:
    """A path as data sets have them: 112 bytes as a Python string."""
    return f"/data/images/train/class_{number % 1000:04d}/image_{number:09d}.jpg"


def paths(megabytes: float) -> list[str]:
    """Paths of so many MB in all."""
    return [path_of(number) for number in range(int(megabytes * 1e6 / 112))]


class Read(Dataset[Any]):
    """A map-style dataset that keeps ``fields`` and reads sample ``i`` by ``get(self, i)``."""

    def __init__(self, size: int, get: Callable[[Any, int], Any], /, **fields: Any) -> None:
        self.size = size
        self.get = get
        vars(self).update(fields)

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, at: int) -> Any:
        return self.get(self, at)


class Batched(Read):
    """The same, read batch by batch."""

    def __getitems__(self, chosen: list[int]) -> list[Any]:
        return [self.get(self, at) for at in chosen]


class Iterate(IterableDataset[Any]):
    """An iterable dataset over ``make(self)``, each worker its own share."""

    def __init__(self, make: Callable[[Any], Any], /, **fields: Any) -> None:
        self.make = make
        vars(self).update(fields)

    def __iter__(self) -> Iterator[Any]:
        info = torch.utils.data.get_worker_info()
        start, step = (info.id, info.num_workers) if info else (0, 1)
        for at, row in enumerate(self.make(self)):
            if at % step == start:
                yield row


class Wrapper(Dataset[Any]):
    """A dataset behind another, as transforms are added."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __len__(self) -> int:
        return len(self.inner)

    def __getitem__(self, at: int) -> Any:
        return self.inner[at]


class Holder:
    """A helper object that keeps ``fields``."""

    def __init__(self, **fields: Any) -> None:
        vars(self).update(fields)


def load(dataset: Any, **settings: Any) -> DataLoader[Any]:
    """A loader with two forked workers, shuffled where it can be."""
    if not isinstance(dataset, IterableDataset) and not {"sampler", "batch_sampler", "shuffle"} & settings.keys():
        settings["shuffle"] = True
    if "batch_sampler" not in settings:
        settings.setdefault("batch_size", 32)
    return DataLoader(dataset, num_workers=2, multiprocessing_context="fork", **settings)


def clean(function: Callable[[], DataLoader[Any]]) -> None:
    """Register a loader that must not be accused."""
    CLEAN.append(Case(function.__name__, function, ("clean", "warm_up")))


def copies(path: str, megabytes: float) -> Callable[[Callable[[], DataLoader[Any]]], None]:
    """Register a loader whose workers copy ``path`` on access."""
    return lambda function: FAULTY.append(
        Case(function.__name__, function, ("copy_on_access",), path, megabytes)
    )  # fmt: skip


def accumulates(*kinds: str, path: str = "", together: bool = False) -> Callable[[Callable[[], DataLoader[Any]]], None]:
    """Register a loader that leaks, fills a cache or keeps batches."""
    return lambda function: FAULTY.append(Case(function.__name__, function, kinds, path, together=together))


def length_at(name: str) -> Callable[[Any, int], int]:
    """Read element ``i`` of an attribute and return its length: the content itself is not sent."""
    return lambda self, at: len(getattr(self, name)[at])


def value_at(name: str) -> Callable[[Any, int], Any]:
    """Read element ``i`` of an attribute."""
    return lambda self, at: getattr(self, name)[at]
