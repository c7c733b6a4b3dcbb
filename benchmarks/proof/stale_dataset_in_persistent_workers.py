"""A dataset that is told the epoch, in workers that persist, or that are started for each epoch."""

from __future__ import annotations

import torch
from torch.utils.data import DataLoader, Dataset

CHECK = "order"
EFFECT = "trains {figure} of 9 later epochs on what the first one had"
COMPARE = "difference"
ROUNDS = 2
EPOCHS = 10


class Rotating(Dataset[int]):
    epoch = 0

    def __len__(self) -> int:
        return 64

    def __getitem__(self, index: int) -> int:
        return index + 64 * self.epoch

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch


def alike(epochs: list[torch.Tensor]) -> float:
    """Later epochs that give the same samples as the first one."""
    return float(sum(later.equal(epochs[0]) for later in epochs[1:]))


def faulty() -> float:
    dataset, seen = Rotating(), [torch.zeros(0) for _ in range(EPOCHS)]
    loader = DataLoader(dataset, 8, num_workers=1, persistent_workers=True, multiprocessing_context="fork")
    for epoch in range(EPOCHS):
        dataset.set_epoch(epoch)
        for batch in loader:
            seen[epoch] = torch.cat([seen[epoch], batch])
    return alike(seen)


def mended() -> float:
    dataset, seen = Rotating(), [torch.zeros(0) for _ in range(EPOCHS)]
    loader = DataLoader(dataset, 8, num_workers=1, multiprocessing_context="fork")
    for epoch in range(EPOCHS):
        dataset.set_epoch(epoch)
        for batch in loader:
            seen[epoch] = torch.cat([seen[epoch], batch])
    return alike(seen)
