"""Changes that are tried before they are advised leave the user's dataset as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.utils.data import DataLoader, Dataset

from pytest_dataloader.probe.timing.evidence import Stages
from pytest_dataloader.probe.tuning import changes

if TYPE_CHECKING:
    import pytest


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
