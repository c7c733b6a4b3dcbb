"""Training on JPEGs of 256 x 256 pixels, 16 a batch, decoded by the thread that trains or by workers."""

from __future__ import annotations

import io
import time
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

CHECK = "stages"
EFFECT = "keeps the thread that trains {figure} times as busy with a batch"
COMPARE = "ratio"
BATCHES = 40


noise = Image.fromarray(np.random.default_rng(0).integers(0, 255, (32, 32, 3), np.uint8))
noise.resize((256, 256)).save(jpeg := io.BytesIO(), "jpeg")


class Photos(Dataset[torch.Tensor]):
    def __len__(self) -> int:
        return BATCHES * 16

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.from_numpy(np.array(Image.open(jpeg)))


def train(loader: DataLoader[Any]) -> float:
    """Milliseconds of CPU time of this process for each batch, beside the step."""
    weight, spent, begun = torch.ones(1, requires_grad=True), 0.0, time.process_time()
    for images in loader:
        spent += time.process_time() - begun
        (weight * images[:, 0, 0].float().mean()).backward()
        begun = time.process_time()
    return 1e3 * spent / BATCHES


def faulty() -> float:
    return train(DataLoader(Photos(), batch_size=16, shuffle=True))


def mended() -> float:
    return train(DataLoader(Photos(), batch_size=16, shuffle=True, num_workers=2))
