"""What must hold under every torch, Python and pytest: one fault and one healthy twin of each check, and the demo.

`make matrix` runs this module in an environment for each; here it runs under the torch of the development.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import pytest_dataloader
from pytest_dataloader.probe.internals import requirements, trials
from pytest_dataloader.probe.memory import self_test
from tests.contract.loaders import CONTRACTS

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
TIMED = {"throughput", "stages"}
"""Checks that a busy machine may leave inconclusive."""
PATIENT = {"resume", "order"}
"""Checks that see less of a loader in a short time."""
WITHOUT_WARNINGS = "-Wignore"
"""Older releases of torch warn of what newer Pythons call deprecated."""


def examined(check: str, *, faulty: bool) -> tuple[str, str]:
    """The verdict and the reason of a check of the loader with its fault, or of the twin."""
    if check == "resume":
        pytest.importorskip("torchdata.stateful_dataloader")
    contract = CONTRACTS[check]
    limits = contract.limits if faulty or contract.twin_limits is None else contract.twin_limits
    make = contract.fault if faulty else contract.twin
    quick = check not in PATIENT
    report = pytest_dataloader.diagnose(make, checks=[check], quick=quick, seconds=None if quick else 20.0, **limits)
    return report.verdicts[check].outcome, report.verdicts[check].reason


@pytest.mark.parametrize("check", CONTRACTS)
@pytest.mark.filterwarnings("ignore")
def test_a_fault_is_found_and_named(check: str) -> None:
    outcome, reason = examined(check, faulty=True)
    assert outcome == "failed" or (check in TIMED and outcome == "inconclusive"), reason
    assert CONTRACTS[check].words in reason


@pytest.mark.parametrize("check", CONTRACTS)
@pytest.mark.filterwarnings("ignore")
def test_a_healthy_twin_passes(check: str) -> None:
    outcome, reason = examined(check, faulty=False)
    assert outcome == "passed" or (check in TIMED and outcome == "inconclusive"), reason


@pytest.mark.parametrize("part", requirements.ROWS)
def test_private_names_are_as_required(part: requirements.Part) -> None:
    assert requirements.mismatches(part) == ()
    assert requirements.was_tried(requirements.torch_version())


@pytest.mark.parametrize("part", requirements.ROWS)
@pytest.mark.filterwarnings("ignore")
def test_private_names_mean_what_they_should(part: requirements.Part) -> None:
    assert trials.trial_failure(part) == ""


@pytest.mark.filterwarnings("ignore")
def test_the_memory_test_is_right_on_a_known_fault_and_its_twin() -> None:
    assert self_test.self_test_failure() == ""


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run pytest as a user would, in a folder of its own."""
    return subprocess.run(
        [sys.executable, WITHOUT_WARNINGS, "-m", "pytest", *command],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_run_of_pytest_without_loaders_passes(tmp_path: Path) -> None:
    (tmp_path / "test_sum.py").write_text("def test_sum():\n    assert 1 + 1 == 2\n")
    done = run(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


LOADER = """
import torch
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __init__(self):
        self.rows = [f"{row:060}" for row in range(40_000)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return len(self.rows[index])


def train():
    return DataLoader(Rows(), batch_size=64, num_workers=2)
"""
SETTINGS = """
[tool.pytest-dataloader.targets.train]
loader = "proj:train"
checks = ["workers", "fds", "memory"]
"""


def test_a_declared_loader_is_measured_on_one_worker_of_xdist(tmp_path: Path) -> None:
    (tmp_path / "proj.py").write_text(LOADER)
    (tmp_path / "pyproject.toml").write_text(SETTINGS)
    done = run(tmp_path, "-v", "--dataloader-bench", "--dataloader-quick", "-n", "2", "--dist", "loadgroup")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "copy-on-write of dataset.rows" in done.stdout
    assert "1 failed, 2 passed" in done.stdout
    assert len(set(re.findall(r"\[(gw\d+)\]", done.stdout))) == 1


def test_settings_of_a_loader_are_tuned(tmp_path: Path) -> None:
    (tmp_path / "proj.py").write_text(LOADER)
    (tmp_path / "pyproject.toml").write_text(SETTINGS)
    done = run(tmp_path, "--dataloader-tune", "--dataloader-seconds=1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "num_workers" in done.stdout


@pytest.mark.timeout(900)
def test_the_demo_shows_what_it_promises() -> None:
    done = subprocess.run([sys.executable, ROOT / "examples" / "demo.py"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
