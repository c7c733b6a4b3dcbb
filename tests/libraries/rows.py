"""Datasets that the loaders of libraries read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import Dataset, IterableDataset, get_worker_info

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZE = 256


class Noisy(Dataset[Any]):
    """Rows with noise from torch's own generator, and the index."""

    def __len__(self) -> int:
        return SIZE

    def __getitem__(self, index: int) -> Any:
        return index + torch.rand(8), index


class Names(Dataset[Any]):
    """A Python object for each sample."""

    def __init__(self) -> None:
        self.names = [f"sample-{number}.jpg" for number in range(30_000)]

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, index: int) -> int:
        return len(self.names[index])


class Stream(IterableDataset[Any]):
    """Numbers, split by worker."""

    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        worker, workers = (info.id, info.num_workers) if info else (0, 1)
        return iter(torch.arange(SIZE)[worker::workers])
