"""1,000 samples of ten classes in stored order, from a builder that ignores `shuffle=True`, or passes it on."""

from __future__ import annotations

import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset

Batches = DataLoader[tuple[torch.Tensor, ...]]

CHECK = "order"
EFFECT = "leaves {figure} of 100 batches with samples of one class only"
COMPARE = "difference"
ROUNDS = 2

dataset = TensorDataset(torch.arange(1_000) // 100)


def ignoring(data: Dataset[tuple[torch.Tensor, ...]], *, shuffle: bool) -> Batches:  # noqa: ARG001  # the fault
    return DataLoader(data, batch_size=10)


def passing(data: Dataset[tuple[torch.Tensor, ...]], *, shuffle: bool) -> Batches:
    return DataLoader(data, batch_size=10, shuffle=shuffle)


def of_one_class(loader: Batches) -> float:
    """Batches whose samples are all of one class."""
    return float(sum(len(classes.unique()) == 1 for (classes,) in loader))


def faulty() -> float:
    return of_one_class(ignoring(dataset, shuffle=True))


def mended() -> float:
    return of_one_class(passing(dataset, shuffle=True))
