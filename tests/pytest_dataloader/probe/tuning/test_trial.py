"""A loader under given settings: with a rate, or with too few batches for one."""

from __future__ import annotations

import time
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from pytest_dataloader.probe.loader.settings import LoaderSettings
from pytest_dataloader.probe.timing.evidence import Throughput
from pytest_dataloader.probe.timing.windows import join
from pytest_dataloader.probe.tuning.trial import Trial, TrialStart, measure_start, with_rate

START = TrialStart(LoaderSettings(2), batches=2, first_seconds=1.3, worker_bytes=14_000_000, batch_bytes=8_000)


@pytest.mark.parametrize(
    ("seen", "batch_seconds"),
    [
        (Throughput(samples_per_second=8.0, batches_per_second=2.0), 0.5),
        (Throughput(samples_per_second=8.0, batches_per_second=2.0, interval=(0.0, 16.0)), 0.5),
        (Throughput(), None),
        (Throughput(batches=2, samples=8, seconds_to_first_batch=1.3), None),
        (Throughput(batches=2, samples=8, measured_seconds=1.0, windows=1), None),
    ],
)
def test_without_a_rate_there_is_no_trial(seen: Throughput, batch_seconds: float | None) -> None:
    found = with_rate(START, seen, join([]))
    assert (found.settings, found.batches, found.worker_bytes) == (LoaderSettings(2), 2, 14_000_000)
    assert (found.batch_seconds if isinstance(found, Trial) else None) == batch_seconds


class Slow(Dataset[Any]):
    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> Any:
        time.sleep(0.7)  # longer than six times what the trial is given
        return torch.tensor(index)


def test_an_epoch_that_takes_longer_than_a_trial_gives_a_start_and_no_rate() -> None:
    start = measure_start(DataLoader(Slow()), LoaderSettings(), 0.1, lambda _spent: None)
    assert not isinstance(start, Trial)
    assert (start.batches, start.batch_bytes) == (2, 8)
    assert start.first_seconds >= 0.7
