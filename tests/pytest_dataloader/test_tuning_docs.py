"""docs/tuning.md is executed: its commands collect what is said, its table is one that we print."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.pytest_dataloader.conftest import Project

TEXT = Path(__file__).parents[2].joinpath("docs", "tuning.md").read_text(encoding="utf-8")


def test_the_commands_collect_a_tuning_of_each_target(project: Project) -> None:
    project.declare(train='loader = "proj.data:make"', val='loader = "proj.data:make"')
    [console] = re.findall(r"^```console\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    declared = ["pyproject.toml::train::tune", "pyproject.toml::val::tune"]
    for line, expected in zip(
        console.splitlines(), (declared, [*declared, "dataloader-target::quick::tune"]), strict=True
    ):
        _, program, *arguments = shlex.split(line.partition("#")[0])
        assert program == "pytest"
        found = project.collect("-q", *arguments)
        assert [each for each in found.outlines if "::" in each] == expected


def test_the_table_has_our_columns() -> None:
    from pytest_dataloader.report import ladder

    [head] = ladder.cells([])
    assert " ".join(" ".join(head).split()) in " ".join(TEXT.split())
