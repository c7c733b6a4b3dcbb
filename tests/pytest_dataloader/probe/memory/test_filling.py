"""The line that fills an attribute."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch.utils.data import ConcatDataset, DataLoader, Subset, TensorDataset

from pytest_dataloader.probe.memory.filling import filling_site

if TYPE_CHECKING:
    from pathlib import Path

MODULE = """\
import json
from torch.utils.data import Dataset

class Base(Dataset):
    def __init__(self, names):
        self.names = names                                     # 6
        self.cache = {}

    def __len__(self):
        return len(self.names)

class Rows(Base):
    CLASSES = ["cat", "dog"]                                   # 13

    def __init__(self):
        super().__init__([str(number) for number in range(9)])
        self.rows, self.files = [], None
        for number in range(9):
            self.rows.append({"number": number})               # 19
        self.twice = [1]
        if self.rows:
            self.twice = [2]
        self.get = lambda index: self.rows[index]
        self.table: dict[str, list[int]] = {"label": [1, 2]}   # 24

    def __getitem__(self, index):
        self.cache[index] = index                              # 27
        return index
"""


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "filled_rows.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "filled_rows", raising=False)
    return importlib.import_module("filled_rows").Rows()


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("dataset.names", 6),  # in a base class
        ("dataset.names[*]", 6),
        ("dataset.CLASSES", 13),
        ("dataset.rows", 19),  # made empty, and filled in one place
        ("dataset.rows[*]['number']", 19),
        ("dataset.table['label']", 24),
        ("dataset.cache", 27),
        ("dataset.twice", 0),  # in two places
        ("dataset.get.closure['self']", 0),
        ("dataset.unknown", 0),
        ("dataset", 0),
        ("some_module.ROWS", 0),
        ("", 0),
    ],
)
def test_the_line_that_fills_an_attribute_is_named(rows: Any, path: str, line: int) -> None:
    assert filling_site(DataLoader(rows), path) == (f"filled_rows.py:{line}" if line else "")


def test_what_grows_is_filled_by_what_adds_to_it(rows: Any) -> None:
    assert filling_site(DataLoader(rows), "dataset.cache", growing=True) == "filled_rows.py:27"
    assert filling_site(DataLoader(rows), "dataset.names", growing=True) == ""


def test_wrappers_of_torch_lead_to_the_dataset_of_the_user(rows: Any) -> None:
    both: ConcatDataset[Any] = ConcatDataset([TensorDataset(torch.zeros(3)), rows])
    loader = DataLoader(Subset(both, [0]))
    assert filling_site(loader, "dataset.dataset.datasets[1].rows[*]") == "filled_rows.py:19"
    assert filling_site(loader, "dataset.dataset.datasets[2].rows") == ""
    assert filling_site(loader, "dataset.indices") == ""  # torch's own attribute


def test_a_class_without_a_source_names_no_line() -> None:
    namespace: dict[str, Any] = {}
    exec(MODULE, namespace)  # as in a shell
    assert filling_site(DataLoader(namespace["Rows"]()), "dataset.names") == ""
