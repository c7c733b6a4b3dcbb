"""Single samples: what they read of files, and whether an epoch reads the same bytes again and again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from pytest_dataloader.probe.timing.sample_times import sample_times

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SIZE = 64
VALUES = 16_384


class Stored(Dataset[Any]):
    """Rows of 64 kB, in one file or in one each, and a small file that every sample reads."""

    def __init__(self, folder: Path, read: Callable[[Path, int], Any]) -> None:
        self.folder = folder
        self.read = read
        rows = np.arange(SIZE * VALUES, dtype=np.float32).reshape(SIZE, VALUES)
        np.save(folder / "rows.npy", rows)
        for index, row in enumerate(rows):
            np.save(folder / f"{index}.npy", row)
        (folder / "classes.txt").write_text("a b c")

    def __len__(self) -> int:
        return SIZE

    def __getitem__(self, index: int) -> Any:
        return torch.from_numpy(np.array(self.read(self.folder, index)))


def whole(folder: Path, index: int) -> Any:
    return np.load(folder / "rows.npy")[index]


def mapped(folder: Path, index: int) -> Any:
    return np.load(folder / "rows.npy", mmap_mode="r")[index]


def alone(folder: Path, index: int) -> Any:
    assert (folder / "classes.txt").read_text()
    return np.load(folder / f"{index}.npy")[::2]


def overlapping(folder: Path, index: int) -> Any:
    with (folder / "rows.npy").open("rb") as file:
        file.seek(128 + index * 4096)
        return np.frombuffer(file.read(1_000_000), dtype=np.float32)


def unseen(folder: Path, index: int) -> Any:
    """Reads by a descriptor that no event tells of: what it read is not laid to the small file."""
    assert (folder / "classes.txt").read_text()
    return np.frombuffer(HELD(folder, index), dtype=np.float32)[:1024]


class _Held:
    def __init__(self) -> None:
        self.file: Any = None

    def __call__(self, folder: Path, index: int) -> bytes:
        if self.file is None:
            self.file = (folder / "rows.npy").open("rb", buffering=0)
        self.file.seek(128)
        return self.file.read((index + 1) * VALUES * 4)  # type: ignore[no-any-return]  # of an Any


HELD = _Held()


@pytest.mark.parametrize(
    ("read", "again"), [(whole, True), (mapped, False), (alone, False), (overlapping, False), (unseen, False)]
)
def test_files_that_are_read_again_for_every_sample_are_told(
    tmp_path: Path, read: Callable[[Path, int], Any], again: bool
) -> None:
    HELD.file = None
    seen = sample_times(DataLoader(Stored(tmp_path, read), 8), (), per_batch=8, seconds=0.3)
    assert seen is not None
    assert seen.reads_again is again
    if again:
        assert seen.reads is not None
        assert (seen.reads.files, seen.reads.most_read, seen.given_bytes) == (1, "rows.npy", 4 * VALUES)
        assert seen.times_read == pytest.approx(SIZE, rel=0.05)
