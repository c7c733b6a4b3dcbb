"""Four workers that blur images with OpenCV, on a machine that has 16 CPUs for OpenCV."""

from __future__ import annotations

import os

os.environ["OPENCV_FOR_THREADS_NUM"] = "16"

from pathlib import Path

import cv2
import numpy as np
from torch.utils.data import DataLoader, Dataset

NEEDS = ("cv2",)
CHECK = ""
EFFECT = "has {figure} threads more: {faulty} in four workers, not {mended}"
COMPARE = "difference"
ROUNDS = 2
WORKERS = 4


class Blurred(Dataset[int]):
    def __len__(self) -> int:
        return 64

    def __getitem__(self, index: int) -> int:
        cv2.GaussianBlur(np.zeros((1_000, 1_000, 3), np.uint8), (5, 5), 0)
        return sum(1 for _ in Path("/proc/self/task").iterdir())


def one_thread(_worker: int) -> None:
    cv2.setNumThreads(0)


def threads(loader: DataLoader[int]) -> float:
    """The threads of all workers."""
    return WORKERS * max(int(batch.max()) for batch in loader)  # type: ignore[attr-defined]  # collated to a tensor


def faulty() -> float:
    return threads(DataLoader(Blurred(), batch_size=4, num_workers=WORKERS))


def mended() -> float:
    return threads(DataLoader(Blurred(), batch_size=4, num_workers=WORKERS, worker_init_fn=one_thread))
