"""Captioned JPEG files as a PyTorch data pipeline, the way it should be."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

FOLDER = Path(__file__).parent.parent / "images"


class CaptionedImages(Dataset[tuple[torch.Tensor, int, str]]):
    """Pictures with label and caption; the index lives in three arrays that forked workers share."""

    def __init__(self, folder: Path = FOLDER) -> None:
        rows = json.loads((folder / "index.json").read_text())
        self.folder = folder
        self.paths = np.array([row["path"] for row in rows], dtype=np.bytes_)
        self.labels = np.array([row["label"] for row in rows])
        self.captions = np.array([row["caption"] for row in rows], dtype=np.bytes_)

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int, str]:
        with Image.open(self.folder / self.paths[index].decode()) as image:
            pixels = torch.from_numpy(np.array(image.convert("RGB")))
        return pixels.permute(2, 0, 1), int(self.labels[index]), self.captions[index].decode()


def make_train_loader() -> DataLoader[tuple[torch.Tensor, int, str]]:
    return DataLoader(CaptionedImages(), batch_size=32, shuffle=True, num_workers=2, persistent_workers=True)
