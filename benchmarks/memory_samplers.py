"""What samplers hold in the main process, and the CPU time before the first batch: the table of docs/memory.md.

``python benchmarks/memory_samplers.py``: 20 seconds, and 1 GB of memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.utils.data import (
    DataLoader,
    Dataset,
    DistributedSampler,
    RandomSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

from pytest_dataloader.probe.memory.sampler_memory import sampler_memory

if TYPE_CHECKING:
    from collections.abc import Callable


class Numbers(Dataset[int]):
    """Of any length, without data."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, at: int) -> int:
        return at


def weighted(data: Numbers) -> WeightedRandomSampler:
    """All samples alike."""
    weights: Any = torch.ones(len(data))
    return WeightedRandomSampler(weights, len(data))


SAMPLERS: dict[str, Callable[[Numbers], Any]] = {
    "RandomSampler": RandomSampler,
    "SubsetRandomSampler": lambda data: SubsetRandomSampler(range(len(data))),
    "DistributedSampler": lambda data: DistributedSampler(data, 8, 0),
    "WeightedRandomSampler": weighted,
    "RandomSampler(replacement=True)": lambda data: RandomSampler(data, replacement=True),
    "an array of indices": lambda data: np.arange(len(data)),
    "a list of indices": lambda data: list(range(len(data))),
}


def main() -> None:
    """Print a line for each sampler and size."""
    for size in (100_000, 1_000_000, 5_000_000, 10_000_000):
        for name, make in SAMPLERS.items():
            data = Numbers(size)
            seen = sampler_memory(DataLoader(data, batch_size=256, sampler=make(data)))
            if seen is None:
                print(f"{size:>10,} {name:32} no answer")
                continue
            print(
                f"{size:>10,} {name:32} {seen.object_bytes / 1e6:8.2f} MB, {seen.bytes_per_sample:5.1f} B a sample, "
                f"{seen.cpu_seconds_to_first_batch:.4f} s{', large' if seen.is_large else ''}"
            )


if __name__ == "__main__":
    main()
