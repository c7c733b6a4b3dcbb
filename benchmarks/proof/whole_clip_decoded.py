"""One second of a FLAC file of five minutes, cut from the whole or read alone."""

from __future__ import annotations

import random
import tempfile
import time
from typing import Any

import numpy as np
import soundfile
from torch.utils.data import Dataset

NEEDS = ("soundfile",)
CHECK = "stages"
EFFECT = "takes {figure} times the CPU time of a sample: {faulty} ms, not {mended} ms"
COMPARE = "ratio"
RATE = 16_000


class Faulty(Dataset[Any]):
    def __init__(self, path: str) -> None:
        self.path = path

    def __getitem__(self, index: int) -> Any:
        wave, _ = soundfile.read(self.path, dtype="float32")
        start = random.randint(0, len(wave) - RATE)
        return wave[start : start + RATE]


class Mended(Faulty):
    def __getitem__(self, index: int) -> Any:
        start = random.randint(0, soundfile.info(self.path).frames - RATE)
        wave, _ = soundfile.read(self.path, start=start, stop=start + RATE, dtype="float32")
        return wave


def milliseconds(kind: type[Faulty], samples: int) -> float:
    """CPU time of a sample."""
    noise = np.random.default_rng(0).normal(0, 0.1, 300 * RATE)
    with tempfile.NamedTemporaryFile(suffix=".flac") as file:
        soundfile.write(file.name, noise, RATE)
        dataset = kind(file.name)
        begun = time.process_time()
        for index in range(samples):
            dataset[index]
        return (time.process_time() - begun) / samples * 1e3


def faulty() -> float:
    return milliseconds(Faulty, 10)


def mended() -> float:
    return milliseconds(Mended, 100)
