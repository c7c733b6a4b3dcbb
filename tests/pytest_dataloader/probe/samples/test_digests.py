"""Digests of samples."""

from __future__ import annotations

import pytest
import torch

from pytest_dataloader.probe.samples.digests import digest

TABLE = torch.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize(
    "view",
    [TABLE[1], TABLE[:, 1], TABLE.t(), TABLE[1:2, 2], TABLE.as_strided((1,), (720,)), TABLE[0, 0], TABLE[:0]],
    ids=["row", "column", "transposed", "of one", "of one, any stride", "number", "empty"],
)
def test_a_view_counts_by_what_it_shows(view: torch.Tensor) -> None:
    assert digest(view) == digest(torch.tensor(view.tolist()).reshape(view.shape))
    if view.numel():
        assert digest(view) != digest(view + 1)
