"""A dataset that gets the epoch, in workers that persist, or that are started for each epoch."""

from __future__ import annotations

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


def faulty() -> float:
    dataset, first = Rotating(), []
    loader = DataLoader(dataset, 64, num_workers=1, persistent_workers=True, multiprocessing_context="fork")
    for epoch in range(EPOCHS):
        dataset.epoch = epoch
        for batch in loader:
            first += batch[:1].tolist()
    return first.count(0) - 1


def mended() -> float:
    dataset, first = Rotating(), []
    loader = DataLoader(dataset, 64, num_workers=1, multiprocessing_context="fork")
    for epoch in range(EPOCHS):
        dataset.epoch = epoch
        for batch in loader:
            first += batch[:1].tolist()
    return first.count(0) - 1
