"""1,000 samples sorted by class, of which a model knows all classes but the last."""

from __future__ import annotations

import torch
from torch.utils.data import DataLoader, TensorDataset

test_set = TensorDataset(torch.arange(1_000) // 100)


def faulty() -> DataLoader[tuple[torch.Tensor, ...]]:
    return DataLoader(test_set, batch_size=128, drop_last=True)


def mended() -> DataLoader[tuple[torch.Tensor, ...]]:
    return DataLoader(test_set, batch_size=128)


def accuracy(loader: DataLoader[tuple[torch.Tensor, ...]]) -> tuple[float, int]:
    """Percent, and of how many samples."""
    right = seen = 0
    for (labels,) in loader:
        guesses = labels.clamp(max=8)
        right += int((guesses == labels).sum())
        seen += len(labels)
    return 100 * right / seen, seen


def measure() -> str:
    (said, of), (true, all_of) = accuracy(faulty()), accuracy(mended())
    return f"a model of nine of ten classes is right for {said:.1f} % of {of} samples, for {true:.1f} % of all {all_of}"
