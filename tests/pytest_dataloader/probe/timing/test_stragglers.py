from __future__ import annotations

import random

import pytest

from pytest_dataloader.probe.timing.stragglers import STRAGGLES, straggler


def test_a_worker_that_is_always_slow_is_named_by_few_batches() -> None:
    assert straggler({0: [10.0, 11, 10], 1: [10.0, 10, 12], 2: [40.0, 41, 40]}) == (2, 4.0)


def test_a_worker_that_gets_each_slow_batch_is_named() -> None:
    slow = [250.0 if batch % 4 == 3 else 8 for batch in range(40)]
    worker, factor = straggler({0: [8.0] * 40, 1: slow})
    assert worker == 1
    assert factor == pytest.approx(8.6, abs=0.1)


def test_one_slow_file_makes_no_straggler() -> None:
    assert straggler({0: [8.0] * 40, 1: [8.0] * 39 + [600.0]})[1] < STRAGGLES


def test_slow_batches_that_fall_where_they_may_make_none() -> None:
    found = 0
    for run in range(60):
        dealer = random.Random(run)
        times = {worker: [250.0 if dealer.random() < 0.1 else 8 for _ in range(24)] for worker in range(2)}
        found += straggler(times)[1] >= STRAGGLES
    assert found <= 2


@pytest.mark.parametrize("took", [{}, {0: [1.0] * 9, 1: [9.0, 9.0]}])
def test_too_few_batches_name_nobody(took: dict[int, list[float]]) -> None:
    assert straggler(took) == (-1, 1.0)


def test_one_worker_straggles_behind_nobody() -> None:
    assert straggler({0: [8.0] * 9}) == (0, 1.0)
