"""What is known of a loader under settings: its rates, and which settings keep up with a step."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from torch.utils.data import DataLoader

from pytest_dataloader.probe.loader.settings import LoaderSettings
from pytest_dataloader.probe.tuning.estimates import WORTHWHILE_GAIN, Estimates
from pytest_dataloader.probe.tuning.trial import Alone, Trial, rate_of

ALONE = Alone(
    batch_seconds=(0.080,), waiting_seconds=0.078, sampler_seconds=0.0, sampler_waiting_seconds=0.0, cpu_seconds=0.002,
    samples_per_batch=8, batches=None,
)  # fmt: skip
"""100 samples a second."""


def persistent(number: int) -> LoaderSettings:
    return LoaderSettings(number, persistent_workers=number > 0)


def trial(settings: LoaderSettings, samples_per_second: float, *, steady: bool = True) -> Trial:
    return Trial(
        settings=settings, batches=100, first_seconds=0.2, worker_bytes=0, batch_bytes=0,
        samples_per_second=samples_per_second, vague=False, steady=steady,
        batch_seconds=8 / samples_per_second, worker_cpu_seconds=0.002, main_cpu_seconds=0.001, disturbances=(),
    )  # fmt: skip


def estimates(rates: dict[int, float], *, step_seconds: float | None = None, alone: Alone = ALONE) -> Estimates:
    """Of a loader that was measured with some numbers of workers."""
    trials = {persistent(number): trial(persistent(number), each) for number, each in rates.items()}
    loader: Any = DataLoader(list(range(8)))  # type: ignore[arg-type]  # a list is a dataset
    return Estimates(loader, step_seconds, alone, trials)


RATES = {1: 98.0, 2: 196.0, 4: 388.0, 8: 400.0}
KEEPS_UP: dict[str, tuple[int, float | None, bool]] = {
    "no step": (8, None, False),
    "a worker beside a step that takes longer": (1, 0.1, True),  # 81.6 ms, of which 90 are there
    "a worker beside a step that takes a little longer": (1, 0.09, False),
    "four workers beside a short step": (4, 0.0230, True),
    "four workers beside a shorter step": (4, 0.0227, False),
    "none beside a step that takes as long": (0, 0.080, False),
    "none beside a step that takes ten times as long": (0, 0.800, False),
    "none beside a step of which it takes a twentieth": (0, 1.601, True),
    "none beside a step of which it takes a little more": (0, 1.599, False),
}


@pytest.mark.parametrize(("number", "step_seconds", "keeps_up"), KEEPS_UP.values(), ids=KEEPS_UP)
def test_workers_keep_up_with_a_step_that_is_longer_and_a_loader_without_any_hardly_ever(
    number: int, step_seconds: float | None, keeps_up: bool
) -> None:
    assert estimates(RATES, step_seconds=step_seconds).keeps_up(persistent(number)) is keeps_up


def test_nothing_keeps_up_before_anything_was_measured() -> None:
    unknown = Estimates(None, step_seconds=10.0)
    assert not unknown.keeps_up(persistent(4))
    assert unknown.chosen == LoaderSettings()


CHOSEN: dict[str, tuple[float | None, int]] = {
    "as fast as they come": (None, 4),
    "a step that the fastest only keep up with": (0.023, 4),
    "a step that no number keeps up with": (0.010, 4),
    "a long step": (0.100, 1),
    "a step of which loading takes next to nothing": (2.0, 0),
}


@pytest.mark.parametrize(("step_seconds", "number"), CHOSEN.values(), ids=CHOSEN)
def test_the_fewest_workers_are_chosen_that_keep_up_or_come_close_to_the_best(
    step_seconds: float | None, number: int
) -> None:
    assert estimates(RATES, step_seconds=step_seconds).chosen == persistent(number)


def test_close_to_the_best_is_within_five_per_cent() -> None:
    best = 1000.0
    assert estimates({2: (1 - WORTHWHILE_GAIN) * best, 4: best}).chosen == persistent(2)
    assert estimates({2: (1 - WORTHWHILE_GAIN) * best - 1, 4: best}).chosen == persistent(4)


def test_only_what_was_measured_has_a_rate_and_a_loader_without_workers_always_was() -> None:
    seen = estimates({4: 123.0})
    assert seen.rate(persistent(4)) == pytest.approx(123.0)
    assert seen.rate(LoaderSettings()) == pytest.approx(100.0)
    assert seen.is_measured(persistent(4))
    assert seen.is_measured(LoaderSettings())
    assert not seen.is_measured(persistent(2))
    assert seen.measured_numbers == [0, 4]


def test_a_steady_trial_tells_also_of_workers_that_do_not_persist() -> None:
    seen = estimates({4: 400.0}, alone=replace(ALONE, batches=16))
    assert seen.is_measured(LoaderSettings(4))
    assert seen.rate(LoaderSettings(4)) < seen.rate(persistent(4))
    seen.trials = {persistent(4): trial(persistent(4), 400.0, steady=False)}
    assert not seen.is_measured(LoaderSettings(4))
    assert seen.rate(persistent(4)) == 400.0


def test_the_settings_of_a_number_keep_what_else_the_loader_was_given() -> None:
    seen = estimates(RATES)
    seen.loader = DataLoader(list(range(8)), num_workers=1, prefetch_factor=5)  # type: ignore[arg-type]  # a list
    assert seen.now == LoaderSettings(1, prefetch_factor=5)
    assert seen.settings(3) == LoaderSettings(3, prefetch_factor=5, persistent_workers=True)
    assert seen.settings(0) == LoaderSettings()


@pytest.mark.parametrize(
    ("samples_per_second", "batches", "settings", "expected"),
    [
        (400.0, None, persistent(4), 400.0),
        (400.0, 100_000, LoaderSettings(4), 400.0),
        (400.0, 16, persistent(4), 16 * 8 / (0.080 + 12 * 0.020)),
        (400.0, 16, LoaderSettings(4), 16 * 8 / (0.200 + 12 * 0.020)),
        (100.0, 16, persistent(8), 100.0),  # the first eight share the CPUs too
        (100.0, 16, persistent(2), 100.0),
        (400.0, 2, LoaderSettings(4), 2 * 8 / 0.200),
    ],
)  # fmt: skip
def test_starting_workers_counts_in_short_epochs_only(
    samples_per_second: float, batches: int | None, settings: LoaderSettings, expected: float
) -> None:
    alone = replace(ALONE, batches=batches)
    assert rate_of(trial(settings, samples_per_second), alone) == pytest.approx(expected, rel=1e-3)


UNEVEN = replace(ALONE, batch_seconds=(0.02, 0.02, 0.02, 0.26) * 2)


@pytest.mark.parametrize(
    ("alone", "promising"),
    [
        (ALONE, []),
        (replace(ALONE, batch_seconds=(0.08, 0.07, 0.09, 0.08, 0.12)), []),
        (replace(ALONE, batch_seconds=(5.0, 0.08, 0.08, 0.08)), []),
        (UNEVEN, [replace(persistent(3), prefetch_factor=4), replace(persistent(3), in_order=False)]),
    ],
    ids=["one batch", "even batches", "a cold start", "uneven batches"],
)
def test_more_ahead_and_out_of_order_are_promising_where_batches_are_uneven(
    alone: Alone, promising: list[LoaderSettings]
) -> None:
    assert estimates(RATES, alone=alone).promising(persistent(3)) == promising


def test_what_is_ahead_already_is_not_promising_again() -> None:
    deep = replace(persistent(3), prefetch_factor=8, in_order=False)
    assert estimates(RATES, alone=UNEVEN).promising(deep) == []
