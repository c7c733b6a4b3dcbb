"""``pytest-dataloader``: from any folder, with its own statuses, and deaf to what pytest is told there."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_dataloader import checks
from pytest_dataloader.diagnosis import command
from pytest_dataloader.diagnosis.command import main
from pytest_dataloader.settings import limits

if TYPE_CHECKING:
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
    tmp_path.joinpath("deep", "er-er").mkdir(parents=True)
    tmp_path.joinpath("deep", "er-er", "elsewhere.py").write_text(LOADERS)
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
    assert re.match(r"found_here:make  (\d inconclusive, )?\d passed", lines[0])
    (loader,) = json.loads(folder.joinpath("out", "seen.json").read_text())["loaders"]
    assert loader["id"] == "found_here:make"
    assert list(loader["checks"]) == [name for name in checks.NAMES if name not in ("shards", "resume", "transfer")]
    assert {each["verdict"] for each in loader["checks"].values()} <= {"passed", "inconclusive"}  # on a busy machine
    assert {path.name for path in folder.iterdir()} <= {
        "conftest.py", "pytest.ini", "found_here.py", "out", "deep", "__pycache__",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["found_here:make", "--checks", "fds", "--max-fd-use", "0.99"], 0, "fds passed: peak"),
        (["found_here:make", "--checks", "throughput", "--min-samples-per-second=1e12"], 1, "throughput failed: "),
        (["found_here:broken", "--checks", "workers,order"], 1, "order not measured: the loader raises: see workers"),
        (["found_here:make", "--checks", "resume"], 2, "has no state_dict"),
        (["found_here:empty", "--checks", "randomness", "--strict"], 1, "not measured"),
        (["found_here:nothing"], 2, "found_here has no attribute 'nothing'"),
        (["found_here:number"], 2, "expected a torch.utils.data.DataLoader, found_here.number() returned int"),
        (["nowhere:make"], 2, "there is no module 'nowhere'"),
        (["found_here"], 2, "expected MODULE:ATTR"),
        (["found_here:make", "--checks", "memroy"], 2, "there is no check 'memroy'; did you mean memory?"),
        (["found_here:make", "--checks", "nothing_like_it"], 2, "the checks are workers, fds,"),
        (["found_here:make", "--step", "nowhere:step"], 2, "step: No module named 'nowhere'"),
        (["found_here:make", "--step", "found_here:mak"], 2, "has no attribute 'mak'; did you mean make?"),
        (["found_here:make", "--max-worker-growth", "32"], 2, "expected a size with its unit"),
        (["found_here.make"], 2, "got 'found_here.make'; did you mean found_here:make?"),
        (["found_here.py:make", "--checks", "fds"], 0, "fds passed: peak"),
        (["found_hree.py:make"], 2, "there is no file found_hree.py; did you mean found_here.py?"),
        (["deep/er-er/elsewhere.py:make", "--checks", "fds"], 0, "fds passed: peak"),
        (["check", "found_here:make", "--checks", "fds"], 0, "fds passed: peak"),
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
    assert main([*arguments, "--quick", "-v"]) == status
    seen = capsys.readouterr()
    assert words in seen.out + seen.err
    assert "Traceback" not in seen.err


@pytest.mark.parametrize(("reader", "said"), [("| true", ""), ("> /dev/full", "No space left on device")])
def test_a_report_that_nobody_takes_is_written_to_its_file_all_the_same(folder: Path, reader: str, said: str) -> None:
    check = f"{sys.executable} -m pytest_dataloader found_here:make --quick --checks fds --json seen.json"
    shell = ["bash", "-c", f"{check} {reader}; exit ${{PIPESTATUS[0]}}"]
    done = subprocess.run(shell, cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, said in done.stderr, "Traceback" in done.stderr) == (0, True, False), done.stderr
    assert json.loads((folder / "seen.json").read_text())["loaders"]
    assert "Exception ignored" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["check"], "the following arguments are required: MODULE:ATTR"),
        (["a:b", "--chekcs", "fds"], "unrecognized arguments: --chekcs fds; did you mean --checks?"),
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


@pytest.mark.parametrize("name", command._COMMANDS)
def test_each_subcommand_is_explained_by_three_examples(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*name.split(), "--help"])
    text = capsys.readouterr().out
    assert (ended.value.code, text.count(f"\n  pytest-dataloader {name} ")) == (0, 3)
    assert "\nexit status: " in text


def test_the_help_of_check_describes_every_limit(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["check", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    known = {limit for check in checks.NAMES for limit in checks.limits_of(check)}
    assert not [limit for limit in known if f"--{limit.replace('_', '-')} " not in text]
    assert not [limit for limit in known if limits.DESCRIPTIONS[limit] not in text]


def test_the_commands_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(f"\n  {name} " in text for name in command._COMMANDS)
    assert main(["--version"]) == 0
    assert re.fullmatch(r"pytest-dataloader \d+\.\d+\S*\n", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "which command?"),
        (
            ["chekc"],
            "expected MODULE:ATTR, or one of check, run, attach, tune, compare, export, trace; did you mean",
        ),
        (["--quick"], "expected a command or MODULE:ATTR before --quick"),
        (["trace"], "there is more to say after trace: expected record, merge, analyze"),
        (["trace", "analyse"], "there is no 'trace analyse': expected record, merge, analyze; did you mean analyze?"),
    ],
)
def test_what_is_no_command_is_told_at_once(words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert told in capsys.readouterr().err


def test_the_users_code_finds_its_own_arguments(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder.joinpath("parsing.py").write_text(
        "import argparse\nfrom found_here import Rows\nfrom torch.utils.data import DataLoader\n"
        "def make():\n"
        "    parser = argparse.ArgumentParser()\n"
        "    parser.add_argument('--batch-size', type=int, default=8)\n"
        "    given = parser.parse_args()\n"
        "    assert parser.prog == 'parsing.py'\n"
        "    return DataLoader(Rows(64), batch_size=given.batch_size)\n"
    )
    kept = sys.argv
    for rest, size in (([], 8), (["--", "--batch-size", "4"], 4)):
        assert main(["parsing:make", "--checks", "fds", "--quick", "-v", *rest]) == 0
        assert f"batch_size={size}," in capsys.readouterr().out
    assert sys.argv is kept


@pytest.mark.usefixtures("folder")
def test_tune_prints_the_settings_to_paste(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "found_here:make", "--seconds", "0.5", "--json", "tuned.json"]) == 0
    assert "tune passed: " in capsys.readouterr().out
    (loader,) = json.loads(Path("tuned.json").read_text())["loaders"]
    assert loader["tune"]["evidence"]["recommendation"]
    assert main(["tune", "found_here:nothing"]) == 2


@pytest.mark.usefixtures("folder")
def test_trace_record_writes_a_timeline(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "record", "found_here:make", "-o", "ours.json", "--seconds", "0.3"]) == 0
    assert "stages passed" in capsys.readouterr().out
    assert json.loads(Path("ours.json").read_text())["traceEvents"]


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
    assert told.endswith(f"pytest-dataloader check: interrupted at {folder / 'stopping.py'}:4\n")


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
