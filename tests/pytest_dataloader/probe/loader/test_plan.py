"""What is chosen to be read, from which samplers, and that none of them moves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    DistributedSampler,
    IterableDataset,
    Sampler,
    SubsetRandomSampler,
    TensorDataset,
)

from pytest_dataloader.probe.loader.plan import INDICES, plan_reading
from pytest_dataloader.probe.loader.positions import draw, flat_indices, leading_indices

if TYPE_CHECKING:
    from collections.abc import Iterator

DATA = TensorDataset(torch.zeros(10_000))


class Own(Sampler[int]):
    """A sampler of the user's, which counts how often it was asked."""

    asked = 0

    def __iter__(self) -> Iterator[int]:
        Own.asked += 1
        return iter(range(9_999, 5_000, -1))


class Endless(Sampler[int]):
    def __iter__(self) -> Iterator[int]:
        while True:
            pass
        yield 0


class Stream(IterableDataset[int]):
    def __iter__(self) -> Iterator[int]:
        return iter(range(5))


@pytest.mark.parametrize("settings", [{}, {"shuffle": True}, {"batch_size": None}, {"batch_size": 500}])
def test_torchs_own_samplers_are_spread_over_the_dataset(settings: dict[str, Any]) -> None:
    plan = plan_reading(DataLoader(DATA, **settings))
    assert (len(plan.indices), plan.universe, plan.batches) == (INDICES, 10_000, ())
    assert min(plan.indices) < 100
    assert max(plan.indices) > 9_900
    assert plan.shuffled is settings.get("shuffle", False)


def test_only_indices_that_a_sampler_may_yield_are_read() -> None:
    assert set(plan_reading(DataLoader(DATA, sampler=SubsetRandomSampler(range(50)))).indices) == set(range(50))
    assert set(plan_reading(DataLoader(DATA, sampler=[7, 8, 9])).indices) == {7, 8, 9}
    assert len(plan_reading(DataLoader(DATA, sampler=DistributedSampler(DATA, 2, 0))).indices) == INDICES


def test_a_sampler_of_the_users_own_is_asked_in_a_child() -> None:
    plan = plan_reading(DataLoader(DATA, batch_size=10, sampler=Own()))
    assert plan.indices[:3] == (9_999, 9_998, 9_997)
    plan = plan_reading(DataLoader(DATA, batch_sampler=[[1, 2], [5]]))
    assert (plan.batches, plan.indices) == (([1, 2], [5]), (1, 2, 5))
    assert Own.asked == 0


def test_a_sampler_that_yields_nothing_in_time_is_replaced_and_said() -> None:
    plan = plan_reading(DataLoader(DATA, sampler=Endless()))
    assert len(plan.indices) == INDICES
    assert "yielded nothing in time" in plan.note


def test_iterable_datasets_are_read_in_order() -> None:
    plan = plan_reading(DataLoader(Stream()))
    assert plan.iterable
    assert plan.indices[:4] == (0, 1, 2, 3)


def test_an_empty_dataset_has_nothing_to_read() -> None:
    few = TensorDataset(torch.zeros(3))
    nothing = (
        DataLoader(TensorDataset(torch.zeros(0))),
        DataLoader(few, sampler=[]),
        DataLoader(few, batch_size=4, drop_last=True),
    )
    assert [(plan.indices, plan.empty) for plan in map(plan_reading, nothing)] == [((), True)] * 3


def test_planning_draws_no_random_number() -> None:
    generator = torch.Generator().manual_seed(3)
    before = generator.get_state().tolist(), torch.get_rng_state().tolist()
    plan_reading(DataLoader(DATA, shuffle=True, generator=generator, batch_size=4))
    plan_reading(DataLoader(DATA, batch_sampler=BatchSampler(Own(), 4, drop_last=False)))
    assert (generator.get_state().tolist(), torch.get_rng_state().tolist()) == before


def test_positions_are_drawn_once_each() -> None:
    assert sorted(draw(100, 200)) == list(range(100))
    assert len(set(draw(10**9, 2000))) == 2000


@pytest.mark.parametrize(
    ("batches", "flat"), [([[1, 2], [3]], (1, 2, 3)), ([4, 5], (4, 5)), (["a", ["b", 6]], (6,)), ([None], ())]
)
def test_only_whole_numbers_are_positions(batches: list[Any], flat: tuple[int, ...]) -> None:
    assert flat_indices(batches) == flat


class Greedy(list[int]):
    """A batch of the user's own type, which nobody may look into for nothing."""

    def __getitem__(self, _at: Any) -> Any:
        raise AssertionError("looked into")


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ([3, 1, 4, 1, 5], (3, 1, 4)),
        ((3, 1), (3, 1)),
        (range(5, 100), (5, 6, 7)),
        (7, (7,)),
        (torch.tensor([2, 7, 1, 8]), (2, 7, 1)),
        (np.arange(4) * 10, (0, 10, 20)),
        ([np.int64(4), "key", 5], (4, 5)),
        ([None, None], ()),
        ([(1, 2), (3, 4)], ()),
        ("key", ()),
        (torch.tensor([[1, 2], [3, 4]]), ()),
        ({1: 2}, ()),
        (Greedy([1, 2]), ()),
        ((number for number in range(3)), ()),
    ],
)
def test_the_first_indices_are_those_that_can_be_read_without_asking(given: Any, named: tuple[int, ...]) -> None:
    found = leading_indices(given, 3)
    assert found == named
    assert all(type(index) is int for index in found)
