"""Loaders of six kinds for the timing benchmarks, whose samples can be made dearer by a factor."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

if TYPE_CHECKING:
    from collections.abc import Iterator


class Sleeping(Dataset[Any]):
    """Waits, as for a disk."""

    batch_size = 8

    def __init__(self, cost: float = 1.0) -> None:
        self.cost = cost

    def __len__(self) -> int:
        return 1_000_000

    def __getitem__(self, index: int) -> Any:
        time.sleep(0.001 * self.cost)
        return torch.tensor(index)


class Computing(Sleeping):
    """Computes in Python."""

    batch_size = 16

    def __getitem__(self, index: int) -> Any:
        return torch.tensor(sum(step * step & 7 for step in range(int(3000 * self.cost))) + index)


class Copying(Sleeping):
    """Copies a megabyte."""

    def __init__(self, cost: float = 1.0) -> None:
        super().__init__(cost)
        self.data = np.ones(int(1_000_000 * cost), np.uint8)

    def __getitem__(self, index: int) -> Any:
        return torch.from_numpy(self.data.copy())


class Decoding(Sleeping):
    """Decodes a JPEG."""

    def __init__(self, cost: float = 1.0) -> None:
        super().__init__(cost)
        noise = np.random.default_rng(0).integers(0, 255, (int(240 * cost), 320, 3), np.uint8)
        file = io.BytesIO()
        Image.fromarray(noise).save(file, "JPEG")
        self.data = file.getvalue()

    def __getitem__(self, index: int) -> Any:
        return torch.from_numpy(np.asarray(Image.open(io.BytesIO(self.data)).convert("RGB")).copy())


class Tiny(Sleeping):
    """Hands out a number; dearer, a few more in between."""

    batch_size = 32

    def __getitem__(self, index: int) -> Any:
        return [torch.tensor(float(index)) for _ in range(round(10 * self.cost))][-1]


class Dicts(Sleeping):
    """Hands out ten small tensors."""

    batch_size = 16

    def __getitem__(self, index: int) -> Any:
        return {str(key): torch.full((8,), float(key)) for key in range(round(10 * self.cost))}


class Uneven(Sleeping):
    """Every sixteenth sample waits 20 times as long."""

    def __getitem__(self, index: int) -> Any:
        time.sleep(0.001 * (20 if index % 16 == 0 else 1))
        return torch.tensor(index)


class Mixed(Computing):
    """Waits and computes."""

    batch_size = 8

    def __getitem__(self, index: int) -> Any:
        time.sleep(0.002)
        return super().__getitem__(index)


KINDS = (Sleeping, Computing, Copying, Decoding, Tiny, Dicts)


def make(kind: type[Sleeping], workers: int = 0, cost: float = 1.0) -> DataLoader[Any]:
    return DataLoader(kind(cost), batch_size=kind.batch_size, num_workers=workers)


@contextlib.contextmanager
def busy_loops(count: int) -> Iterator[None]:
    """So many processes that do nothing but compute."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
