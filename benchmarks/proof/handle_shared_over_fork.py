"""1,000 records of a file, read 1 ms after they are looked up, opened before four workers are forked, or in each."""

from __future__ import annotations

import tempfile
import time

from torch.utils.data import DataLoader, Dataset

CHECK = "order"
EFFECT = "gives {figure} % of the samples the data of other ones, without an error"
COMPARE = "difference"

written = tempfile.NamedTemporaryFile(buffering=0)  # noqa: SIM115  # there until the process ends
written.write(b"".join(number.to_bytes(64, "big") for number in range(1_000)))


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


def percent(dataset: Dataset[int]) -> float:
    """Share of wrong samples in an epoch."""
    loader = DataLoader(dataset, None, sampler=range(1_000), num_workers=4, multiprocessing_context="fork")
    return sum(sample != index for index, sample in enumerate(loader)) / 10


def faulty() -> float:
    return percent(Faulty())


def mended() -> float:
    return percent(Mended())
