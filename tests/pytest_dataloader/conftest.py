"""A small project with loaders that keep, miss and break what is asked of them."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import time
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING, Any

import pytest

from tests.pytest_dataloader.preloaded import Server

if TYPE_CHECKING:
    from collections.abc import Iterator

multiprocessing.set_forkserver_preload(["torch.utils.data"])  # once for all tests, and not once for each worker

if sys.platform == "linux" and multiprocessing.get_all_start_methods()[0] != "fork":
    # Python 3.14 prefers forkserver. Loaders of these tests that name no start method are about forked workers.
    multiprocessing.set_start_method("fork")

LOADERS = '''
import torch
from torch.utils.data import DataLoader, Dataset

class Zeros(Dataset):
    """Ready-made samples."""
    def __init__(self, length=640):
        self.data = torch.zeros(length, 4)
    def __len__(self):
        return len(self.data)
    def __getitem__(self, index):
        return self.data[index]

class Broken(Zeros):
    def __getitem__(self, index):
        raise KeyError("sample 0 is broken")

def make(num_workers=0):
    return DataLoader(Zeros(), batch_size=16, num_workers=num_workers)

def make_with_workers():
    return make(2)

def make_empty():  # misses every floor, however busy the machine is
    return DataLoader(Zeros(0), batch_size=16)

def make_broken():
    return DataLoader(Broken(), batch_size=16)

def raises():
    raise ValueError("no samples in data/train")

def needs(root):
    return make()

ready = make()
dataset = Zeros()
'''


# Plugins of this environment that cost every run half a second or more.
WITHOUT = ("-p", "no:hypothesispytest", "-p", "no:memray", "-p", "no:anyio")


class Project:
    """A directory with ``proj/data.py``, and pytest runs in it that measure for 0.3 s a check."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.path = pytester.path
        pytester.mkpydir("proj").joinpath("data.py").write_text(LOADERS)

    def declare(self, **tables: str) -> None:
        """Write targets by name into pyproject.toml, each one with its keys."""
        targets = [f"[tool.pytest-dataloader.targets.{name}]\n{keys}\n" for name, keys in tables.items()]
        self.pytester.makepyprojecttoml("\n".join(targets))

    def run(self, *arguments: str) -> pytest.RunResult:
        """Run pytest in a process of its own; reports go to ``seen.json`` and ``junit.xml``."""
        return self.pytester.runpytest_subprocess(
            *WITHOUT,
            "--dataloader-seconds=0.3",
            "--dataloader-json=seen.json",
            "--junitxml=junit.xml",
            "-rs",
            *arguments,
        )

    def bench(self, *arguments: str) -> pytest.RunResult:
        return self.run("--dataloader-bench", *arguments)

    def interrupt(self, once: str, *arguments: str, by: signal.Signals = signal.SIGINT) -> tuple[int, str]:
        """Run pytest in a process of its own, with a signal once the file ``once`` is there: status and output."""
        with self.path.joinpath("output").open("w") as output:
            command = [sys.executable, "-mpytest", *WITHOUT, *arguments]
            run = self.pytester.popen(command, stdout=output, stderr=output)
            deadline = time.monotonic() + 120
            while not self.path.joinpath(once).exists() and time.monotonic() < deadline:
                time.sleep(0.05)
            os.kill(run.pid, by)
            status = run.wait(60)
        return status, self.path.joinpath("output").read_text()

    def collected(self, *arguments: str) -> list[str]:
        """The node ids that a run would measure or test."""
        done = self.collect("--dataloader-bench", "-q", *arguments)
        return [line for line in done.outlines if "::" in line]

    def collect(self, *arguments: str) -> pytest.RunResult:
        """Collect in this process, which is cheap: nothing of the project is imported."""
        return self.pytester.runpytest_inprocess(*WITHOUT, "--dataloader-seconds=0.3", "--collect-only", *arguments)

    @property
    def loaders(self) -> dict[str, Any]:
        """The loaders of the last JSON report by id."""
        content = json.loads(self.path.joinpath("seen.json").read_text())
        assert content["schema"] == 1
        return {loader["id"]: loader for loader in content["loaders"]}

    @property
    def cases(self) -> dict[str, ET.Element]:
        """The test cases of the last JUnit report by class and name."""
        cases = ET.parse(self.path / "junit.xml").getroot().iter("testcase")
        return {f"{case.get('classname')}::{case.get('name')}": case for case in cases}


@pytest.fixture(scope="session")
def preloaded() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


@pytest.fixture
def pytester(pytester: pytest.Pytester, preloaded: Server, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Its runs in processes of their own find torch imported."""
    monkeypatch.setattr(pytester, "popen", preloaded.popen)
    monkeypatch.delenv("COLUMNS", raising=False)  # pytest-xdist sets it, and what it says is wrapped
    return pytester


@pytest.fixture
def project(pytester: pytest.Pytester) -> Project:
    return Project(pytester)
