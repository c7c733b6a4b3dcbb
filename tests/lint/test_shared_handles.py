"""What DL303 says of handles that processes cannot share: only what is true of how each was opened."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.lint.conftest import Project

KEYED = """\
import lmdb
from torch.utils.data import DataLoader, Dataset


class Keyed(Dataset):
    def __init__(self, path, locked):
        self.env = lmdb.open(path{options})

    def __getitem__(self, index):
        return self.env.begin().get(str(index).encode())


def make_loader(path, locked):
    return DataLoader(Keyed(path, locked), num_workers=2)
"""


def message(project: Project, options: str) -> str:
    project.write({"data.py": KEYED.format(options=options)})
    [one] = project.lint_json("--select", "DL303").records
    only_reads = "readonly=True, lock=False" in options
    assert one["severity"] == ("advice" if only_reads else "bug")
    return str(one["message"])


@pytest.mark.parametrize("options", ["", ", readonly=True", ", lock=True", ", 1 << 30, max_readers=1"])
def test_an_lmdb_environment_has_a_lock_table(project: Project, options: str) -> None:
    assert "inherit its memory map and its lock table, and LMDB forbids" in message(project, options)


@pytest.mark.parametrize("options", [", lock=False", ", readonly=True, lock=False", ", lock=0", ", lock=locked"])
def test_one_without_a_lock_table_is_forbidden_all_the_same(project: Project, options: str) -> None:
    said = message(project, options)
    assert "lock table" not in said
    assert "LMDB forbids using an environment in a process that did not open it" in said
    assert "for spawned ones it cannot be pickled" in said


IN_A_NOTEBOOK = """\
import h5py
from torch.utils.data import Dataset

class Volumes(Dataset):
    def __init__(self, path):
        self.file = h5py.File(path, "r")

    def __getitem__(self, index):
        return self.file["images"][index]
"""


@pytest.mark.parametrize(
    ("cell", "codes"),
    [
        ("volumes = Volumes('a.h5')\nstack = volumes.file['images'][:]", []),
        ("from torch.utils.data import DataLoader\nloader = DataLoader(Volumes('a.h5'), num_workers=2)", ["DL303"]),
    ],
    ids=["without a loader", "with one"],
)
def test_a_notebook_without_a_loader_has_no_workers(project: Project, cell: str, codes: list[str]) -> None:
    cells: list[dict[str, object]] = [
        {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": [], "source": text}
        for text in (IN_A_NOTEBOOK, cell)
    ]
    project.write({"look.ipynb": json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})})
    assert [record["code"] for record in project.lint_json().records] == codes


KEPT = """\
import h5py
from torch.utils.data import DataLoader, Dataset


class Captions(Dataset):
    def __init__(self, path):
        self.h = h5py.File(path)
        self.images = self.h["images"]

    def __len__(self):
        return 100

    def __getitem__(self, index):
        return self.images[index]


def make(path):
    return DataLoader(Captions(path), num_workers=4)
"""


def test_what_keeps_the_handle_is_named_beside_what_reads_it(project: Project) -> None:
    project.write({"data.py": KEPT})
    (finding,) = project.lint_json("--select", "DL303").records
    assert "kept as `self.h` and read as `self.images`" in finding["message"]
    project.write({"data.py": KEPT.replace("self.images[index]", 'self.h["images"][index]')})
    (finding,) = project.lint_json("--select", "DL303").records
    assert "kept as" not in finding["message"]
