"""docs/stages.md is executed: its target is read, its test runs, its tables name every stage and figure."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_dataloader.probe.timing.evidence import STAGES, Stages
from pytest_dataloader.probe.timing.stall import Stall
from pytest_dataloader.settings import targets

if TYPE_CHECKING:
    from tests.pytest_dataloader.conftest import Project

pytestmark = pytest.mark.xdist_group("time")

TEXT = (Path(__file__).parents[2] / "docs" / "stages.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    [found] = re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    return str(found)


def test_the_target_is_without_fault(project: Project) -> None:
    project.path.joinpath("pyproject.toml").write_text(block("toml"))
    [train] = targets.read_file(project.path / "pyproject.toml", "pyproject.toml")
    assert train.faults == ()
    assert train.limits["stages"] == {"step_ms": 35, "max_stall": 0.05}


@pytest.mark.slow
def test_the_example_runs(project: Project) -> None:
    project.path.joinpath("test_it.py").write_text(block("python"))
    project.bench("--dataloader-seconds=2").assert_outcomes(passed=1)
    assert project.loaders["test_it.py::test_where_the_time_goes"]["checks"]["stages"]["evidence"]["stall"] < 0.5


def test_every_stage_is_explained_and_every_figure_exists() -> None:
    assert re.findall(r"^\| `(\w+)` \|", TEXT, re.MULTILINE) == list(STAGES)
    known = {each.name for kind in (Stages, Stall) for each in fields(kind)}
    assert set(re.findall(r"`(\w+_(?:share|seconds|sample|batch|factor|batches|ms))`", TEXT)) <= known | {"step_ms"}
