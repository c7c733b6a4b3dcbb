"""How long a consumer waits for batches, from windows that are made up, and the step for which a loader keeps up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_dataloader.probe.timing.stall import KEEPS_UP, Stall, Waits, stall
from pytest_dataloader.probe.timing.windows import Window

MS = 1_000_000
QUIET = Window(
    batches=10, samples=80, wall_ns=100 * MS, consumer_cpu_ns=2 * MS, consumer_delay_ns=0, main_cpu_ns=2 * MS,
    worker_cpu_ns=80 * MS, worker_delay_ns=0, busy_ns=82 * MS, steal_ns=0, throttled_ns=0, handed=10, waited_ns=20 * MS,
)  # fmt: skip
"""Ten steps of 8 ms, and 20 ms of waiting."""
WAITS = Waits(
    step_ns=8 * MS, windows=(QUIET,) * 4, wall_share=0.21, waiting_steps=0.9, workers=2, cpus=4.0, capacity_ns=10 * MS,
    receive_ns=0.1 * MS,
)  # fmt: skip
RECEIVES = replace(WAITS, receive_ns=2 * MS)
"""Receiving a batch takes so long that it decides how long a step must be."""


def test_the_share_is_the_waiting_of_all_steps() -> None:
    seen = stall(WAITS)
    assert (seen.step_ms, seen.steps, seen.windows) == (8.0, 40, 4)
    assert (seen.share, seen.best) == (0.2, 0.2)
    assert seen.interval == (0.2, 0.2)
    assert (seen.wall_share, seen.waiting_steps) == (0.21, 0.9)


def test_the_best_stretch_is_told_beside_the_mean_and_its_interval() -> None:
    windows = [replace(QUIET, waited_ns=waited * MS) for waited in (0, 20, 20, 20)]
    seen = stall(replace(WAITS, windows=windows, receive_ns=0.0))
    assert seen.share == pytest.approx(60 / 380)
    assert seen.best == 0.0
    low, high = seen.interval
    assert 0.0 <= low < seen.share < high < 0.4
    assert high - seen.share > 0.05


def test_a_single_stretch_says_little() -> None:
    seen = stall(replace(WAITS, windows=(QUIET,)))
    assert seen.interval == (0.0, 0.7)


def test_where_nothing_was_seen_the_costs_of_the_stages_speak() -> None:
    seen = stall(replace(WAITS, windows=(), making_ns=16.0 * MS))
    assert (seen.share, seen.best, seen.steps, seen.windows) == (0.5, 0.0, 0, 0)
    assert seen.interval == (0.0, 0.5)


@pytest.mark.parametrize(
    ("waits", "share"),
    [
        (WAITS, 0.2),
        (replace(WAITS, making_ns=16.0 * MS), 0.5),
        (replace(WAITS, making_ns=9.0 * MS), 0.2),
        (replace(WAITS, receive_ns=8.0 * MS), 0.5),
    ],
    ids=["as seen", "workers too slow", "workers fast enough", "receiving takes as long as a step"],
)
def test_what_was_seen_counts_where_it_is_more_than_the_costs_imply(waits: Waits, share: float) -> None:
    assert stall(waits).share == pytest.approx(share)


OTHERS = replace(QUIET, worker_delay_ns=15 * MS, busy_ns=400 * MS)
"""The same beside others, who kept the workers from a CPU for 15 ms."""


@pytest.mark.parametrize(
    ("waits", "waited_ms"),
    [
        (replace(WAITS, windows=(OTHERS,) * 2, workers=0), 20),
        (replace(WAITS, windows=(OTHERS,) * 2), 5),
        (replace(RECEIVES, windows=(replace(OTHERS, worker_delay_ns=19 * MS),) * 2, receive_ns=0.5 * MS), 5),
    ],
    ids=["without workers", "what others took from workers", "receiving remains"],
)
def test_what_others_took_from_the_workers_is_not_waiting(waits: Waits, waited_ms: float) -> None:
    assert stall(waits).share == pytest.approx(waited_ms / (80 + waited_ms))


KEEPING_UP = {
    "as much as nobody asked for": (WAITS, None, 9.5),
    "5 %": (WAITS, 0.05, 9.5),
    "20 %": (WAITS, 0.2, 8.0),
    "half": (WAITS, 0.5, 5.0),
    "none at all": (WAITS, 0.0, 99.9),
    "none at all, receiving costs nothing": (replace(WAITS, receive_ns=0.0), 0.0, 9.99),
    "20 %, receiving decides": (RECEIVES, 0.2, 8.0),
    "10 %, receiving decides": (RECEIVES, 0.1, 18.0),
    "5 %, receiving decides": (RECEIVES, None, 38.0),
}
"""By the share of waiting that is tolerated: the shortest step in milliseconds."""


@pytest.mark.parametrize(("waits", "tolerated", "step_ms"), KEEPING_UP.values(), ids=KEEPING_UP)
def test_the_step_for_which_a_loader_keeps_up_depends_on_what_is_tolerated(
    waits: Waits, tolerated: float | None, step_ms: float
) -> None:
    seen = stall(waits, tolerated)
    assert seen.keeps_up_at_ms == pytest.approx(step_ms)
    assert seen.tolerated == max(0.001, KEEPS_UP if tolerated is None else tolerated)


def test_the_time_from_batch_to_batch_is_the_step_and_its_share_of_waiting() -> None:
    seen: Stall = stall(WAITS)
    assert [seen.period_ms(share) for share in (0.0, 0.2, 0.5)] == [8.0, 10.0, 16.0]
    assert seen.period_ms(1.0) == pytest.approx(8e9)
