"""docs/report.md is executed: its commands write pages, which have the charts that it lists, and its sizes hold."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.pytest_dataloader.conftest import Project
    from tests.pytest_dataloader.preloaded import Server

pytestmark = pytest.mark.xdist_group("cpu")

TEXT = (Path(__file__).parents[2] / "docs" / "report.md").read_text(encoding="utf-8")
TRAIN = """
import torch
from torch.utils.data import DataLoader, TensorDataset

def make_loader():
    return DataLoader(TensorDataset(torch.rand(4096, 8)), batch_size=32, num_workers=2)
"""


@pytest.mark.slow
def test_the_commands_write_pages_with_the_charts_of_the_table(project: Project, preloaded: Server) -> None:
    (console,) = re.findall(r"^```console\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    install, bench, command = (line.removeprefix("$ ").split() for line in console.splitlines())
    assert install[-1] == "'pytest-dataloader[report]'"
    project.path.joinpath("train.py").write_text(TRAIN)
    project.declare(train='loader = "train:make_loader"\nskip = ["shards", "resume", "portability", "transfer"]')
    project.run(*bench[1:], "--dataloader-tune").assert_outcomes(passed=9)
    page = project.path / "page.html"
    told = page.read_text()
    assert re.findall(r"<figcaption><b>(.*?)</b>", told) == re.findall(r"^\| ([A-Z][a-z ]+?) \|", TEXT, re.MULTILINE)
    assert page.stat().st_size / 1e6 == pytest.approx(float(re.findall(r"is ([\d.]+) MB for one", TEXT)[0]), abs=0.1)
    page.unlink()
    done = preloaded.run("-m", "pytest_dataloader", *command[1:], "--quick", folder=project.path)
    assert done.returncode == 0, done.stderr
    assert page.exists()
