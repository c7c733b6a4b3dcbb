"""Batches of ones, copied on a side stream: how many are summed before they have arrived."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Iterator

NEEDS = ("cuda",)
BATCHES, SIZE = 100, 8_000_000


class Faulty:
    def __init__(self, batches: Iterator[torch.Tensor]) -> None:
        self.batches = batches
        self.side = torch.cuda.Stream()

    def __next__(self) -> torch.Tensor:
        batch = next(self.batches)
        with torch.cuda.stream(self.side):
            return batch.cuda(non_blocking=True)


class Mended(Faulty):
    def __next__(self) -> torch.Tensor:
        batch = next(self.batches)
        with torch.cuda.stream(self.side):
            moved = batch.cuda(non_blocking=True)
        torch.cuda.current_stream().wait_stream(self.side)
        moved.record_stream(torch.cuda.current_stream())
        return moved


def wrong(kind: type[Faulty]) -> int:
    """Batches whose sum is not what it should be; what was in the memory before is zeros."""
    prefetcher = kind(iter([torch.ones(SIZE).pin_memory()] * BATCHES))
    sums = []
    for _ in range(BATCHES):
        torch.zeros(SIZE, device="cuda")
        sums.append(next(prefetcher).sum())
    return int((torch.stack(sums) != SIZE).sum())


def measure() -> str:
    return f"{wrong(Faulty)} of {BATCHES} batches were summed before they had arrived, {wrong(Mended)} with a wait"
