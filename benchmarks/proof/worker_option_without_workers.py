"""A loader that asks to keep its workers, and has none."""

from __future__ import annotations

import torch
from torch.utils.data import DataLoader, TensorDataset

CHECK = ""
EFFECT = "stops the script before its first batch, with ValueError: {figure} of 100 batches are lost"
COMPARE = "difference"
ROUNDS = 2

dataset = TensorDataset(torch.arange(1_600))


def faulty() -> float:
    try:
        loader = DataLoader(dataset, batch_size=16, persistent_workers=True)
    except ValueError:
        return 100
    return 100 - sum(1 for _ in loader)


def mended() -> float:
    try:
        loader = DataLoader(dataset, batch_size=16, num_workers=2, persistent_workers=True)
    except ValueError:
        return 100
    return 100 - sum(1 for _ in loader)
