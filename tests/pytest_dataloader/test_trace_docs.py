"""docs/trace.md is executed: its script beside its commands; it names every slice that there is."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.pytest_dataloader.probe.device.kineto import RECORDED

if TYPE_CHECKING:
    from tests.pytest_dataloader.conftest import Project
    from tests.pytest_dataloader.preloaded import Server

pytestmark = pytest.mark.xdist_group("cpu")

TEXT = (Path(__file__).parents[2] / "docs" / "trace.md").read_text(encoding="utf-8")
TRAIN = """
import torch
from torch.utils.data import DataLoader, TensorDataset

model = torch.nn.Linear(8, 1)

def make_loader():
    return DataLoader(TensorDataset(torch.rand(4096, 8)), batch_size=32, num_workers=2)

def train_step(batch):
    model(batch[0]).sum().backward()
"""


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


def names(path: Path) -> set[str]:
    events = json.loads(path.read_text())["traceEvents"]
    return {event["name"] for event in events if event.get("cat") == "dataloader" and event["ph"] == "X"}


def test_the_script_and_the_commands_run(project: Project, preloaded: Server) -> None:
    def run(*arguments: str) -> None:
        done = preloaded.run(*arguments, folder=project.path)
        assert done.returncode == 0, done.stdout + done.stderr

    project.path.joinpath("train.py").write_text(TRAIN)
    (script,) = blocks("python")
    project.path.joinpath("loop.py").write_text(script)
    run("loop.py")
    told = {"startup", "load", "collate", "send", "receive", "wait", "step"}
    assert names(project.path / "ours.json") == told
    merging, measuring, _ = (
        [line.removeprefix("$ ").split() for line in each.splitlines()] for each in blocks("console")
    )
    for program, *arguments in merging:
        run(*{"python": (), "pytest-dataloader": ("-m", "pytest_dataloader")}[program], *arguments)
    assert names(project.path / "merged.json") == told
    assert set(re.findall(r"`([a-z]+)`", TEXT.partition("## What it shows")[2].partition("A slice tells")[0])) == {
        *told,
        "pin",
    }

    (ours, *command), (pytest_, *options) = measuring
    assert (ours, pytest_) == ("pytest-dataloader", "pytest")
    project.path.joinpath("ours.json").unlink()
    run("-m", "pytest_dataloader", *command, "--quick")
    assert names(project.path / "ours.json") == told
    project.declare(train='loader = "train:make_loader"\nchecks = ["stages"]')
    project.path.joinpath("ours.json").unlink()
    project.run(*options).assert_outcomes(passed=1)
    assert names(project.path / "ours.json") == told - {"step"}


def test_what_the_device_waits_for_is_told_as_shown(project: Project) -> None:
    (command, told) = blocks("console")[2].split("\n", 1)
    shutil.copy(RECORDED / "pageable-blocking-direct-0_workers.json.gz", project.path / "torch.json.gz")
    done = subprocess.run(
        [sys.executable, "-m", "pytest_dataloader", *command.removeprefix("$ pytest-dataloader ").split()],
        cwd=project.path,
        env={name: value for name, value in os.environ.items() if name != "COLUMNS"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == told
