"""1,000 samples sorted by class, batches of 128, and a model that knows nine of the ten classes."""

from __future__ import annotations

import torch
from torch.utils.data import DataLoader, TensorDataset

CHECK = "order"
EFFECT = "tells an accuracy that is {figure} points too high: {faulty} %, where all samples give {mended} %"
COMPARE = "difference"
ROUNDS = 2

test_set = TensorDataset(torch.arange(1_000) // 100)


def accuracy(loader: DataLoader[tuple[torch.Tensor, ...]]) -> float:
    """Percent of the samples that the loader gives."""
    right = torch.cat([labels.clamp(max=8) == labels for (labels,) in loader])
    return 100 * int(right.sum()) / len(right)


def faulty() -> float:
    test_loader = DataLoader(test_set, batch_size=128, drop_last=True)
    return accuracy(test_loader)


def mended() -> float:
    test_loader = DataLoader(test_set, batch_size=128)
    return accuracy(test_loader)
