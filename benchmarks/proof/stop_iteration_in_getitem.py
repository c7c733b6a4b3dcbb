"""1,000 samples of which one looks for a label that is not there, by ``next()`` with and without a default."""

from __future__ import annotations

from torch.utils.data import DataLoader, Dataset

CHECK = "order"
EFFECT = "loses {figure} of 1,000 samples, and no error is raised"
COMPARE = "difference"
ROUNDS = 2


class Faulty(Dataset[int]):
    def __init__(self) -> None:
        self.labels = [[index] for index in range(1_000)]

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> int:
        return next(label for label in self.labels[index] if label != 400)


class Mended(Faulty):
    def __getitem__(self, index: int) -> int:
        return next((label for label in self.labels[index] if label != 400), -1)


def lost(dataset: Faulty) -> float:
    """Samples of an epoch that do not come."""
    return float(len(dataset) - sum(len(batch) for batch in DataLoader(dataset, batch_size=20, num_workers=2)))


def faulty() -> float:
    return lost(Faulty())


def mended() -> float:
    return lost(Mended())
