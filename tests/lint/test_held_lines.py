"""What is said of a line of a base names the base, and shows the loader whose workers run it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.lint.conftest import Project

LIBRARY = """\
import cv2
import h5py
from torch.utils.data import Dataset


class Volumes(Dataset):
    def __init__(self, path):
        self.file = h5py.File(path, "r")
        self.cache = {}

    def __len__(self):
        return len(self.file["x"])

    def __getitem__(self, index):
        if index not in self.cache:
            self.cache[index] = cv2.resize(self.file["x"][index], (8, 8))
        return self.cache[index]
"""

EXAMPLE = """\
from torch.utils.data import DataLoader

from library import Volumes


class Tiny(Volumes):
    pass


def make():
    return DataLoader(Tiny("x.h5"), num_workers=4)
"""


@pytest.mark.parametrize("code", ["DL302", "DL303", "DL313"])
def test_a_finding_names_the_class_that_holds_its_line_and_shows_the_loader(project: Project, code: str) -> None:
    project.write({"library.py": LIBRARY, "examples/tiny.py": EXAMPLE, "pyproject.toml": "[project]\n"})
    project.write({"a_first.py": EXAMPLE})
    (finding,) = (one for one in project.lint_json("--no-cache", "--pedantic").records if one["code"] == code)
    assert "`Volumes`" in finding["message"]
    assert "Tiny" not in finding["message"]
    assert "the loader, with 4 workers" in [one["message"] for one in finding["related"]]
