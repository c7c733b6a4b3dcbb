"""The last batch of an epoch has one sample, and batch normalisation raises on it at the end of the first epoch."""

import torch
from torch.utils.data import DataLoader, TensorDataset

REPORT = "pytorch/pytorch#7716"
TRUE = "the last of 17 batches has one sample: BatchNorm raises in training"
CHECK, WORDS = "order", r"last batch of an epoch has 1 sample"


def make():
    return DataLoader(TensorDataset(torch.randn(513, 8)), batch_size=32, shuffle=True, num_workers=2)


def mended():
    return DataLoader(TensorDataset(torch.randn(513, 8)), batch_size=32, shuffle=True, num_workers=2, drop_last=True)


def bare(loader):
    norm, raised = torch.nn.BatchNorm1d(8), 0
    for (rows,) in loader:
        try:
            norm(rows)
        except ValueError:
            raised += 1
    return f"BatchNorm raises in {raised} of {len(loader)} steps"
