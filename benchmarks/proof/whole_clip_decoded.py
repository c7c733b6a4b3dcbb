"""One second of a FLAC file of five minutes, cut from the whole or read alone."""

from __future__ import annotations

import tempfile
import time

import numpy as np
import soundfile
from torch.utils.data import Dataset

NEEDS = ("soundfile",)
CHECK = "stages"
EFFECT = "takes {figure} times the CPU time of a sample: {faulty} ms, not {mended} ms"
COMPARE = "ratio"
RATE = 16_000
file = tempfile.NamedTemporaryFile(suffix=".flac")  # noqa: SIM115  # there until the process ends
soundfile.write(file.name, np.random.default_rng(0).normal(0, 0.1, 300 * RATE), RATE)


class Faulty(Dataset[object]):
    def __getitem__(self, index: int) -> object:
        wave, _ = soundfile.read(file.name, dtype="float32")
        return wave[index * RATE : (index + 1) * RATE]


class Mended(Dataset[object]):
    def __getitem__(self, index: int) -> object:
        wave, _ = soundfile.read(file.name, start=index * RATE, stop=(index + 1) * RATE, dtype="float32")
        return wave


def milliseconds(dataset: Dataset[object], samples: int) -> float:
    """CPU time of a sample."""
    begun = time.process_time()
    list(map(dataset.__getitem__, range(samples)))
    return (time.process_time() - begun) / samples * 1e3


def faulty() -> float:
    return milliseconds(Faulty(), 10)


def mended() -> float:
    return milliseconds(Mended(), 300)
