"""docs/baselines.md is executed: its commands run in order, its setting is read."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_dataloader.settings import options

if TYPE_CHECKING:
    from tests.pytest_dataloader.conftest import Project

pytestmark = pytest.mark.xdist_group("cpu")

TEXT = Path(__file__).parents[2].joinpath("docs", "baselines.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    return str(re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)[0])


@pytest.mark.slow
def test_the_commands_record_and_hold(project: Project) -> None:
    project.declare(train='loader = "proj.data:make"\nchecks = ["throughput"]')
    for line in block("console").splitlines():
        _, program, *arguments = shlex.split(line.partition("#")[0])
        assert program == "pytest"
        assert project.run(*arguments, "-p", "no:cacheprovider").ret == 0
    assert "times the baseline" in project.loaders["train"]["checks"]["baseline"]["reason"]


def test_the_setting_names_the_file(pytester: pytest.Pytester) -> None:
    pytester.path.joinpath("pyproject.toml").write_text(block("toml"))
    assert options.read_options(pytester.parseconfigure()).baseline == pytester.path / "baselines.json"
