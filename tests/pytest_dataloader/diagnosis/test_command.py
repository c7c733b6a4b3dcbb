"""``python -m pytest_dataloader``: from any folder, with its own statuses, and deaf to what pytest is told there."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import sys
import time
from typing import TYPE_CHECKING

import pytest

from pytest_dataloader import checks
from pytest_dataloader.diagnosis.command import main

if TYPE_CHECKING:
    from pathlib import Path

    from tests.pytest_dataloader.preloaded import Server

LOADERS = """
import time

import torch
from torch.utils.data import DataLoader, Dataset

class Rows(Dataset):
    def __init__(self, length=640):
        self.data = torch.zeros(length, 4)
    def __len__(self):
        return len(self.data)
    def __getitem__(self, index):
        return self.data[index]

class Broken(Rows):
    def __getitem__(self, index):
        raise KeyError("sample 0 is broken")

class Slow(Rows):
    def __getitem__(self, index):
        open("reading", "a").close()
        time.sleep(0.05)
        return self.data[index]

def make(rows=Rows, length=640):
    return DataLoader(rows(length), batch_size=16)

def broken():
    return make(Broken)

def slow():
    return make(Slow)

def empty():
    return make(length=0)

def number():
    return 3

def in_the_way():
    import os
    os.mkdir("seen.json")
    return make()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    tmp_path.joinpath("found_here.py").write_text(LOADERS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "found_here", raising=False)
    return tmp_path


def test_a_loader_is_diagnosed_from_a_folder_whose_settings_of_pytest_are_broken(
    folder: Path, preloaded: Server
) -> None:
    folder.joinpath("conftest.py").write_text("raise RuntimeError('the conftest of the folder')")
    folder.joinpath("pytest.ini").write_text("[pytest]\naddopts = --no-such-option\ndataloader_seconds = soon\n")
    environ = os.environ | {"PYTEST_ADDOPTS": "--no-such-option", "PYTEST_PLUGINS": "no_such_plugin"}
    command = ("-m", "pytest_dataloader", "found_here:make", "--quick", "--json", "out/seen.json")
    done = preloaded.run(*command, env=environ)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "found_here:make  DataLoader(Rows, batch_size=16, num_workers=0)"
    (loader,) = json.loads(folder.joinpath("out", "seen.json").read_text())["loaders"]
    assert loader["id"] == "found_here:make"
    assert list(loader["checks"]) == [name for name in checks.NAMES if name not in ("shards", "resume", "transfer")]
    assert {each["verdict"] for each in loader["checks"].values()} <= {"passed", "inconclusive"}  # on a busy machine
    assert {path.name for path in folder.iterdir()} <= {
        "conftest.py", "pytest.ini", "found_here.py", "out", "__pycache__",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["found_here:make", "--checks", "fds", "--max-fd-use", "0.99"], 0, "fds  passed  peak"),
        (["found_here:make", "--checks", "throughput", "--min-samples-per-second=1e12"], 1, "throughput  failed  "),
        (["found_here:broken", "--checks", "workers,order"], 1, "not measured  the loader raises: see workers"),
        (["found_here:make", "--checks", "resume"], 2, "has no state_dict"),
        (["found_here:empty", "--checks", "randomness", "--strict"], 1, "not measured"),
        (["found_here:nothing"], 2, "found_here has no attribute 'nothing'"),
        (["found_here:number"], 2, "expected a torch.utils.data.DataLoader, found_here.number() returned int"),
        (["nowhere:make"], 2, "there is no module 'nowhere'"),
        (["found_here"], 2, "expected MODULE:ATTR"),
        (["found_here:make", "--checks", "memroy"], 2, "there is no check 'memroy'; the checks are workers,"),
        (["found_here:make", "--max-stall", "0.1"], 2, "max_stall needs step_ms"),
        (["found_here:make", "--max-worker-growth", "32XB"], 2, 'max_worker_growth = "32XB": expected a size'),
        (["found_here:make", "--checks", "fds", "--max-shm=1MB"], 2, "no check holds it, as shm is not selected"),
        (["found_here:in_the_way", "--checks", "fds", "--json", "seen.json"], 2, "--json: cannot write"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_the_status_says_whether_it_passed_failed_or_could_not_run(
    arguments: list[str], status: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--quick"]) == status
    seen = capsys.readouterr()
    assert words in seen.out + seen.err
    assert "Traceback" not in seen.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "MODULE:ATTR"),
        (["a:b", "--seconds", "0"], "seconds above 0, got '0'"),
        (["a:b", "--sec", "1"], "--sec"),
        (["a:b", "--json", "/dev/full"], "--json: /dev/full: is a pipe, a socket or a device; name a file"),
        (["a:b", "--json", ""], "--json: expected the path of a file, got nothing"),
        (["a:b", "--json", "/nowhere/seen.json"], "--json: there is no folder /nowhere; only folders below"),
        (["a:b", "--html", "/nowhere/page.html"], "--html: there is no folder /nowhere; only folders below"),
        (["a:b", "--trace", "~nobody_here/ours.json"], "--trace: ~nobody_here/ours.json: there is no such home"),
    ],
)
def test_arguments_that_are_none_are_told_by_argparse(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert words in capsys.readouterr().err


def test_the_report_is_written_as_a_page(folder: Path) -> None:
    assert main(["found_here:make", "--checks", "stages", "--quick", "--html", "page.html"]) == 0
    text = (folder / "page.html").read_text()
    assert "<figcaption><b>Timeline</b>" in text
    assert "found_here:make" in text


def test_a_page_that_nothing_here_makes_is_refused_before_measuring(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(SystemExit) as ended:
        main(["a:b", "--html", "page.html"])
    told = "error: argument --html: a page needs jinja2 and plotly: pip install 'pytest-dataloader[report]'"
    assert (ended.value.code, told in capsys.readouterr().err) == (2, True)


def test_the_help_has_examples_and_every_limit(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    text = capsys.readouterr().out
    assert text.count("\n  python -m pytest_dataloader ") == 8
    limits = {limit for check in checks.NAMES for limit in checks.limits_of(check)}
    assert not [limit for limit in limits if f"--{limit.replace('_', '-')} " not in text]


def test_an_interrupt_out_of_the_users_code_is_told_with_its_place(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder.joinpath("stopping.py").write_text(
        "from torch.utils.data import DataLoader\n"
        "class Data(list):\n"
        "    def __getitem__(self, index):\n"
        "        raise KeyboardInterrupt\n"
        "def make():\n"
        "    return DataLoader(Data([1, 2]))\n"
    )
    assert main(["stopping:make", "--checks", "workers"]) == 2
    told = capsys.readouterr().err
    assert told.endswith(f"python -m pytest_dataloader: interrupted at {folder / 'stopping.py'}:4\n")


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_tells_what_it_knows(folder: Path, preloaded: Server, by: signal.Signals) -> None:
    command = ("-m", "pytest_dataloader", "found_here:slow", "--checks", "fds,order", "--json", "s.json")
    with folder.joinpath("out").open("w") as out, folder.joinpath("err").open("w") as err:
        run = preloaded.fork(*command, stdout=out, stderr=err)
        deadline = time.monotonic() + 60
        while not folder.joinpath("reading").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        os.kill(run.pid, by)
        status = run.wait(60)
    told = folder.joinpath("err").read_text()
    assert status == 2
    assert "interrupted" in told
    assert "Traceback" not in told + folder.joinpath("out").read_text()
    assert json.loads(folder.joinpath("s.json").read_text())["schema"] == 1
