"""What the checks that pull for seconds have in common: empty, broken and hanging loaders end in the same words."""

from __future__ import annotations

import time
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from pytest_dataloader.checks import Setting, stages, throughput
from pytest_dataloader.probe.timing import sequential

pytestmark = pytest.mark.xdist_group("time")

TIMED = pytest.mark.parametrize("check", [throughput, stages], ids=lambda check: check.__name__.rpartition(".")[2])
QUICK = Setting(seconds=0.6, bench=True)


class Numbers(Dataset[Any]):
    def __init__(self, length: int = 100_000) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Any:
        return torch.tensor(index)


class Broken(Numbers):
    def __getitem__(self, index: int) -> Any:
        raise LookupError(f"sample {index} is broken")


class Stuck(Numbers):
    def __getitem__(self, index: int) -> Any:
        if index > 2:  # before the time is over, however busy the machine is
            time.sleep(600)
        return super().__getitem__(index)


@TIMED
def test_an_empty_loader_is_told(check: Any) -> None:
    seen = check.measure(DataLoader(Numbers(3), batch_size=4, drop_last=True), setting=QUICK)
    assert check.judge(seen).outcome == "not_measured"


@TIMED
@pytest.mark.parametrize("workers", [0, 1])
def test_the_users_error_comes_out(check: Any, workers: int) -> None:
    with pytest.raises(LookupError, match="sample 0 is broken"):
        check.measure(DataLoader(Broken(), num_workers=workers), setting=QUICK)


@TIMED
@pytest.mark.parametrize("workers", [0, 2])
def test_a_hanging_loader_ends_in_a_verdict(check: Any, workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "_WAIT_SECONDS", 1.0)
    monkeypatch.setattr(sequential, "STILL_SECONDS", 0.5)
    seen = check.measure(DataLoader(Stuck(), num_workers=workers), setting=Setting(seconds=0.2, bench=True))
    verdict = check.judge(seen)
    assert verdict.outcome == "failed"
    assert "hangs after" in verdict.reason
