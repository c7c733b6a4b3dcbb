"""One second of a FLAC file of five minutes, cut from the whole or read alone."""

from __future__ import annotations

import random
import tempfile
import time
from typing import Any

import soundfile
from torch.utils.data import Dataset

RATE = 16_000
NEEDS = ("soundfile",)


class Faulty(Dataset[Any]):
    def __init__(self, path: str) -> None:
        self.path = path

    def __getitem__(self, index: int) -> Any:
        wave, _ = soundfile.read(self.path, dtype="float32")
        start = random.randint(0, len(wave) - RATE)
        return wave[start : start + RATE]


class Mended(Dataset[Any]):
    def __init__(self, path: str) -> None:
        self.path = path

    def __getitem__(self, index: int) -> Any:
        start = random.randint(0, soundfile.info(self.path).frames - RATE)
        wave, _ = soundfile.read(self.path, start=start, stop=start + RATE, dtype="float32")
        return wave


def milliseconds(dataset: Dataset[Any], samples: int) -> float:
    """CPU time of a sample."""
    begun = time.process_time()
    for index in range(samples):
        dataset[index]
    return (time.process_time() - begun) / samples * 1e3


def measure() -> str:
    import numpy as np

    noise = np.random.default_rng(0).normal(0, 0.1, 300 * RATE)
    with tempfile.NamedTemporaryFile(suffix=".flac") as file:
        soundfile.write(file.name, noise, RATE)
        faulty, mended = milliseconds(Faulty(file.name), 10), milliseconds(Mended(file.name), 100)
    return f"a second of five minutes of FLAC takes {faulty:.0f} ms cut from the whole, {mended:.1f} ms read alone"
