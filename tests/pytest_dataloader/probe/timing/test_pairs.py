"""Two loaders in turn."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from pytest_dataloader.errors import EmptyEpoch
from pytest_dataloader.probe.loader.borrowing import borrow
from pytest_dataloader.probe.timing.pairs import Pair, Turns, Unit, per_sample_ns, ratio
from pytest_dataloader.probe.timing.turns import Turn

pytestmark = pytest.mark.xdist_group("time")


def pairs(slowdown: float, *, count: int = 200, noise: float = 0.05, seed: int = 0, drift: bool = True) -> list[Pair]:
    """Pairs on a machine that drifts to half its speed, with a collection of garbage every 50 units."""
    draw = random.Random(seed)
    found = []
    for index in range(count):
        speed = 1 + index / count if drift else 1.0
        costs = [1e6 * speed * each * draw.gauss(1, noise) for each in (slowdown, 1.0)]
        if index % 50 == 7:
            costs[draw.randrange(2)] *= 30
        found.append(Pair(*(Unit(samples=32, service_ns=cost, cpu_ns=cost / 2) for cost in costs)))
    return found


@pytest.mark.parametrize("slowdown", [0.8, 1.0, 1.1, 1.5])
def test_the_ratio_is_seen_through_drift_and_outliers(slowdown: float) -> None:
    seen = ratio(pairs(slowdown))
    assert seen.seen == pytest.approx(slowdown, rel=0.03)
    assert seen.low <= seen.seen <= seen.high
    assert seen.surely_above < seen.low < slowdown * 1.02
    assert seen.surely_below > seen.high > slowdown * 0.98


@pytest.mark.slow
def test_the_bounds_hold_in_many_trials() -> None:
    outside = 0
    for seed in range(200):
        seen = ratio(pairs(1.0, count=60, seed=seed))
        outside += not seen.surely_above < 1.0 < seen.surely_below
    assert outside <= 2


def test_cpu_time_has_a_ratio_of_its_own() -> None:
    waiting = [Pair(Unit(8, 2e6, 1e6), Unit(8, 1e6, 1e6))] * 30
    assert ratio(waiting).seen == pytest.approx(2)
    assert ratio(waiting, cpu=True).seen == pytest.approx(1)


def test_batches_of_different_size_compare_by_the_sample() -> None:
    seen = [Pair(Unit(64, 2e6, 2e6), Unit(32, 1e6, 1e6))] * 30
    assert ratio(seen).seen == pytest.approx(1)
    assert per_sample_ns([pair.loader for pair in seen]) == pytest.approx(2e6 / 64)


def test_a_single_pair_is_certain_of_nothing() -> None:
    seen = ratio([Pair(Unit(1, 1e6, 1e6), Unit(1, 1e6, 1e6))])
    assert seen.surely_above < 1e-300
    assert seen.surely_below > 1e300


class Remembering(Dataset[Any]):
    """Remembers what was asked of it."""

    def __init__(self, length: int = 1000) -> None:
        self.length = length
        self.asked: list[int] = []

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Any:
        self.asked.append(index)
        return torch.tensor(index)


def test_both_loaders_go_through_the_same_samples_in_this_process() -> None:
    one, other = Remembering(), Remembering()
    ours = DataLoader(one, batch_size=4, shuffle=True, num_workers=2, persistent_workers=True, prefetch_factor=3)
    theirs = DataLoader(other, batch_size=4, shuffle=True)
    with borrow(ours, in_process=True) as left, borrow(theirs, in_process=True) as right:
        turns = Turns(Turn(left), Turn(right))
        turns.begin()
        for _ in range(100):
            turns.pair()
        assert one.asked
        assert one.asked == other.asked


def test_units_grow_until_they_last_and_epochs_start_anew_together() -> None:
    data = Remembering(400)
    loader = DataLoader(data, batch_size=1)
    with borrow(loader, in_process=True) as left, borrow(loader, in_process=True) as right:
        turns = Turns(Turn(left), Turn(right))
        turns.begin()
        seen = [turns.pair() for _ in range(60)]
    assert turns.batches > 1
    assert None in seen
    assert sum(pair is not None for pair in seen) >= 10


def test_an_empty_loader_is_told() -> None:
    empty, full = DataLoader(Remembering(0)), DataLoader(Remembering())
    with borrow(full) as left, borrow(empty) as right, pytest.raises(EmptyEpoch):
        Turns(Turn(left), Turn(right)).begin()
