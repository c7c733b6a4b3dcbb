"""What a search for settings has found, at each point where it may be asked."""

from __future__ import annotations

from typing import Any

from torch.utils.data import DataLoader

from pytest_dataloader.probe.tuning.evidence import Tuning, tuning_of
from pytest_dataloader.probe.tuning.search import Search


def test_a_search_that_has_not_begun_has_found_nothing() -> None:
    loader: Any = DataLoader(list(range(8)))  # type: ignore[arg-type]  # a list is a dataset
    assert tuning_of(Search(loader)) == Tuning()
