"""Transfer: what a device waits for in a loop around a real loader, where there is one, and the judge everywhere."""

from __future__ import annotations

import multiprocessing
import time
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from pytest_dataloader import diagnose
from pytest_dataloader.checks import Setting, transfer
from pytest_dataloader.errors import NotMeasured
from pytest_dataloader.probe.device.evidence import Copies, DeviceUse, Gain, StepUse, Synchronisations, Transfer
from pytest_dataloader.probe.host.interference import QUIET
from tests import wording

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


def steps_of(*parts: tuple[float, float, float, float], waited: float = 0.0) -> tuple[StepUse, ...]:
    """Steps of computing, copying, idling for the loader and idling otherwise, in milliseconds."""
    return tuple(StepUse(f"step {number}", sum(each), *each, waited) for number, each in enumerate(parts))


PAGEABLE = Copies("to_device", "pageable", 10, 385_000_000, 60.0, 0.0, 10, 0)
USE = DeviceUse("A device", 1, None, "annotation", steps_of(*[(90, 2, 1, 7)] * 10), 10, True, (), ())
SEEN = Transfer(USE, "num_workers=4, pin_memory=False", True, (), QUIET)
WAITS = replace(USE, steps=steps_of((60, 5, 30, 5), (62, 4, 29, 5), (58, 5, 32, 5), waited=35.0), has_workers=False)
COPIES = replace(USE, steps=steps_of((70, 24, 1, 5), (71, 23, 1, 5)), copies=(PAGEABLE,))
READS = Synchronisations("aten::_local_scalar_dense", 20, 5.0)
LAUNCHES = replace(USE, steps=steps_of((30, 2, 0, 68), (32, 2, 0, 66)), loader_calls=0, synchronisations=(READS,))
UNSURE = replace(USE, steps=steps_of((95, 0, 5, 0), (60, 0, 40, 0), (97, 0, 3, 0), (96, 0, 4, 0)))
BUSY = replace(QUIET, others_share=0.95)
MORE = Gain("num_workers=4, pin_memory=False", "DL207", 45.0, 30.0, 0.33, (0.3, 0.36))
NO_MORE = replace(MORE, way="num_workers=8", saved=0.01, interval=(-0.02, 0.04))

WAITING, LAUNCHING = replace(SEEN, use=WAITS), replace(SEEN, use=LAUNCHES)
WORKING = replace(SEEN, use=replace(WAITS, has_workers=True))
ONE, ONE_WAITING = (replace(SEEN, use=replace(use, steps=use.steps[:1])) for use in (USE, WAITS))
IDLE, WAIT = "max_gpu_idle", "max_input_wait"
NO_CALL = "no call of a DataLoader in the trace"

Row = tuple[Transfer, dict[str, Any], str, str, list[str]]
TABLE: dict[str, Row] = {
    "nothing asked for": (SEEN, {}, "passed", "device-bound: the device computes 90 %", []),
    "limits kept": (SEEN, {IDLE: 0.1, WAIT: 0.05}, "passed", "device idle: 8 %", []),
    "no workers": (WAITING, {}, "passed", "input-bound: device idle 30 %", ["DL207"]),
    "device idle:": (WAITING, {IDLE: 0.2}, "failed", "device idle: 35 % of a step (95 % CI 32", ["DL207"]),
    "no idling allowed": (WAITING, {IDLE: 0}, "failed", "device idle: 35 %", ["DL207"]),
    "data wait": (WAITING, {WAIT: 0.2}, "failed", "data wait: 35 %", ["DL207"]),
    "one limit of two": (WAITING, {IDLE: 0.9, WAIT: 0.2}, "failed", "data wait", ["DL207"]),
    "too few workers": (WORKING, {}, "passed", "input-bound", [""]),
    "it copies alone": (replace(SEEN, use=COPIES), {}, "passed", "transfer-bound: the device only copies 24 %", [""]),
    "the host launches": (LAUNCHING, {IDLE: 0.5}, "failed", "device idle: 67 %", ["DL108"]),
    "no loader was seen": (LAUNCHING, {WAIT: 0.5}, "not_measured", NO_CALL, []),
    "steps differ": (replace(SEEN, use=UNSURE), {IDLE: 0.1}, "inconclusive", "device idle: 13 %", []),
    "busy": (replace(WAITING, quietness=BUSY), {IDLE: 0.2}, "inconclusive", "device idle: 35 %", ["DL207"]),
    "busy, and kept": (replace(SEEN, quietness=BUSY), {IDLE: 0.2}, "passed", "device idle: 8 %", []),
    "one step": (ONE, {}, "passed", "1 step: too few", []),
    "one step and a limit": (ONE_WAITING, {IDLE: 0.1}, "inconclusive", "device idle: 35 %", []),
    "tried, and helps": (replace(WAITING, gains=(MORE, NO_MORE)), {}, "passed", "input-bound", ["DL207"]),
    "tried, and does not": (replace(WAITING, gains=(NO_MORE,)), {}, "passed", "input-bound", []),
}


@pytest.mark.parametrize(("seen", "limits", "outcome", "begins", "codes"), TABLE.values(), ids=TABLE)
def test_verdicts(seen: Transfer, limits: dict[str, Any], outcome: str, begins: str, codes: list[str]) -> None:
    verdict = transfer.judge(seen, **limits)
    assert verdict.outcome == outcome
    assert verdict.reason.startswith(begins)
    assert [each.code for each in verdict.advice] == codes
    assert [*wording.faults(verdict)] == []


def test_what_was_tried_is_told_with_its_figures() -> None:
    told = transfer.judge(replace(SEEN, use=WAITS, gains=(MORE,))).advice[0].text
    assert told == "num_workers=4, pin_memory=False: 30 ms per step, now 45 ms, 33 % less (95 % CI 30 to 36 %)"
