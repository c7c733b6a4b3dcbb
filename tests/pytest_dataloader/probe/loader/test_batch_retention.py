"""Whether a loader that iterates in its own way keeps its batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from pytest_dataloader.probe.loader.batch_retention import KEPT_BYTES, kept_bytes_per_batch

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS = TensorDataset(torch.rand(256, 8), torch.arange(256))
"""Of each batch torch remembers both tensors, if they came from a worker, until it has a hundred or more."""


class HandsOn(DataLoader[Any]):
    """Takes its epochs from a loader that it has."""

    def __init__(self, inner: DataLoader[Any]) -> None:
        super().__init__(inner.dataset, batch_size=inner.batch_size, num_workers=inner.num_workers)
        self.inner = inner

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]
        yield from self.inner


class Keeps(HandsOn):
    """And keeps what it handed on."""

    kept: list[Any] = []  # noqa: RUF012

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]
        for batch in self.inner:
            self.kept.append(batch)
            yield batch


@pytest.mark.parametrize(("wrapper", "keeps"), [(HandsOn, False), (Keeps, True)])
def test_a_loader_inside_another_has_no_workers_in_the_trial(wrapper: type[HandsOn], *, keeps: bool) -> None:
    kept = kept_bytes_per_batch(wrapper(DataLoader(ROWS, batch_size=8, num_workers=2)))
    assert kept is not None
    assert (kept >= KEPT_BYTES) == keeps
