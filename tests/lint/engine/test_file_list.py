"""One file named, as pre-commit does: its findings rest on the whole project, and a changed file renews them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.lint.conftest import Project

DATA = """\
from torch.utils.data import DataLoader


def make_loader(dataset):
    return DataLoader(dataset, num_workers={workers})
"""
TRAIN = """\
from pkg.data import make_loader

loader = make_loader([1])
for batch in loader:
    print(batch)
"""


def test_findings_are_those_of_a_whole_run(project: Project) -> None:
    project.write({"pkg/__init__.py": "", "pkg/data.py": DATA.format(workers=4), "train.py": TRAIN})
    whole = project.lint_json()
    assert whole.places == [("train.py", 4, "DL307")]
    project.write({"train.py": TRAIN + "print()\n"})
    assert project.lint_json("train.py").records == whole.records


def test_a_change_beside_is_seen_though_only_one_file_is_named(project: Project) -> None:
    project.write({"pkg/__init__.py": "", "pkg/data.py": DATA.format(workers=4), "train.py": TRAIN})
    assert project.lint_json("train.py").places == [("train.py", 4, "DL307")]
    project.write({"pkg/data.py": DATA.format(workers=0)})
    assert project.lint_json("train.py").places == []


def test_findings_of_files_that_were_not_named_stay_out(project: Project) -> None:
    project.write({"pkg/__init__.py": "", "pkg/data.py": DATA.format(workers=4), "train.py": TRAIN})
    assert project.lint_json("pkg/data.py").places == []
    assert project.lint_json("pkg/data.py", "train.py").places == [("train.py", 4, "DL307")]
