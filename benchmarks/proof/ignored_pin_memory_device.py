"""A loader that pins, with `pin_memory_device="cuda"` and without."""

from __future__ import annotations

import warnings

from torch.utils.data import DataLoader

CHECK = ""
EFFECT = "gives {figure} more warning in each epoch, which ends a run that turns warnings into errors"
COMPARE = "difference"
ROUNDS = 2


def warned(loader: DataLoader[int]) -> float:
    """The warnings of an epoch."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        list(loader)
    return len(told)


def faulty() -> float:
    return warned(DataLoader(range(100), batch_size=10, pin_memory=True, pin_memory_device="cuda"))  # type: ignore[arg-type]  # a list will do


def mended() -> float:
    return warned(DataLoader(range(100), batch_size=10, pin_memory=True))  # type: ignore[arg-type]  # a list will do
