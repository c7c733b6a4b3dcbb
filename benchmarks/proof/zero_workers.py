"""Training on JPEGs of 500 x 375 pixels, 16 a batch, which the thread that trains decodes or workers do."""

from __future__ import annotations

import io
import time
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

CHECK = "stages"
EFFECT = "keeps the thread that trains busy {figure} times as long with each batch: {faulty} ms, not {mended} ms"
COMPARE = "ratio"
NEEDS = ("PIL",)

torch.set_num_threads(1)
jpeg = io.BytesIO()
Image.effect_noise((500, 375), 40).convert("RGB").save(jpeg, "jpeg")


class Photos(Dataset[torch.Tensor]):
    def __len__(self) -> int:
        return 16 * 25

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.from_numpy(np.array(Image.open(jpeg).resize((224, 224))))


def train(loader: DataLoader[Any]) -> float:
    """CPU time of this thread for each batch, in milliseconds."""
    weight, begun = torch.ones(1, requires_grad=True), time.thread_time()
    for images in loader:
        (weight * images[:, 0, 0].float().mean()).backward()
    return 1e3 * (time.thread_time() - begun) / 25


def faulty() -> float:
    return train(DataLoader(Photos(), batch_size=16, shuffle=True))


def mended() -> float:
    return train(DataLoader(Photos(), batch_size=16, shuffle=True, num_workers=2))
