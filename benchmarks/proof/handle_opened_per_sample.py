"""A zip archive of 10,000 samples, opened for each of them or once."""

from __future__ import annotations

import tempfile
import time
import zipfile

from torch.utils.data import Dataset

CHECK = "stages"
EFFECT = "takes {figure} times the CPU time of a sample: {faulty} ms, not {mended} ms"
COMPARE = "ratio"


class Faulty(Dataset[bytes]):
    def __init__(self, path: str) -> None:
        self.path = path

    def __getitem__(self, index: int) -> bytes:
        with zipfile.ZipFile(self.path) as archive:
            return archive.read(f"{index}.bin")


class Mended(Dataset[bytes]):
    def __init__(self, path: str) -> None:
        self.path = path
        self.archive: zipfile.ZipFile | None = None

    def __getitem__(self, index: int) -> bytes:
        if self.archive is None:
            self.archive = zipfile.ZipFile(self.path)
        return self.archive.read(f"{index}.bin")


def milliseconds(kind: type[Dataset[bytes]], samples: int) -> float:
    """CPU time of a sample."""
    with tempfile.NamedTemporaryFile(suffix=".zip") as file:
        with zipfile.ZipFile(file.name, "w") as archive:
            for index in range(10_000):
                archive.writestr(f"{index}.bin", bytes(2_000))
        dataset = kind(file.name)  # type: ignore[call-arg]  # both take a path
        begun = time.process_time()
        for index in range(samples):
            dataset[index]
        return (time.process_time() - begun) / samples * 1e3


def faulty() -> float:
    return milliseconds(Faulty, 50)


def mended() -> float:
    return milliseconds(Mended, 10_000)
