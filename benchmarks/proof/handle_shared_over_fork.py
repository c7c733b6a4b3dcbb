"""1,000 records of a file, read 1 ms after they are looked up, opened before four workers are forked, or in each."""

from __future__ import annotations

import tempfile
import time
from typing import BinaryIO

import torch
from torch.utils.data import DataLoader, Dataset

CHECK = "order"
EFFECT = "gives {figure} % of the samples the data of other ones, without an error"
COMPARE = "difference"
RECORDS, SIZE = 1_000, 64

written = tempfile.NamedTemporaryFile()  # noqa: SIM115  # there until the process ends
written.write(b"".join(number.to_bytes(SIZE, "little") for number in range(RECORDS)))
written.flush()


class Faulty(Dataset[int]):
    def __init__(self) -> None:
        self.file: BinaryIO | None = open(written.name, "rb", buffering=0)  # noqa: PTH123, SIM115

    def __len__(self) -> int:
        return RECORDS

    def __getitem__(self, index: int) -> int:
        assert self.file is not None
        self.file.seek(SIZE * index)
        time.sleep(0.001)  # as for a disk
        return int.from_bytes(self.file.read(SIZE), "little")


class Mended(Faulty):
    def __init__(self) -> None:
        self.file = None

    def __getitem__(self, index: int) -> int:
        if self.file is None:
            self.file = open(written.name, "rb", buffering=0)  # noqa: PTH123, SIM115
        return super().__getitem__(index)


def percent(dataset: Dataset[int]) -> float:
    """Share of wrong samples in an epoch."""
    loader = DataLoader(dataset, batch_size=10, num_workers=4, multiprocessing_context="fork")
    return 100 * float((torch.cat(list(loader)) != torch.arange(RECORDS)).float().mean())


def faulty() -> float:
    return percent(Faulty())


def mended() -> float:
    return percent(Mended())
