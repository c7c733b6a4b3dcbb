"""Transfer: what a device waits for in a loop around a real loader, where there is one, and the judge everywhere."""

from __future__ import annotations

import multiprocessing
import time
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from pytest_dataloader import diagnose
from pytest_dataloader.checks import Setting, transfer
from pytest_dataloader.errors import NotMeasured

on_a_device = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
STEP_MS = 20.0


class Images(Dataset[Any]):
    """Samples of 602 kB that each take some CPU time to make."""

    def __init__(self, sample_ms: float) -> None:
        self.sample_ms = sample_ms
        self.pixels = torch.rand(3, 224, 224)

    def __len__(self) -> int:
        return 2048

    def __getitem__(self, index: int) -> Any:
        end = time.perf_counter() + self.sample_ms / 1e3
        while time.perf_counter() < end:
            pass
        return self.pixels, index


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_without_an_accelerator_nothing_is_measured_and_one_line_says_so() -> None:
    loader = DataLoader(Images(0.0), 8)
    assert not transfer.applies(loader, None)
    with pytest.raises(NotMeasured, match="no accelerator"):
        transfer.measure(loader, setting=Setting(), step_ms=20)


@on_a_device
def test_a_step_is_needed() -> None:
    with pytest.raises(NotMeasured, match="step_ms"):
        transfer.measure(DataLoader(Images(0.0), 8), setting=Setting())


@on_a_device
def test_a_loader_without_workers_keeps_the_device_waiting_and_workers_shorten_its_steps() -> None:
    loader = DataLoader(Images(0.5), 64)
    seen = transfer.measure(loader, setting=Setting(seconds=2.0, bench=True), step_ms=STEP_MS)
    verdict = transfer.judge(seen, max_gpu_idle=0.15)
    assert verdict.outcome == "failed"
    assert seen.bound == "input"
    assert seen.gpu_idle > 0.3
    assert seen.input_wait > 0.3
    assert seen.use.has_workers is False
    assert [each.source for each in seen.use.copies if each.direction == "to_device"] == ["pageable"]
    assert sum(seen.shares.values()) == pytest.approx(1, abs=1e-6)
    workers = seen.gains[0]
    assert workers.certain
    assert workers.saved > 0.2
    assert verdict.advice[0].code == "DL207"
    assert loader.num_workers == 0
    assert loader.pin_memory is False
    assert not multiprocessing.active_children()


@on_a_device
def test_a_loader_that_keeps_up_keeps_its_limits() -> None:
    loader = DataLoader(Images(0.1), 64, num_workers=6, pin_memory=True)
    seen = transfer.measure(loader, setting=Setting(seconds=2.0, bench=True), step_ms=STEP_MS)
    assert transfer.judge(seen, max_gpu_idle=0.15, max_input_wait=0.5).outcome == "passed"
    assert seen.bound == "device"
    assert [each.source for each in seen.use.copies if each.direction == "to_device"] == ["pinned"]


@on_a_device
def test_a_step_of_ones_own_copies_by_itself() -> None:
    weights = torch.randn(4096, 4096, device="cuda")

    def step(batch: Any) -> None:
        images, _ = batch
        assert images.device.type == "cpu"
        images.to("cuda")
        for _ in range(10):
            torch.mm(weights, weights)

    report = diagnose(DataLoader(Images(0.5), 64), checks=["transfer"], quick=True, seconds=1.0, step=step)
    seen = report["transfer"]
    assert seen.own_step
    assert seen.bound == "input"
    assert all("non_blocking" not in each.way for each in seen.gains)
