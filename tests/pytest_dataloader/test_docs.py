"""docs/pytest.md is executed: its targets are read, its commands collect, its test runs."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_dataloader.checks import NAMES
from pytest_dataloader.settings import targets

if TYPE_CHECKING:
    from tests.pytest_dataloader.conftest import Project

TEXT = Path(__file__).parents[2].joinpath("docs", "pytest.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    found = re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    assert len(found) == 1
    return str(found[0])


@pytest.fixture
def documented(project: Project) -> Project:
    project.path.joinpath("pyproject.toml").write_text(block("toml"))
    with project.path.joinpath("proj", "data.py").open("a") as file:
        file.write("\nmake_train_loader = make_val_loader = make_with_workers\n")
    return project


def test_the_targets_are_without_fault(documented: Project) -> None:
    train, val = targets.read_file(documented.path / "pyproject.toml", "pyproject.toml")
    assert train.faults == val.faults == ()
    assert (train.checks, val.checks) == (NAMES, ("memory",))


def test_the_commands_select_what_is_said(documented: Project) -> None:
    documented.path.joinpath("test_it.py").write_text("def test_it(): pass\n")
    train, val = [f"pyproject.toml::train::{check}" for check in NAMES], "pyproject.toml::val::memory"
    quick = [f"dataloader-target::quick::{check}" for check in NAMES]
    expected = [
        [*train, val, "test_it.py::test_it"],
        [*train, val],
        ["pyproject.toml::train::memory"],
        [name for name in train if "memory" not in name],
        [*train, val, "test_it.py::test_it", *quick],
    ]
    commands = [shlex.split(line.partition("#")[0]) for line in block("console").splitlines()]
    for (prompt, program, *arguments), selected in zip(commands, expected, strict=True):
        assert (prompt, program) == ("$", "pytest")
        assert sorted(documented.collected(*arguments)) == sorted(selected)


def test_the_test_runs(documented: Project) -> None:
    documented.path.joinpath("test_it.py").write_text(block("python"))
    documented.run("test_it.py").assert_outcomes(passed=1)
