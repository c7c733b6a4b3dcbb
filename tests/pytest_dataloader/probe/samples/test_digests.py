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


NOTE = {"rank": 0, "world_size": 1, "worker_id": None}


@pytest.mark.parametrize(
    ("other", "same"),
    [
        ({"row": 1, "read": NOTE | {"rank": 1, "world_size": 2, "worker_id": 3}}, True),
        ({"row": 2, "read": NOTE}, False),
        ({"row": 1, "read": NOTE | {"shard": 4}}, False),
        ({"row": 1, "read": {"rank": 0}}, False),
        ({"row": 1, "read": {}}, True),
        ({"row": 1} | NOTE, False),
    ],
    ids=["another reader", "another row", "another shard", "no world", "nothing", "among the rest"],
)
def test_a_note_of_who_reads_a_sample_is_none_of_its_content(other: object, same: bool) -> None:
    assert (digest({"row": 1, "read": NOTE}) == digest(other)) is same


def test_a_sample_that_is_nothing_but_such_a_note_is_its_content() -> None:
    assert digest(NOTE) != digest(NOTE | {"rank": 1})
