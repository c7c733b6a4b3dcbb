"""docs/diagnose.md is executed: its commands and its script."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from pytest_dataloader.diagnosis.command import main

TEXT = Path(__file__).parents[3].joinpath("docs", "diagnose.md").read_text(encoding="utf-8")
TRAIN = """
import torch
from torch.utils.data import DataLoader, TensorDataset

def make_loader():
    return DataLoader(TensorDataset(torch.zeros(512, 8)), batch_size=32, shuffle=True)
"""


def block(language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    return str(found)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.joinpath("train.py").write_text(TRAIN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "train", raising=False)


@pytest.mark.parametrize("line", block("console").splitlines())
def test_a_command_runs(line: str) -> None:
    prompt, *command = shlex.split(line)
    assert (prompt, command[0]) == ("$", "pytest-dataloader")
    short = () if "--quick" in command else ("--quick",)
    assert main([*command[1:], *short]) == 0


def test_the_script_runs(capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(block("python"), "script.py", "exec"), {})
    assert " passed" in capsys.readouterr().out
