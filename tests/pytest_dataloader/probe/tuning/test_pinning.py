"""Pinned batches and others: on a real device, or nothing."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from pytest_dataloader.checks import Setting
from pytest_dataloader.checks.tune import measure
from pytest_dataloader.probe.loader.settings import LoaderSettings
from pytest_dataloader.probe.tuning.pinning import compare_pinning

IMAGES = TensorDataset(torch.zeros(1_024, 3, 64, 64), torch.arange(1_024))

on_a_device = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_nothing_is_said_of_pinning_without_a_device() -> None:
    loader = DataLoader(IMAGES, batch_size=32)
    assert compare_pinning(loader, LoaderSettings(), seconds=1.0, came=lambda _what: None) == ()
    assert measure(loader, setting=Setting(seconds=0.5)).pinning == ()


@on_a_device
@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_is_measured_with_pinned_batches_and_without(workers: int) -> None:
    looks: list[str] = []
    loader = DataLoader(IMAGES, batch_size=32, pin_memory=True)
    rows = compare_pinning(loader, LoaderSettings(workers), seconds=5.0, came=looks.append)
    assert [(row.pin_memory, row.now) for row in rows] == [(False, False), (True, True)]
    if not workers:  # with workers, a copy also waits for the thread that pins
        assert rows[1].copy_ms < rows[0].copy_ms / 2
    assert all(row.samples_per_second > 100 and row.copy_ms > 0 for row in rows)
    assert looks == ["pin_memory=False", "pin_memory=True", "pin_memory=True", "pin_memory=False"]
    assert loader.pin_memory
    assert not loader.num_workers


@on_a_device
def test_batches_without_a_tensor_have_no_pinning() -> None:
    loader: DataLoader[str] = DataLoader(["a"] * 64, batch_size=8)  # type: ignore[arg-type]  # a list will do
    assert compare_pinning(loader, LoaderSettings(), seconds=1.0, came=lambda _what: None) == ()


@on_a_device
def test_a_tuning_compares_pinning_last() -> None:
    seen = measure(DataLoader(IMAGES, batch_size=32), setting=Setting(seconds=1.0))
    assert [row.now for row in seen.pinning] == [True, False]
    assert {"pin_memory", "samples_per_second", "copy_ms", "now"} == set(dataclasses.asdict(seen.pinning[0]))
