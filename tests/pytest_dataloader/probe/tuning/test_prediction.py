"""Predictions from a profile: what limits a loader, and what its settings change."""

from __future__ import annotations

import dataclasses

import pytest

from pytest_dataloader.probe.loader.settings import LoaderSettings
from pytest_dataloader.probe.tuning.prediction import Profile, batched, period, predicted_rate

WAITS = Profile(
    batch_seconds=(0.080,), waiting_seconds=0.078, sampler_seconds=0.0, sampler_waiting_seconds=0.0,
    samples_per_batch=8, worker_seconds=0.080, worker_cpu_seconds=0.002, main_cpu_seconds=0.001,
    start_seconds=0.130, cpus=2, crowding=1.0, batches=None,
)  # fmt: skip
COMPUTES = dataclasses.replace(WAITS, waiting_seconds=0.0, worker_cpu_seconds=0.080)
UNEVEN = dataclasses.replace(WAITS, batch_seconds=(0.02, 0.02, 0.02, 0.26))
SLOW_SAMPLER = dataclasses.replace(WAITS, sampler_seconds=0.025, sampler_waiting_seconds=0.024)


def persistent(number: int) -> LoaderSettings:
    return LoaderSettings(number, persistent_workers=number > 0)


@pytest.mark.parametrize(
    ("profile", "number", "seconds"),
    [
        (WAITS, 0, 0.080), (WAITS, 1, 0.080), (WAITS, 2, 0.040), (WAITS, 8, 0.010),
        (COMPUTES, 0, 0.080), (COMPUTES, 1, 0.080), (COMPUTES, 4, 0.040), (COMPUTES, 8, 0.040),
        (dataclasses.replace(COMPUTES, crowding=1.5), 8, 0.060),
        (dataclasses.replace(WAITS, main_cpu_seconds=0.030), 8, 0.030),
        (SLOW_SAMPLER, 0, 0.105), (SLOW_SAMPLER, 1, 0.080), (SLOW_SAMPLER, 8, 0.025), (SLOW_SAMPLER, 32, 0.025),
    ],
)  # fmt: skip
def test_workers_share_the_work_until_the_cpus_or_the_receiver_are_full(
    profile: Profile, number: int, seconds: float
) -> None:
    assert period(profile, persistent(number)) == pytest.approx(seconds, rel=0.15)


def test_uneven_batches_are_evened_out_by_prefetching_and_by_giving_up_the_order() -> None:
    plain = period(UNEVEN, persistent(3))
    deeper = period(UNEVEN, dataclasses.replace(persistent(3), prefetch_factor=8))
    free = period(UNEVEN, dataclasses.replace(persistent(3), in_order=False))
    assert deeper < 0.95 * plain
    assert free < 0.95 * plain
    # Even batches gain nothing.
    assert period(WAITS, dataclasses.replace(persistent(3), in_order=False)) == pytest.approx(
        period(WAITS, persistent(3)), rel=0.05
    )


def test_starting_workers_counts_in_short_epochs_only() -> None:
    short, long = (dataclasses.replace(WAITS, batches=batches) for batches in (16, 100_000))
    fresh = LoaderSettings(4)
    assert predicted_rate(short, persistent(4)) > 1.3 * predicted_rate(short, fresh)
    assert predicted_rate(long, persistent(4)) == pytest.approx(predicted_rate(long, fresh), rel=0.01)
    assert predicted_rate(short, LoaderSettings()) == pytest.approx(100)
    assert predicted_rate(WAITS, persistent(4)) == pytest.approx(400, rel=0.1)  # an epoch without a known end
    assert predicted_rate(short, fresh, batch_period=0.02, first=1.0) == pytest.approx(16 * 8 / (1.0 + 12 * 0.02))


def test_the_first_batches_of_an_epoch_share_the_cpus_too() -> None:
    two, eight = (
        predicted_rate(dataclasses.replace(COMPUTES, batches=16), persistent(number), batch_period=0.040)
        for number in (2, 8)
    )
    assert eight == pytest.approx(two)
    assert two == pytest.approx(8 / 0.040)


def test_reading_batches_at_once_saves_at_most_all_waits_but_one() -> None:
    assert period(batched(WAITS), LoaderSettings()) == pytest.approx(0.010)
    alone = dataclasses.replace(WAITS, samples_per_batch=1)
    assert batched(alone) == alone
    assert period(batched(SLOW_SAMPLER), LoaderSettings()) == pytest.approx(0.025 + 0.010)
