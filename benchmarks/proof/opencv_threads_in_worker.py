"""Four workers that resize with OpenCV, on a machine that OpenCV is told has 16 CPUs."""

from __future__ import annotations

import os

os.environ["OPENCV_FOR_THREADS_NUM"] = "16"

from pathlib import Path

import cv2
import numpy as np
from torch.utils.data import DataLoader, Dataset

NEEDS = ("cv2",)
WORKERS = 4


class Faulty(Dataset[int]):
    def __len__(self) -> int:
        return 64

    def __getitem__(self, index: int) -> int:
        cv2.GaussianBlur(np.zeros((1_000, 1_000, 3), np.uint8), (5, 5), 0)
        return sum(1 for _ in Path("/proc/self/task").iterdir())


def one_thread(_worker: int) -> None:
    cv2.setNumThreads(0)


def faulty() -> DataLoader[int]:
    return DataLoader(Faulty(), batch_size=4, num_workers=WORKERS)


def mended() -> DataLoader[int]:
    return DataLoader(Faulty(), batch_size=4, num_workers=WORKERS, worker_init_fn=one_thread)


def threads(loader: DataLoader[int]) -> int:
    """The threads of all workers."""
    return WORKERS * max(int(batch.max()) for batch in loader)  # type: ignore[attr-defined]  # collated to a tensor


def measure() -> str:
    many, few = threads(faulty()), threads(mended())
    return f"{WORKERS} workers have {many} threads where OpenCV sees 16 CPUs, {few} with cv2.setNumThreads(0)"
