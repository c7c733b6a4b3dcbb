"""100,000 annotations of a dataset as dicts, or as one array of records, read by two forked workers."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from torch.utils.data import DataLoader, Dataset

from pytest_dataloader import diagnose

CHECK = "memory"
EFFECT = "costs each worker {figure} MB of memory for 100,000 samples"
COMPARE = "difference"
ROWS = 100_000


class Faulty(Dataset[int]):
    def __init__(self) -> None:
        self.rows = [json.loads(f'{{"path": "{number:08}.jpg", "label": {number}}}') for number in range(ROWS)]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> int:
        return int(self.rows[index]["label"])


class Mended(Faulty):
    def __init__(self) -> None:
        kind = [("path", "S12"), ("label", np.int64)]
        self.rows = np.array([(f"{number:08}.jpg", number) for number in range(ROWS)], dtype=kind)


def megabytes(dataset: Dataset[Any]) -> float:
    """What a worker takes for itself in an epoch."""
    loader = DataLoader(dataset, batch_size=32, shuffle=True, num_workers=2, multiprocessing_context="fork")
    return diagnose(loader, checks=["memory"])["memory"].growth_bytes_per_worker / 1e6


def faulty() -> float:
    return megabytes(Faulty())


def mended() -> float:
    return megabytes(Mended())
