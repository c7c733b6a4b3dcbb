"""100 records of a file, read 1 ms after they are looked up, opened before four workers are forked, or in each."""

from __future__ import annotations

import tempfile
import time

from torch.utils.data import DataLoader, Dataset

CHECK = "order"
EFFECT = "gives samples the data of other ones in {figure} of 10 epochs, without an error"
COMPARE = "difference"

written = tempfile.NamedTemporaryFile(buffering=0)  # noqa: SIM115  # there until the process ends
written.write(b"".join(number.to_bytes(64, "big") for number in range(100)))


class Faulty(Dataset[int]):
    def __init__(self) -> None:
        self.file = open(written.name, "rb", buffering=0)  # noqa: PTH123, SIM115

    def __getitem__(self, index: int) -> int:
        self.file.seek(64 * index)
        time.sleep(0.001)  # as for a disk
        return int.from_bytes(self.file.read(64))


class Mended(Faulty):
    def __init__(self) -> None:
        pass

    def __getitem__(self, index: int) -> int:
        if not hasattr(self, "file"):
            Faulty.__init__(self)
        return super().__getitem__(index)


def spoilt(dataset: Dataset[int]) -> float:
    """Of ten epochs, those with a sample that is another one's."""
    loader = DataLoader(dataset, None, sampler=range(100), num_workers=4, multiprocessing_context="fork")
    return float(sum(list(loader) != list(range(100)) for _epoch in range(10)))


def faulty() -> float:
    return spoilt(Faulty())


def mended() -> float:
    return spoilt(Mended())
