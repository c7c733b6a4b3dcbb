"""A collate function that is a lambda, or a function of the module, under spawn: the default of macOS and Windows."""

from __future__ import annotations

import pickle
from typing import Any

import torch
from torch.utils.data import DataLoader, TensorDataset

CHECK = "portability"
EFFECT = "loses all {figure} batches of an epoch: no worker starts under spawn or forkserver"
COMPARE = "difference"
ROUNDS = 2

dataset = TensorDataset(torch.arange(80))


def stacked(samples: list[Any]) -> torch.Tensor:
    return torch.stack([sample for (sample,) in samples])


def lost(loader: DataLoader[Any]) -> float:
    """Batches of an epoch that do not come."""
    came = 0
    try:
        for _batch in loader:
            came += 1
    except (pickle.PicklingError, AttributeError):
        pass
    return float(len(loader) - came)


def faulty() -> float:
    collate = lambda samples: torch.stack([sample for (sample,) in samples])  # noqa: E731  # the fault
    return lost(DataLoader(dataset, batch_size=8, num_workers=1, collate_fn=collate, multiprocessing_context="spawn"))


def mended() -> float:
    return lost(DataLoader(dataset, batch_size=8, num_workers=1, collate_fn=stacked, multiprocessing_context="spawn"))
