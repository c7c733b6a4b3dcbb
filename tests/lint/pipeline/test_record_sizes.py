"""What a container costs a worker: what a sample of it holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.lint.conftest import Project

DATASET = """\
import glob
import json
import os
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
    "path": "about 101 bytes for a text in each of 2 workers",
    "len(path) * 2": "about 36 bytes for a number in each of 2 workers",
    "os.path.basename(path)": "about 73 bytes for a text in each of 2 workers",
    'f"{folder}/{len(path):06d}.png"': "about 82 bytes for a text in each of 2 workers",
    "[item for item in sorted(Path(path).iterdir())][0]": "about 308 bytes for a `Path` in each of 2 workers",
    "next(Path(path).parent.glob(path))": "about 308 bytes for a `Path` in each of 2 workers",
    '(path, "label")': "about 157 bytes for a record in each of 2 workers",
    "(path, folder)": "about 157 bytes for a record in each of 2 workers",
    '{"path": path, "label": 3}': "about 285 bytes for a record in each of 2 workers",
    '{"path": {"name": path}}': "about 469 bytes for a record in each of 2 workers",
    'path.split("/")[0]': "about 69 bytes for a text in each of 2 workers",
    '(json.load(open(path))["name"], float(path))': "about 173 bytes for a record in each of 2 workers",
}


def message(project: Project, code: str) -> str:
    project.write({"data.py": code})
    (finding,) = (each for each in project.lint_json("--no-cache").records if each["code"] == "DL301")
    return str(finding["message"])


@pytest.mark.parametrize(("one", "cost"), COSTS.items(), ids=COSTS)
def test_a_sample_costs_what_it_holds_but_what_all_of_them_share(project: Project, one: str, cost: str) -> None:
    assert message(project, DATASET.replace("{one}", one)).partition("reference count, ")[2] == cost


@pytest.mark.parametrize(
    "one", ["json.load(open(path))", "dict([(path, path)])", "[path for _ in path]", "(path, json.load(open(path)))"]
)
def test_a_figure_that_is_not_known_is_left_out(project: Project, one: str) -> None:
    assert message(project, DATASET.replace("{one}", one)).endswith("writes to its reference count")


def test_workers_are_told_as_a_range_and_the_cost_of_each_in_records(project: Project) -> None:
    more = "\n\ndef make_more(folder):\n    return DataLoader(Rows(folder), num_workers=8)\n"
    project.write({"data.py": DATASET.replace("{one}", "(len(path), str(path))") + more})
    (finding,) = (each for each in project.lint_json("--no-cache").records if each["code"] == "DL301")
    assert finding["message"].endswith(", about 173 bytes for a record in each of 2 to 8 workers")
    assert finding["bytes_per_sample"] == 173


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
    assert "`self.shards` holds Python objects: every worker copies" in message(project, SHARDS)
