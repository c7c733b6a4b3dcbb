"""A loader against its reference."""

from __future__ import annotations

import time
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from pytest_dataloader.checks import Setting
from pytest_dataloader.checks.compare import judge, measure
from pytest_dataloader.probe.timing.evidence import Comparison
from tests import wording

pytestmark = pytest.mark.xdist_group("time")

SETTING = Setting(seconds=6, bench=True)


def seen(ratio: float, width: float, pairs: int = 100) -> Comparison:
    return Comparison(
        ratio=ratio, interval=(ratio - width / 2, ratio + width / 2), certain=(ratio - width, ratio + width),
        cpu_ratio=ratio, ms_per_sample=ratio, reference_ms_per_sample=1.0, pairs=pairs, measured_seconds=5,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("evidence", "tolerance", "outcome", "words"),
    [
        (seen(1.00, 0.05), None, "passed", "1.000 times the reference (95 % CI 0.975 to 1.025), limit 1.15 "
                                           "times\n1 ms per sample"),
        (seen(0.50, 0.05), 0.0, "passed", "limit 1.00 times"),
        (seen(1.10, 0.04), None, "passed", "limit 1.15 times"),
        (seen(1.10, 0.04), 0.05, "failed", "limit 1.05 times"),
        (seen(1.17, 0.05), None, "inconclusive", "too close to call in 5 s"),
        (seen(1.14, 0.05), None, "inconclusive", "too close to call"),
        (seen(1.30, 0.05), None, "failed", "1.300 times"),
        (seen(1.30, 0.05, pairs=5), None, "inconclusive", "5 measurements of each loader in 5 s"),
        (Comparison(), None, "inconclusive", "0 measurements"),
        (Comparison(empty=True), None, "not_measured", "its epoch is empty"),
    ],
)  # fmt: skip
def test_only_a_certain_excess_over_the_tolerance_fails(
    evidence: Comparison, tolerance: float | None, outcome: str, words: str
) -> None:
    verdict = judge(evidence, tolerance=tolerance)
    assert (verdict.outcome, words in verdict.reason) == (outcome, True), verdict.reason
    assert [*wording.faults(verdict)] == []


class Costly(Dataset[Any]):
    """Sleeps or computes ``cost`` times as long as the plain one."""

    def __init__(self, kind: str, cost: float = 1.0) -> None:
        self.kind, self.cost = kind, cost

    def __len__(self) -> int:
        return 10_000

    def __getitem__(self, index: int) -> Any:
        if self.kind == "waiting":
            time.sleep(0.0005 * self.cost)
        else:
            sum(step * step for step in range(int(1500 * self.cost)))
        return torch.tensor(index)


@pytest.mark.parametrize("kind", ["waiting", "computing"])
def test_a_loader_half_as_fast_fails_and_its_equal_does_not(kind: str) -> None:
    plain = DataLoader(Costly(kind), batch_size=4, shuffle=True)
    slow = DataLoader(Costly(kind, 2.0), batch_size=4, shuffle=True, num_workers=2)
    worse, equal = measure(slow, plain, setting=SETTING), measure(plain, plain, setting=SETTING)
    assert judge(worse).outcome == "failed"
    assert judge(equal).outcome != "failed"
    assert worse.ratio > 1.4
    assert worse.ms_per_sample > worse.reference_ms_per_sample


def test_random_numbers_are_put_back() -> None:
    loader = DataLoader(Costly("computing"), shuffle=True)
    torch.manual_seed(3)
    before = torch.get_rng_state()
    measure(loader, loader, setting=Setting(seconds=0.1, bench=True))
    assert torch.equal(torch.get_rng_state(), before)


def test_an_empty_loader_is_not_measured() -> None:
    loader = DataLoader(Costly("computing"))
    empty = DataLoader(Costly("computing"), batch_size=20_000, drop_last=True)
    assert judge(measure(empty, loader, setting=SETTING)).outcome == "not_measured"
