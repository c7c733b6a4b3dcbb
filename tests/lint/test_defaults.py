"""Loaders whose workers or arguments are left at a default."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.lint.conftest import Project

FOLDER = """\
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder


def make(names):
    def is_valid_file(path):
        return path in names

    def read(path):
        return path, names

    return DataLoader(ImageFolder("images", {argument}), num_workers=2)
"""


@pytest.mark.parametrize(("argument", "found"), [("is_valid_file=is_valid_file", 0), ("loader=read", 1)])
def test_what_a_folder_is_filtered_by_is_not_kept(project: Project, argument: str, found: int) -> None:
    project.write({"data.py": FOLDER.format(argument=argument)})
    assert len(project.lint_json("--select", "DL306").records) == found


OPTIONS = """\
import argparse

from torch.utils.data import DataLoader

parser = argparse.ArgumentParser()
parser.add_argument("--workers", default=0{more})
args = parser.parse_args()
loader = DataLoader(range(10), num_workers=args.workers, collate_fn=lambda samples: samples)
"""


@pytest.mark.parametrize(("more", "found"), [("", 0), (", type=int", 1), (", type=float", 1), (", nargs=2", 1)])
def test_an_option_that_takes_a_text_stays_at_the_number_that_it_is_by_default(
    project: Project, more: str, found: int
) -> None:
    project.write({"train.py": OPTIONS.format(more=more)})
    assert len(project.lint_json("--select", "DL306").records) == found


SHARED = """\
from torch.utils.data import DataLoader


def train(model, loader: DataLoader):
    for batch in loader:
        model(batch)
"""
QUICK = """\
from torch.utils.data import DataLoader


def get(dataset):
    return DataLoader(dataset, batch_size=4)
"""
RUN = """\
import torch
from {source} import get
from shared import train

loader = get(range(10))
train(print, loader)
"""


def test_a_function_that_several_scripts_call_starts_the_workers_of_those_that_give_it_some(project: Project) -> None:
    project.write({
        "shared.py": SHARED,
        "quick.py": QUICK,
        "slow.py": QUICK.replace("batch_size=4", "num_workers=4"),
        "run_quick.py": RUN.format(source="quick"),
        "run_slow.py": RUN.format(source="slow"),
    })  # fmt: skip
    assert [one["filename"] for one in project.lint_json("--select", "DL307").records] == ["run_slow.py"]


UNREAD = """\
import argparse

import settings
from torch.utils.data import DataLoader

parser = argparse.ArgumentParser()
parser.add_argument("--workers", type=int, default=settings.WORKERS)
args = parser.parse_args()
loader = DataLoader(range(10))
"""

SETTINGS = """\
WORKERS = 8


def declare(parser):
    parser.add_argument("--name", default="one")
"""


def test_options_of_files_that_are_read_on_the_way_to_a_default_are_no_trouble(project: Project) -> None:
    project.write({"train.py": UNREAD, "settings.py": SETTINGS})
    (found,) = project.lint_json("--select", "DL213", "train.py").records
    assert found["location"]["row"] == 7
