"""The same pipeline with faults that are easy to write and hard to see."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

FOLDER = Path(__file__).parent.parent / "images"


class CaptionedImages(Dataset[tuple[torch.Tensor, int, str]]):
    """590,000 images with captions in training; a few of them stand here for all."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self.folder = folder
        # Fault: one Python dict per sample. Every forked worker ends up with a copy of its own.
        self.rows = json.loads((folder / "index.json").read_text())

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int, str]:
        row = self.rows[index]
        # Fault: the class names are read and parsed again for every sample.
        classes = json.loads((self.folder / "classes.json").read_text())
        # Fault: the picture is enlarged with the dearest filter, then most of the work is thrown away.
        with Image.open(self.folder / row["path"]) as image:
            large = image.convert("RGB").resize((1024, 1024), Image.Resampling.LANCZOS)
        pixels = torch.from_numpy(np.array(large.resize((160, 160))))
        return pixels.permute(2, 0, 1), row["label"], f"{classes[row['label']]}: {row['caption']}"


def make_train_loader() -> DataLoader[tuple[torch.Tensor, int, str]]:
    return DataLoader(CaptionedImages(), batch_size=32, shuffle=True, num_workers=2)
