"""How many samples a batch holds."""

from __future__ import annotations

import copy
from collections import deque
from typing import Any

import pytest
import torch
from torch.utils.data import BatchSampler, DataLoader, IterableDataset, RandomSampler, TensorDataset

from pytest_dataloader.probe.loader import counting, positions

DATA = TensorDataset(torch.arange(10))
IMAGES = torch.zeros(4, 3, 8, 8)


@pytest.mark.parametrize(
    ("batch", "length"),
    [
        (IMAGES, 4),
        ((IMAGES, torch.zeros(4)), 4),
        ([IMAGES, torch.zeros(4)], 4),
        ({"image": IMAGES, "label": [1, 2, 3, 4]}, 4),
        ((IMAGES, torch.zeros(5)), None),
        ({"image": torch.zeros(3, 8, 8), "label": torch.tensor(1)}, None),
        ({"image": torch.zeros(3, 8, 8), "label": 7}, None),
        (torch.tensor(1.0), None),
        (["a", "b", "c"], 3),
        ([1, 2], 2),
        ([], 0),
        ("text", None),
        (None, None),
    ],
)
def test_the_first_dimension_counts_where_all_parts_share_it(batch: object, length: int | None) -> None:
    assert counting.first_dimension(batch) == length


@pytest.mark.parametrize(
    ("batch", "batch_size", "count"),
    [
        (torch.zeros(3, 8), 4, 3),  # the last batch of an epoch
        (torch.zeros(300, 2), 4, 4),  # a graph's nodes, not its samples
        (object(), 4, 4),
        (torch.zeros(64, 8), None, 64),
        (object(), None, 1),
    ],
)
def test_batch_size_bounds_what_the_batch_shows(batch: object, batch_size: int | None, count: int) -> None:
    assert counting.count_samples(batch, batch_size) == count


@pytest.mark.parametrize(
    ("given", "single", "batch"),
    [
        ([3, 1], 2, 2),
        (torch.tensor([3, 1]), 2, 2),
        (frozenset({"a", "b"}), 2, 2),
        ((3, "train"), None, 2),
        ({"row": 3}, None, 1),
        ("row", None, 1),
        (torch.tensor(3), None, 1),
        (slice(2, 8), None, 1),
        (3, None, 1),
    ],
)
def test_a_collection_is_many_indices_but_what_a_single_one_gives_the_batch_tells(
    given: object, single: int | None, batch: int
) -> None:
    for many, count in ((False, single), (True, batch)):
        assert positions.count_indices_in(given, many=many) == count
        assert len(positions.indices_in(given, many=many)) == (count or 1)


@pytest.mark.parametrize(
    ("given", "indices"),
    [
        (slice(2, 5), [2, 3, 4]),
        (slice(8, 12), [8, 9]),
        (slice(None), list(range(10))),
        (slice(-2, None), [8, 9]),
        (slice(20, 24), [slice(20, 24)]),
    ],
)
def test_a_slice_is_the_indices_that_it_takes_of_a_dataset(given: slice, indices: list[Any]) -> None:
    assert list(positions.indices_in(given, many=False, size=10)) == indices


class Stream(IterableDataset[int]):
    def __iter__(self) -> Any:
        return iter(range(10))


def _counted(loader: DataLoader[Any]) -> list[int | None] | None:
    borrowed = copy.copy(loader)
    sizes = counting.count_indices(borrowed)
    if sizes is None:
        return None
    list(borrowed)
    return list(sizes)


@pytest.mark.parametrize(
    ("loader", "sizes"),
    [
        (DataLoader(DATA, batch_size=4), [4, 4, 2]),
        (DataLoader(DATA, batch_size=4, drop_last=True, shuffle=True), [4, 4]),
        (DataLoader(DATA, batch_sampler=[[0], [1, 2, 3]]), [1, 3]),
        (DataLoader(DATA, batch_size=None, sampler=BatchSampler(RandomSampler(DATA), 4, False)), [4, 4, 2]),
        (DataLoader(DATA, batch_size=None), [None] * 10),
        (DataLoader(Stream(), batch_size=4), None),
    ],
)
def test_indices_count_for_map_style_datasets(loader: DataLoader[Any], sizes: list[int | None] | None) -> None:
    assert _counted(loader) == sizes


def test_a_counted_sampler_is_otherwise_the_sampler() -> None:
    inner = BatchSampler(RandomSampler(DATA), 4, False)
    counted = counting.CountedSampler(inner, deque(), many=True)
    assert len(counted) == 3
    assert counted.batch_size == 4
    with pytest.raises(AttributeError, match="set_epoch"):
        counted.set_epoch(1)


def test_each_epoch_counts_from_its_start() -> None:
    sizes: deque[int | None] = deque()
    counted = counting.CountedSampler([[1], [2, 3]], sizes, many=True)
    next(iter(counted))
    list(counted)
    assert list(sizes) == [1, 2]
