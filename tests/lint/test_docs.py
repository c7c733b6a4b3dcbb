"""docs/dl-lint.md: its commands are accepted, its settings can be meant, its workflows call what exists."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml
from dl_lint import cli, config
from dl_lint.engine import catalogue

if TYPE_CHECKING:
    from tests.lint.conftest import Project

TEXT = (Path(__file__).parents[2] / "docs" / "dl-lint.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


def commands() -> list[str]:
    """Every call of dl-lint, in consoles and in jobs, without comments and redirections."""
    found = [line[2:] for line in "".join(blocks("console")).splitlines()]
    found += re.findall(r"^ *- (?:run: )?(dl-lint .*)$", "".join(blocks("yaml")), re.MULTILINE)
    return [re.split(r"  #| [<>] ", line)[0] for line in found]


def test_there_are_commands() -> None:
    assert len(commands()) >= 10


@pytest.mark.parametrize("command", commands())
def test_its_commands_are_accepted(command: str) -> None:
    options = cli._parser().parse_args(shlex.split(command)[1:])
    for selectors in options.select or ():
        assert all(
            any(one in (entry.name, entry.code) or entry.code.startswith(one) for entry in catalogue.entries().values())
            for one in selectors
        )


def test_its_settings_can_be_meant_and_name_every_key(project: Project) -> None:
    [settings] = [block for block in blocks("toml") if "[tool.dl-lint]" in block]
    project.write({"pyproject.toml": settings, "stubs/acme.pyi": "def progress(items): ...\n"})
    found = config.read("pyproject.toml", str(project.root), catalogue.entries())
    assert found.hints.start_method == "spawn"
    assert [key for key in config.KEYS if f"`{key}`" not in TEXT and key not in settings and key != "select"] == []


def test_its_workflows_are_yaml_with_steps(project: Project) -> None:
    pre_commit, annotations, scanning, gitlab = (yaml.safe_load(block) for block in blocks("yaml"))
    assert pre_commit["repos"][0]["hooks"][0]["entry"] == "dl-lint"  # test_pre_commit runs it
    for workflow in (annotations, scanning):
        [job] = workflow["jobs"].values()
        assert all({"uses", "run"} & step.keys() for step in job["steps"])
    assert gitlab["dl-lint"]["artifacts"]["reports"]["codequality"] in gitlab["dl-lint"]["script"][-1]
    assert project.lint("--output-format", "github").status == 0


def test_its_suppression_is_one(project: Project) -> None:
    [code] = blocks("python")
    project.write({"data.py": code})
    assert project.lint_json().places == [("data.py", 1, "DL001")]  # nothing there to accept, and that is said
