"""200 stored samples, of which 50 were cut off while they were copied."""

from __future__ import annotations

import contextlib
import io

import torch
from torch.utils.data import DataLoader, Dataset

CHECK = ""
EFFECT = "trains on {figure} samples of zeros in an epoch of 200, without an error"
COMPARE = "difference"
ROUNDS = 2
torch.save(torch.ones(64), whole := io.BytesIO())
FILES = [whole.getvalue()[: 100 if index % 4 == 0 else None] for index in range(200)]


class Faulty(Dataset[torch.Tensor]):
    def __len__(self) -> int:
        return len(FILES)

    def __getitem__(self, index: int) -> torch.Tensor:
        try:
            return torch.load(io.BytesIO(FILES[index]))
        except Exception:
            return torch.zeros(64)


class Mended(Faulty):
    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.load(io.BytesIO(FILES[index]))


def zeros(dataset: Dataset[torch.Tensor]) -> float:
    """How many samples of an epoch are zeros; none where it raises in the first batch."""
    with contextlib.suppress(RuntimeError):
        return sum(int((batch == 0).all(1).sum()) for batch in DataLoader(dataset, batch_size=20, num_workers=2))
    return 0


def faulty() -> float:
    return zeros(Faulty())


def mended() -> float:
    return zeros(Mended())
