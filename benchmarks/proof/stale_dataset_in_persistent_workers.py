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


def alike(loader: DataLoader[int]) -> float:
    """Later epochs that give the same samples as the first one."""
    assert isinstance(loader.dataset, Rotating)
    epochs = []
    for epoch in range(EPOCHS):
        loader.dataset.set_epoch(epoch)
        epochs.append(torch.cat(list(loader)))
    return float(sum(later.equal(epochs[0]) for later in epochs[1:]))


def faulty() -> float:
    return alike(DataLoader(Rotating(), 8, num_workers=1, persistent_workers=True, multiprocessing_context="fork"))


def mended() -> float:
    return alike(DataLoader(Rotating(), 8, num_workers=1, multiprocessing_context="fork"))
