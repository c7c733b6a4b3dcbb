"""The rows of a tuning table, from what a search has measured."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from torch.utils.data import DataLoader

from pytest_dataloader.probe.loader.settings import LoaderSettings
from pytest_dataloader.probe.tuning.ladder import ladder, recommended
from pytest_dataloader.probe.tuning.search import Search
from pytest_dataloader.probe.tuning.trial import Alone, Trial

ALONE = Alone(
    batch_seconds=(0.080,), waiting_seconds=0.078, sampler_seconds=0.0, sampler_waiting_seconds=0.0, cpu_seconds=0.002,
    samples_per_batch=8, batches=None,
)  # fmt: skip
FOUR = LoaderSettings(4, persistent_workers=True)
TRIAL = Trial(
    settings=FOUR, batches=100, first_seconds=0.2, worker_bytes=0, batch_bytes=0, samples_per_second=400.0, vague=False,
    steady=True, batch_seconds=0.020, worker_cpu_seconds=0.002, main_cpu_seconds=0.001, disturbances=(),
)  # fmt: skip


def search(alone: Alone, *trials: Trial) -> Search:
    loader: Any = DataLoader(list(range(800)), batch_size=8)  # type: ignore[arg-type]  # a list is a dataset
    return Search(loader, alone=alone, trials={each.settings: each for each in trials})


SLOW_SAMPLER = replace(ALONE, sampler_seconds=0.025, sampler_waiting_seconds=0.024)
AT_MOST: dict[str, tuple[Alone, Trial, float]] = {
    "without workers a batch waits once": (ALONE, replace(TRIAL, samples_per_second=90.0, batch_seconds=0.089), 800),
    "with four as well": (ALONE, TRIAL, 3_200),
    "the main process is in the way": (ALONE, replace(TRIAL, main_cpu_seconds=0.010), 800),
    "a sampler that waits is in the way": (SLOW_SAMPLER, TRIAL, 400),
    "in a short epoch as well": (replace(ALONE, batches=4), TRIAL, 3_200),
}


@pytest.mark.parametrize(("alone", "trial", "most"), AT_MOST.values(), ids=AT_MOST)
def test_reading_batches_at_once_saves_at_most_all_waits_but_one(alone: Alone, trial: Trial, most: float) -> None:
    *_, last = ladder(search(alone, trial))
    assert (last.change, last.source) == ("+ __getitems__ in the dataset", "at most")
    assert last.samples_per_second == pytest.approx(most, rel=0.01)


def test_workers_that_do_not_persist_have_a_line_once_they_are_measured() -> None:
    short, fresh = replace(TRIAL, steady=False), replace(TRIAL, settings=LoaderSettings(4), steady=False)
    computing = replace(ALONE, waiting_seconds=0.0)
    seen = search(computing, short)
    assert [row.change for row in ladder(seen)] == ["num_workers=0", f"+ {FOUR.text}"]
    assert recommended(seen) == FOUR
    seen.trials[fresh.settings] = fresh
    assert [row.change for row in ladder(seen)] == ["num_workers=0", "+ num_workers=4", "+ persistent_workers=True"]
    assert recommended(seen) == LoaderSettings(4)  # as fast


def test_deeper_prefetching_is_recommended_where_it_was_measured_and_brought_something() -> None:
    deeper = replace(FOUR, prefetch_factor=4)
    faster = replace(TRIAL, settings=deeper, samples_per_second=500.0, batch_seconds=0.016)
    assert recommended(search(replace(ALONE, batches=10), TRIAL, faster)) == deeper
    no_faster = replace(TRIAL, settings=deeper)
    assert recommended(search(replace(ALONE, batches=10), TRIAL, no_faster)) == FOUR
