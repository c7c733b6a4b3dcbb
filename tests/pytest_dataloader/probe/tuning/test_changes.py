"""Changes that are tried before they are advised: they leave the dataset as it was and give the same batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    SequentialSampler,
    Subset,
    TensorDataset,
    default_collate,
)

from pytest_dataloader.probe.timing.evidence import Stages
from pytest_dataloader.probe.tuning import changes
from pytest_dataloader.probe.tuning.batch_indexing import indexed_by_batch

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS = TensorDataset(torch.arange(200.0).view(50, 4), torch.arange(50))


class Normalised(Dataset[torch.Tensor]):
    """Changes its rows in place by reading them."""

    def __init__(self) -> None:
        self.rows = [torch.full((4,), 512.0) for _ in range(400)]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> torch.Tensor:
        self.rows[index] /= 2
        return self.rows[index].clone()


def test_a_trial_without_workers_does_not_change_the_dataset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "cost_more", lambda _seen: True)
    dataset = Normalised()
    (tried,) = changes.try_changes(
        DataLoader(dataset, 8, num_workers=2), Stages(workers=2), seconds=0.3, came=lambda _text: None
    )
    assert tried.change == "num_workers=0"
    assert tried.samples_per_second > 0
    assert {row.max().item() for row in dataset.rows} == {512.0}


class Doubled(TensorDataset):
    def __getitem__(self, index: Any) -> Any:
        return tuple(2 * tensor[index] for tensor in self.tensors)


class Fetching(TensorDataset):
    def __getitems__(self, indices: list[int]) -> list[Any]:
        return [self[index] for index in indices]


class Halves(BatchSampler):
    def __iter__(self) -> Iterator[list[int]]:
        return (batch[:2] for batch in super().__iter__())


@pytest.mark.parametrize(
    ("loader", "code"),
    [
        (DataLoader(ROWS, 8), "BatchSampler(SequentialSampler(dataset), 8, False)"),
        (DataLoader(Subset(Subset(ROWS, range(40)), [3, 1]), 1), "BatchSampler(SequentialSampler(dataset), 1, False)"),
        (DataLoader(ROWS, 8, sampler=range(3, 20), drop_last=True), "BatchSampler(sampler, 8, True)"),
        (DataLoader(ROWS, 8, num_workers=2), "BatchSampler(SequentialSampler(dataset), 8, False)"),
    ],
    ids=["tensors", "a subset", "a sampler", "workers"],
)  # fmt: skip
def test_indexing_once_for_each_batch_gives_the_same_batches(loader: Any, code: str) -> None:
    found = indexed_by_batch(loader)
    assert found is not None
    text, changed = found
    assert text == f"one index for each batch, DataLoader(dataset, batch_size=None, sampler={code}),"
    assert len(changed) == len(loader)
    for before, after in zip(loader, changed, strict=True):
        assert type(before) is type(after)
        assert all(torch.equal(one, other) for one, other in zip(before, after, strict=True))


@pytest.mark.parametrize(
    "loader",
    [
        DataLoader(Doubled(*ROWS.tensors), 8),
        DataLoader(Fetching(*ROWS.tensors), 8),
        DataLoader(Normalised(), 8),
        DataLoader(ROWS, 8, collate_fn=lambda samples: default_collate(samples)[0]),
        DataLoader(ROWS, batch_sampler=Halves(SequentialSampler(ROWS), 8, drop_last=False)),
        DataLoader(ROWS, batch_size=None),
    ],
    ids=["reads otherwise", "reads batches", "no tensors", "collates otherwise", "cuts otherwise", "no batches"],
)
def test_what_may_give_other_batches_is_not_indexed_by_batch(loader: Any) -> None:
    assert indexed_by_batch(loader) is None


def test_indexing_once_for_each_batch_is_tried_and_advised_by_its_rate() -> None:
    rows = TensorDataset(torch.zeros(4096, 4))
    tried, *_ = changes.try_changes(DataLoader(rows, 64), Stages(), seconds=0.3, came=lambda _text: None)
    assert tried.change.startswith("one index for each batch")
    assert tried.samples_per_second > 64


def test_batches_of_a_batch_sampler_that_was_given_become_larger_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "cost_more", lambda _seen: False)
    monkeypatch.setattr(changes, "is_by_sampler", lambda _seen: False)
    given = BatchSampler(SequentialSampler(ROWS), 8, drop_last=False)
    loader = DataLoader(Normalised(), batch_sampler=given, num_workers=2)
    found = {text: changed for text, changed, _ in changes._changes(loader, Stages(workers=2, bottleneck="receive"))}
    assert found["batch_size=32"].batch_sampler.batch_size == 32
