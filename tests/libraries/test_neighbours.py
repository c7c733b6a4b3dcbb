"""The plugin beside others in one run: no option clashes, and no verdict is another one."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

NEIGHBOURS = {
    "pytest_asyncio.plugin": (),
    "pytest_benchmark.plugin": (),
    "pytest_cov.plugin": ("--cov", "proj"),
    "pytest_memray.plugin": ("--memray",),
    "pytest_randomly": ("--randomly-seed=7",),
    "pytest_rerunfailures": ("--reruns", "1"),
    "pytest_timeout": ("--timeout", "300"),
    "pytest_torch.plugin": (),
}

DATA = """
import torch
from torch.utils.data import DataLoader, Dataset

class Rows(Dataset):
    def __init__(self, keeps=None):
        self.data = torch.arange(2560.0).reshape(640, 4)
        self.texts = [f"images/{index:08}.jpg" for index in range(keeps or 0)]
    def __len__(self):
        return len(self.texts) or len(self.data)
    def __getitem__(self, index):
        return len(self.texts[index]) if self.texts else self.data[index]

def make():
    return DataLoader(Rows(), batch_size=16, shuffle=True, num_workers=2)

def listed():
    return DataLoader(Rows(300_000), batch_size=64, num_workers=2)
"""
TARGETS = """
[tool.pytest-dataloader.targets.train]
loader = "proj.data:make"
min_samples_per_second = 1
[tool.pytest-dataloader.targets.listed]
loader = "proj.data:listed"
checks = ["memory"]
"""
TESTS = """
from proj.data import make

def test_fixture(dataloader_memory):
    assert dataloader_memory(make()).kind in ("clean", "warm_up")
"""


def verdicts(folder: Path, *arguments: str) -> dict[str, str]:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "pytest_dataloader.plugin"]
    measuring = ["--dataloader-bench", "--dataloader-quick", "--dataloader-json", "seen.json"]
    environ = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        [*command, *measuring, *arguments], cwd=folder, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stdout + done.stderr  # the list of texts fails
    loaders = json.loads(folder.joinpath("seen.json").read_text())["loaders"]
    found = {f"{each['id']} {name}": one["verdict"] for each in loaders for name, one in each["checks"].items()}
    # How busy the machine is is no matter of plugins.
    return {name: "passed" if verdict == "inconclusive" else verdict for name, verdict in found.items()}


def test_no_plugin_changes_a_verdict(tmp_path: Path) -> None:
    for name in NEIGHBOURS:
        if importlib.util.find_spec(name.partition(".")[0]) is None:  # imported here, it might not be rewritten there
            pytest.skip(f"{name} is not installed")
    tmp_path.joinpath("proj").mkdir()
    tmp_path.joinpath("proj", "__init__.py").touch()
    tmp_path.joinpath("proj", "data.py").write_text(DATA)
    tmp_path.joinpath("pyproject.toml").write_text(TARGETS)
    tmp_path.joinpath("test_data.py").write_text(TESTS)
    alone = verdicts(tmp_path)
    loaded = [part for name in NEIGHBOURS for part in ("-p", name)]
    options = [option for of_plugin in NEIGHBOURS.values() for option in of_plugin]
    assert alone["listed memory"] == "failed"
    assert verdicts(tmp_path, *loaded, *options) == alone
