"""From how many bytes on larger batches of one tensor come no faster: 2 kB to 8 MB beside four times as much.

python benchmarks/batch_bytes.py --seconds 1.2
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

SAMPLE_BYTES = (256, 2_048, 16_384, 131_072, 1_048_576)
WARM_UP = 24
"""Batches."""


class Filled(Dataset[Any]):
    """Makes a whole batch at once."""

    def __init__(self, sample_bytes: int) -> None:
        self.numbers = sample_bytes // 4

    def __len__(self) -> int:
        return 10**9

    def __getitems__(self, indices: list[int]) -> Any:
        return torch.full((len(indices), self.numbers), 1.0)


def as_it_is(batch: Any) -> Any:
    return batch


def samples_per_second(sample_bytes: int, batch_size: int, seconds: float) -> float:
    batches = iter(DataLoader(Filled(sample_bytes), batch_size, num_workers=2, collate_fn=as_it_is))
    for _ in range(WARM_UP):
        next(batches)
    started, came = time.perf_counter(), 0
    while time.perf_counter() - started < seconds:
        came += len(next(batches))
    return came / (time.perf_counter() - started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1.2)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    for sample_bytes in SAMPLE_BYTES:
        for batch_size in (8, 32) if sample_bytes < SAMPLE_BYTES[-1] else (8,):
            as_large, larger = (
                samples_per_second(sample_bytes, size, asked.seconds) for size in (batch_size, 4 * batch_size)
            )
            print(
                f"{sample_bytes * batch_size:>9,} bytes: {larger / as_large:.2f} times as many samples in larger ones"
            )


if __name__ == "__main__":
    main()
