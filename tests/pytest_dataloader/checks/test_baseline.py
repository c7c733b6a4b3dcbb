"""A sample's cost against the one on file."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from pytest_dataloader.checks import Setting
from pytest_dataloader.checks.baseline import compare_with_baseline, judge, measure
from pytest_dataloader.probe.host.calibration import KERNELS
from pytest_dataloader.probe.host.interference import QUIET
from pytest_dataloader.probe.timing.cost import Cost
from pytest_dataloader.probe.timing.evidence import Baseline, BaselineEntry, Platform
from tests import wording

pytestmark = pytest.mark.xdist_group("cpu")

BUSY = dataclasses.replace(QUIET, others_share=0.9)
PLACE = Platform("a", "b", "c")
KNOWN = BaselineEntry(PLACE, 0, 1.0, 0.0, {"compute": 0.2, "copy": 0.1})


def seen(
    cpu: float, compute: float = 0.2, copy: float = 0.1, known: BaselineEntry | None = KNOWN, **fields: Any
) -> Baseline:
    quietness = fields.pop("quietness", QUIET)
    cost = Cost(cpu, 0.0, {"compute": compute, "copy": copy}, units=100, measured_seconds=5.0, quietness=quietness)
    return compare_with_baseline(Baseline(cost, PLACE, known, **fields))


@pytest.mark.parametrize(
    ("evidence", "outcome", "words"),
    [
        (seen(1.0), "passed", "1.00 times the baseline, limit 1.15 times\n"
                              "1 ms of CPU per sample, 1.00 to 1.00 times by"),
        (seen(0.5), "passed", "0.50 times"),
        (seen(1.14), "passed", "1.14 times"),
        (seen(1.3), "failed", "1.30 times the baseline, limit 1.15 times\n1.3 ms of CPU per sample, 1.30 to 1.30"),
        (seen(1.3, compute=0.26), "inconclusive", "1.00 to 1.30 times by calibration kernel"),
        (seen(2.0, compute=0.4, copy=0.2), "passed", "1.00 times"),
        (seen(1.0, compute=0.1, copy=0.05), "inconclusive", "the calibration kernels disagree"),
        (seen(1.3, quietness=BUSY), "inconclusive", "too busy to say: other processes used 90 %"),
        (seen(2.0, quietness=BUSY), "failed", "2.00 times"),
        (seen(1.3, recorded=True), "passed", "1.30 times the baseline, limit 1.15 times\n"
                                             "1.3 ms of CPU per sample, 1.30 to 1.30 times by"),
        (seen(1.3, known=None, recorded=True), "passed", "1.3 ms of CPU per sample, recorded"),
        (seen(1.3, known=None, incomparable="it is new"), "not_measured", "not compared\nit is new"),
        (seen(1.3, known=dataclasses.replace(KNOWN, kernel_ms={"older": 1.0})), "failed", "1.30 times"),
        (Baseline(Cost(units=3, measured_seconds=9.0)), "inconclusive", "3 measurements in 9 s: too few"),
        (Baseline(Cost(), empty=True), "not_measured", "its epoch is empty"),
    ],
)  # fmt: skip
def test_only_what_every_kernel_says_on_a_quiet_machine_fails(evidence: Baseline, outcome: str, words: str) -> None:
    verdict = judge(evidence)
    assert (verdict.outcome, words in verdict.reason) == (outcome, True), verdict.reason
    assert [*wording.faults(verdict)] == []


def test_as_much_more_as_is_tolerated_passes() -> None:
    assert judge(seen(1.5), tolerance=0.5).outcome == "passed"
    assert judge(seen(1.5), tolerance=0.49).outcome == "failed"
    assert judge(seen(1.5, quietness=BUSY), tolerance=0.5).outcome == "passed"
    assert judge(seen(1.0), tolerance=0.0).outcome == "passed"


def test_cpu_time_counts_by_what_it_adds_to_a_sample_that_waits() -> None:
    waits = dataclasses.replace(KNOWN, wait_ms_per_sample=9.0)
    assert judge(seen(2.0, known=waits)).outcome == "passed"
    assert judge(seen(3.0, known=waits)).outcome == "failed"


class Costly(Dataset[Any]):
    def __init__(self, steps: int, sleep: float = 0.0) -> None:
        self.steps, self.sleep = steps, sleep

    def __len__(self) -> int:
        return 5_000

    def __getitem__(self, index: int) -> Any:
        time.sleep(self.sleep) if self.sleep else None
        return torch.tensor(sum(step * step for step in range(self.steps)) + index)


SETTING = Setting(seconds=0.8, bench=True)


def held(now: DataLoader[Any], before: DataLoader[Any]) -> Baseline:
    cost = measure(before, setting=SETTING).cost
    known = BaselineEntry(PLACE, 0, cost.cpu_ms_per_sample, cost.wait_ms_per_sample, cost.kernel_ms)
    return measure(now, setting=SETTING, place=PLACE, known=known)


def test_a_loader_three_times_as_dear_fails_whatever_its_workers_and_its_equal_does_not() -> None:
    plain = DataLoader(Costly(500), batch_size=8, shuffle=True)
    dear = DataLoader(Costly(3000), batch_size=8, shuffle=True, num_workers=2)
    worse = held(dear, plain)
    assert (judge(worse).outcome, worse.num_workers) == ("failed", 2), worse
    assert set(worse.cost.kernel_ms) == set(KERNELS)
    assert judge(held(plain, plain)).outcome != "failed"


def test_waiting_is_told_apart_and_an_epoch_shorter_than_a_turn_is_costed() -> None:
    cost = measure(DataLoader(Costly(10, sleep=0.001), batch_size=4), setting=SETTING).cost
    assert cost.wait_ms_per_sample > cost.cpu_ms_per_sample
    short = measure(DataLoader(torch.arange(12), batch_size=4), setting=SETTING).cost  # type: ignore[arg-type]  # a sequence will do
    assert short.units >= 12
    assert short.cpu_ms_per_sample > 0


def test_the_random_state_and_torchs_threads_are_put_back() -> None:
    torch.manual_seed(3)
    before, threads = torch.get_rng_state(), torch.get_num_threads()
    measure(DataLoader(Costly(100), batch_size=4, shuffle=True), setting=Setting(seconds=0.1, bench=True))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.get_num_threads() == threads


def test_an_empty_loader_is_not_measured() -> None:
    empty = DataLoader(Costly(1), batch_size=20_000, drop_last=True)
    assert judge(measure(empty, setting=SETTING)).outcome == "not_measured"
