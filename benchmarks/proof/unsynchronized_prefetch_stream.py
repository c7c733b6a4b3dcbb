"""100 batches, each of one number that the one before did not hold, copied on a side stream and looked at."""

from __future__ import annotations

import torch

NEEDS = ("cuda",)
CHECK = ""
EFFECT = "reads {figure} of 100 batches before they have arrived"
COMPARE = "difference"


class Faulty:
    def __init__(self, batches: list[torch.Tensor]) -> None:
        self.batches = iter(batches)
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


def wrong(kind: type[Faulty]) -> float:
    """Batches that do not hold their number when a kernel of the consumer's stream reads them."""
    prefetcher = kind([torch.full((8_000_000,), float(number)).pin_memory() for number in range(10)] * 10)
    right = [(next(prefetcher) == at % 10).all() for at in range(100)]
    return 100 - int(torch.stack(right).sum())


def faulty() -> float:
    return wrong(Faulty)


def mended() -> float:
    return wrong(Mended)
