"""Hugging Face datasets: tables with a format or a transform, streams in shards, parts of a node."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch.utils.data import DataLoader

from tests.libraries.ask import verdict_of

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    datasets: Any = pytest.importorskip("datasets")
    distributed: Any = pytest.importorskip("datasets.distributed")

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.filterwarnings("ignore")

SIZE = 256


def table() -> Any:
    return datasets.Dataset.from_dict({"x": [[float(row)] * 4 for row in range(SIZE)], "label": list(range(SIZE))})


def noise(batch: Any) -> Any:
    return {**batch, "x": [torch.as_tensor(x) + torch.rand(4) for x in batch["x"]]}


def numbers(shards: list[int]) -> Iterator[dict[str, int]]:
    for shard in shards:
        yield from ({"x": shard * 64 + number} for number in range(64))


def loader(data: Any, workers: int = 2, **options: Any) -> Any:
    return DataLoader(data, batch_size=8, num_workers=workers, **options)


def mapped() -> Any:
    return loader(table().with_format("torch"), shuffle=True)


def transformed() -> Any:
    return loader(table().with_transform(noise), shuffle=True)


def streamed() -> Any:
    stream = table().to_iterable_dataset(num_shards=8).shuffle(seed=1, buffer_size=32)
    return loader(stream.with_format("torch"))


def generated() -> Any:
    return loader(datasets.IterableDataset.from_generator(numbers, gen_kwargs={"shards": [0, 1, 2, 3]}))


def of_rank(rank: int, world_size: int) -> Any:
    return loader(distributed.split_dataset_by_node(table().with_format("torch"), rank=rank, world_size=world_size))


def stream_of_rank(rank: int, world_size: int) -> Any:
    stream = table().to_iterable_dataset(num_shards=16).with_format("torch")
    return loader(distributed.split_dataset_by_node(stream, rank=rank, world_size=world_size))


def in_few_shards() -> Any:
    return loader(table().to_iterable_dataset(num_shards=2).with_format("torch"), workers=4)


@pytest.mark.parametrize("make", [mapped, transformed, streamed, generated])
@pytest.mark.parametrize("check", ["randomness", "order"])
def test_a_loader_of_datasets_is_not_accused(make: Any, check: str) -> None:
    verdict = verdict_of(check, make)
    assert verdict.outcome == "passed", verdict.reason


def test_draws_of_a_transform_are_seen() -> None:
    assert verdict_of("randomness", transformed).reason.startswith("torch: all draws differ")


@pytest.mark.parametrize("make", [of_rank, stream_of_rank])
def test_parts_of_nodes_are_disjoint(make: Any) -> None:
    verdict = verdict_of("shards", make)
    assert verdict.outcome == "passed", verdict.reason


def test_fewer_shards_than_workers_are_found() -> None:
    verdict = verdict_of("order", in_few_shards)
    assert verdict.outcome == "failed"
    assert "2 of 4 workers get no sample\nfewer shards than workers" in verdict.reason
