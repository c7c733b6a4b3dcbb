"""Settings as code, as attributes of a copy, and datasets that are read sample by sample."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset, Subset, TensorDataset

from pytest_dataloader.probe.loader.settings import LoaderSettings, reads_in_batches, settings_of, unbatched
from pytest_dataloader.probe.tuning.trial import borrow_with


class AtOnce(Dataset[Any]):
    def __init__(self) -> None:
        self.calls: list[str] = []

    def __len__(self) -> int:
        return 64

    def __getitem__(self, index: int) -> Any:
        self.calls.append("one")
        return torch.tensor(index)

    def __getitems__(self, indices: list[int]) -> Any:
        self.calls.append("many")
        return [torch.tensor(index) for index in indices]


def test_settings_read_as_code_that_gives_them_back() -> None:
    wanted = LoaderSettings(2, 4, persistent_workers=True, in_order=False)
    assert wanted.text == "num_workers=2, persistent_workers=True, prefetch_factor=4, in_order=False"
    arguments: dict[str, Any] = dict(eval(f"dict({wanted.text})"))
    assert settings_of(DataLoader(AtOnce(), **arguments)) == wanted
    assert LoaderSettings(0, 4, persistent_workers=True).text == "num_workers=0"


def test_a_copy_takes_settings_and_the_loader_keeps_its_own() -> None:
    loader = DataLoader(AtOnce(), batch_size=4, num_workers=2, timeout=30)
    before = dict(vars(loader))
    for settings in (
        LoaderSettings(),
        LoaderSettings(1, 3, persistent_workers=True, in_order=False),
        LoaderSettings(2),
    ):
        with borrow_with(loader, settings) as borrowed:
            borrowed.begin_epoch()
            assert borrowed.pull(100) == (16, 64)
            borrowed.begin_epoch()
            borrowed.pull(1)
            assert len(borrowed.workers) == settings.num_workers
            if settings.num_workers:
                assert borrowed.depth == settings.num_workers * settings.prefetch_factor
    assert dict(vars(loader)) == before


def test_a_dataset_is_read_sample_by_sample_without_being_changed() -> None:
    dataset = AtOnce()
    assert reads_in_batches(dataset)
    assert reads_in_batches(Subset(dataset, range(8)))
    assert not reads_in_batches(TensorDataset(torch.zeros(3)))
    assert not reads_in_batches(Subset(TensorDataset(torch.zeros(3)), range(2)))
    for wrapped in (dataset, Subset(dataset, range(8))):
        loader = DataLoader(wrapped, batch_size=4)
        dataset.calls.clear()
        with borrow_with(loader, dataclasses.replace(settings_of(loader), batched=False)) as copy:
            copy.begin_epoch()
            copy.pull(1)
            assert set(dataset.calls) == {"one"}
        next(iter(loader))
        assert dataset.calls[-1] == "many"
    assert unbatched(dataset).calls is dataset.calls


@pytest.mark.slow
def test_where_no_start_method_is_said_it_is_the_one_that_this_python_prefers() -> None:
    """In a process of its own: these tests prefer fork."""
    code = (
        "import multiprocessing\n"
        "from torch.utils.data import DataLoader\n"
        "from pytest_dataloader.probe.loader.settings import start_method_of\n"
        "loader = DataLoader([1], num_workers=1)\n"
        "print(start_method_of(loader), multiprocessing.get_start_method(allow_none=True))\n"
        "print(multiprocessing.get_start_method())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    said, settled, preferred = done.stdout.split()
    assert (said, settled) == (preferred, "None")
