"""The direct memory test, tried on a dataset with a known fault and on one without."""

from __future__ import annotations

import functools
from array import array
from typing import Any

from pytest_dataloader.probe.memory.copy_on_access import Sources
from pytest_dataloader.probe.memory.diagnosis import diagnose_memory

_ROWS = 40_000
"""Texts of 3 MB, of which each worker copies every page that it reads from."""


class _Rows:
    """A map-style dataset over rows: a list of texts is copied by reading it, an array of numbers is not."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows  # dl-lint: ignore[DL301] the fault that is to be found

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> int:
        return len(str(self.rows[index]))


@functools.cache
def self_test_failure() -> str:
    """What the direct test says wrongly here, once a process; empty where it is right, or nothing can be read here."""
    faulty = _kinds(_Rows([f"{row:060}" for row in range(_ROWS)]))
    healthy = _kinds(_Rows(array("q", range(_ROWS))))
    if None in (faulty, healthy) or (faulty, healthy) == (("copy_on_access", "dataset.rows"), ("clean", "")):
        return ""
    return f"the memory test calls a list of texts {faulty}, and an array {healthy}"


def _kinds(dataset: _Rows) -> tuple[str, str] | None:
    from torch.utils.data import DataLoader

    loader: DataLoader[int] = DataLoader(dataset, batch_size=64, num_workers=1, multiprocessing_context="fork")  # type: ignore[arg-type]  # it can be indexed
    found = diagnose_memory(loader, sources=Sources())
    if found.reader_failure:
        return found.reader_failure, ""
    if found.source == "none":
        return None
    return found.kinds[0], found.culprit.path if found.culprit else ""
