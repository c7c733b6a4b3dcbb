"""The commands of docs/run.md."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.pytest_dataloader.diagnosis.test_run import TRAIN

if TYPE_CHECKING:
    from tests.pytest_dataloader.preloaded import Server

TEXT = Path(__file__).parents[3].joinpath("docs", "run.md").read_text()
COMMANDS, DISTRIBUTED, _ATTACH = re.findall(r"^```console\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


def test_the_loop_runs(tmp_path: Path, preloaded: Server) -> None:
    (script,) = re.findall(r"^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    tmp_path.joinpath("loop.py").write_text(script)
    tmp_path.joinpath("train.py").write_text(
        "from torch.utils.data import DataLoader\ntrain_loader = DataLoader(list(range(64)), batch_size=8)\n"
    )
    done = preloaded.run("loop.py", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "% of the time is data wait {'dataloader/input_wait': " in done.stdout


@pytest.mark.slow
def test_the_commands_run(tmp_path: Path, preloaded: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tmp_path.joinpath("train.py").write_text(TRAIN)
    tmp_path.joinpath("proj").mkdir()
    tmp_path.joinpath("proj", "train.py").write_text(TRAIN)
    for line in COMMANDS.splitlines():
        prompt, program, *arguments = shlex.split(line)
        assert (prompt, program) == ("$", "pytest-dataloader")
        done = preloaded.run("-m", "pytest_dataloader", *arguments)
        assert done.returncode == 0, done.stderr
    assert json.loads(tmp_path.joinpath("seen.json").read_text())["loaders"]
    assert DISTRIBUTED.split()[-4:] == ["-m", "pytest_dataloader", "run", "train.py"]  # as test_run starts it
