"""A zip archive of 10,000 samples, opened for each of them or once."""

from __future__ import annotations

import tempfile
import time
import zipfile

from torch.utils.data import Dataset

CHECK = "stages"
EFFECT = "takes {figure} times the CPU time of a sample: {faulty} ms, not {mended} ms"
COMPARE = "ratio"

file = tempfile.NamedTemporaryFile(suffix=".zip")  # noqa: SIM115  # there until the process ends
with zipfile.ZipFile(file.name, "w") as written:
    for number in range(10_000):
        written.writestr(f"{number}.bin", bytes(2_000))


class Faulty(Dataset[bytes]):
    def __getitem__(self, index: int) -> bytes:
        with zipfile.ZipFile(file.name) as archive:
            return archive.read(f"{index}.bin")


class Mended(Dataset[bytes]):
    archive: zipfile.ZipFile | None = None

    def __getitem__(self, index: int) -> bytes:
        if self.archive is None:
            self.archive = zipfile.ZipFile(file.name)
        return self.archive.read(f"{index}.bin")


def milliseconds(dataset: Dataset[bytes], samples: int) -> float:
    """CPU time of a sample."""
    begun = time.process_time()
    list(map(dataset.__getitem__, range(samples)))
    return (time.process_time() - begun) / samples * 1e3


def faulty() -> float:
    return milliseconds(Faulty(), 50)


def mended() -> float:
    return milliseconds(Mended(), 10_000)
