"""What a million samples of a container cost a worker is told by what one of them holds."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.lint.conftest import Project

DATASET = """\
import glob
import json
from pathlib import Path

from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __init__(self, folder):
        self.rows = []
        for path in glob.glob(folder):
            self.rows.append({one})

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index]


def make(folder):
    return DataLoader(Rows(folder), num_workers=2)
"""

COSTS = {
    "path": 112,
    "len(path) * 2": 32,
    "[item for item in sorted(Path(path).iterdir())][0]": 350,
    "next(Path(path).parent.glob(path))": 350,
    '(path, "label")': 34 + 2 * (16 + 112),
    '{"path": path, "label": 3}': 34 + 16 + 112 + 16 + 32,
    '{"path": {"name": path}}': 34 + 16 + (34 + 16 + 112),
    "json.load(open(path))": 600,
    "dict([(path, path)])": 600,
    "[path for _ in range(9)]": 2000,
}


@pytest.mark.parametrize(("one", "cost"), COSTS.items(), ids=COSTS)
def test_a_sample_costs_what_it_holds(project: Project, one: str, cost: int) -> None:
    project.write({"data.py": DATASET.replace("{one}", one)})
    (finding,) = (each for each in project.lint_json("--no-cache").records if each["code"] == "DL301")
    found = re.search(r"at about ([\d,]+) bytes for", finding["message"])
    assert found is not None
    assert int(found[1].replace(",", "")) == cost


SHARDS = """\
import json

from torch.utils.data import DataLoader, Dataset


class Shards(Dataset):
    def __init__(self, path, where):
        self.shards = []
        for line in open(path):
            self.shards.append(json.loads(line))
        self.where = where

    def __len__(self):
        return len(self.where)

    def __getitem__(self, index):
        number, offset = self.where[index]
        return self.shards[number]["rows"][offset]


def make(path, where):
    return DataLoader(Shards(path, where), num_workers=2)
"""


def test_objects_that_samples_share_are_not_counted_by_sample(project: Project) -> None:
    project.write({"data.py": SHARDS})
    (finding,) = (each for each in project.lint_json("--no-cache").records if each["code"] == "DL301")
    assert "`self.shards` holds Python objects, and fetching a sample (" in finding["message"]
    assert "a million of them make 600 MB a worker" in finding["message"]
