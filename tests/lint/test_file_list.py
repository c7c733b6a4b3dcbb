"""One file named, as pre-commit does: its findings rest on the whole project, whose facts come from the cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from dl_lint import extraction

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


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are parsed, as they are."""
    seen: list[str] = []
    extract = extraction._extract

    def noting(path: str, data: bytes, *, stored: bool = True) -> object:
        seen.append(path)
        return extract(path, data, stored=stored)

    monkeypatch.setattr(extraction, "_extract", noting)
    return seen


def test_facts_of_the_rest_come_from_the_cache_and_findings_are_those_of_a_whole_run(
    project: Project, parsed: list[str]
) -> None:
    project.write({"pkg/__init__.py": "", "pkg/data.py": DATA.format(workers=4), "train.py": TRAIN})
    whole = project.lint_json()
    assert whole.places == [("train.py", 4, "DL307")]
    parsed.clear()
    project.write({"train.py": TRAIN + "print()\n"})
    assert project.lint_json("train.py").records == whole.records
    assert parsed == ["train.py"]


def test_a_change_beside_is_seen_though_only_one_file_is_named(project: Project, parsed: list[str]) -> None:
    project.write({"pkg/__init__.py": "", "pkg/data.py": DATA.format(workers=4), "train.py": TRAIN})
    assert project.lint_json("train.py").places == [("train.py", 4, "DL307")]
    parsed.clear()
    project.write({"pkg/data.py": DATA.format(workers=0)})
    assert project.lint_json("train.py").places == []
    assert parsed == ["pkg/data.py"]


def test_findings_of_files_that_were_not_named_stay_out(project: Project) -> None:
    project.write({"pkg/__init__.py": "", "pkg/data.py": DATA.format(workers=4), "train.py": TRAIN})
    assert project.lint_json("pkg/data.py").places == []
    assert project.lint_json("pkg/data.py", "train.py").places == [("train.py", 4, "DL307")]
