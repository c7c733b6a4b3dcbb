"""A file of 1,000 lines that four workers read, each of them all or its share."""

from __future__ import annotations

import tempfile
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from torch.utils.data import DataLoader, IterableDataset, get_worker_info

if TYPE_CHECKING:
    from collections.abc import Iterator

CHECK = "order"
EFFECT = "gives each sample {figure} times an epoch"
COMPARE = "ratio"
ROUNDS = 2


class Faulty(IterableDataset[str]):
    def __init__(self, path: Path) -> None:
        self.path = path

    def __iter__(self) -> Iterator[str]:
        with self.path.open() as file:
            for line in file:
                yield line.strip()


class Mended(IterableDataset[str]):
    def __init__(self, path: Path) -> None:
        self.path = path

    def __iter__(self) -> Iterator[str]:
        worker = get_worker_info()
        first, step = (worker.id, worker.num_workers) if worker is not None else (0, 1)
        with self.path.open() as file:
            for line in islice(file, first, None, step):
                yield line.strip()


def times(kind: type[Faulty | Mended]) -> float:
    """How often an epoch gives a line."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "lines.txt")
        path.write_text("".join(f"line {number}\n" for number in range(1_000)))
        return sum(len(lines) for lines in DataLoader(kind(path), batch_size=10, num_workers=4)) / 1_000


def faulty() -> float:
    return times(Faulty)


def mended() -> float:
    return times(Mended)
