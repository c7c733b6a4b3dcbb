"""Samples that a worker puts on the accelerator, or that the training loop does."""

from __future__ import annotations

import torch
from torch.utils.data import DataLoader, Dataset

NEEDS = ("cuda",)
CHECK = "workers"
EFFECT = "loses {figure} of 10 batches of an epoch: forked workers cannot use CUDA that was initialised before"
COMPARE = "difference"
ROUNDS = 2


class Faulty(Dataset[torch.Tensor]):
    def __len__(self) -> int:
        return 320

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.full((3,), float(index), device="cuda")


class Mended(Faulty):
    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.full((3,), float(index))


def lost(dataset: Faulty) -> float:
    """Batches of an epoch that do not come."""
    torch.zeros(1, device="cuda")
    came = 0
    try:
        for batch in DataLoader(dataset, batch_size=32, num_workers=2, multiprocessing_context="fork"):
            batch.cuda()
            came += 1
    except RuntimeError:
        pass
    return 10.0 - came


def faulty() -> float:
    return lost(Faulty())


def mended() -> float:
    return lost(Mended())
