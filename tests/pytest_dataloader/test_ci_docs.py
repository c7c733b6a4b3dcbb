"""docs/ci.md is executed: the steps of its job, and its commands."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.pytest_dataloader.conftest import WITHOUT
from tests.pytest_dataloader.rendering import page

if TYPE_CHECKING:
    from tests.pytest_dataloader.conftest import Project
    from tests.pytest_dataloader.preloaded import Server

TEXT = Path(__file__).parents[2].joinpath("docs", "ci.md").read_text(encoding="utf-8")
SHORT = ("--dataloader-seconds=0.1", "--dataloader-checks=fds")


def block(language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    return str(found)


@pytest.fixture
def declared(project: Project) -> Project:
    project.declare(train='loader = "proj.data:make"')
    return project


def run(project: Project, preloaded: Server, command: str) -> int:
    """Run a command of ours, with the one check that is quick."""
    program, *arguments = shlex.split(command)
    if program == "pytest":
        return int(project.pytester.runpytest_subprocess(*WITHOUT, *SHORT, *arguments).ret)
    assert program == "pytest-dataloader"
    only = () if {"compare", "export"} & set(arguments) else ("--checks=fds",)
    return preloaded.run("-m", "pytest_dataloader", *arguments, *only, folder=project.path).returncode


def test_the_job_measures_and_compares_with_what_it_kept(
    declared: Project, preloaded: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    job: dict[str, Any] = yaml.safe_load(block("yaml"))["jobs"]["loaders"]
    commands = [step["run"] for step in job["steps"] if "run" in step]
    assert [command.split()[0] for command in commands] == ["pip", "pytest", "pytest-dataloader", "cp"]
    _, measure, compare, keep = commands
    summary = declared.path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert run(declared, preloaded, measure) == 0
    shutil.copy(*(declared.path / name for name in keep.split()[1:]))
    assert run(declared, preloaded, compare.replace("$GITHUB_STEP_SUMMARY", str(summary))) == 0
    assert page(summary.read_text()).headings == [
        "DataLoader checks: 1 passed",
        "DataLoader checks compared: 1 the same",
    ]


@pytest.mark.slow
def test_the_commands_run(declared: Project, preloaded: Server) -> None:
    assert run(declared, preloaded, "pytest --dataloader-bench --dataloader-json old.json pyproject.toml") == 0
    shutil.copy(declared.path / "old.json", declared.path / "new.json")
    for line in block("console").splitlines():
        assert run(declared, preloaded, line.removeprefix("$ ")) == 0
    assert page(declared.path.joinpath("loaders.md").read_text()).headings == ["DataLoader checks: 1 passed"]
    assert page(declared.path.joinpath("changes.md").read_text()).headings == ["DataLoader checks compared: 1 the same"]
