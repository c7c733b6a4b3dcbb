"""``pytest-dataloader run``: real scripts with a ``main()``, as they are, and every way in which they end."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_dataloader.diagnosis import run
from pytest_dataloader.diagnosis.run import _WatchLine
from pytest_dataloader.probe.training.discovery import Discovery

if TYPE_CHECKING:
    import subprocess

    from tests.pytest_dataloader.preloaded import Server

TRAIN = '''
import argparse
import hashlib
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Noisy(Dataset):
    """Draws in the worker."""
    def __init__(self, length):
        self.rows = torch.arange(length * 4.0).reshape(length, 4) / length
    def __len__(self):
        return len(self.rows)
    def __getitem__(self, index):
        return self.rows[index] + torch.rand(4), index % 2


def make_loader(length, given, shuffle):
    return DataLoader(Noisy(length), batch_size=given.batch_size, shuffle=shuffle, num_workers=given.workers)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    torch.manual_seed(3)
    train = make_loader(160, given, shuffle=True)
    validation = make_loader(32, given, shuffle=False)
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for epoch in range(given.epochs):
        for inputs, labels in train:
            loss = nn.functional.cross_entropy(model(inputs), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        with torch.no_grad():
            losses += [model(inputs).sum().item() for inputs, _ in validation]
    weights = [each.tolist() for each in model.parameters()]
    print(parser.prog, sys.argv[1:], __name__, hashlib.sha256(repr((losses, weights)).encode()).hexdigest())
    print(torch.rand(1).item(), len(losses))


if __name__ == "__main__":
    main()
'''

BREAKING = """
import os, pathlib, signal, sys, tempfile, time
import torch
from torch.utils.data import DataLoader, Dataset

HOW = sys.argv[1]

class Rows(Dataset):
    def __len__(self):
        return 400
    def __getitem__(self, index):
        if index == 100 and HOW == "raise":
            raise ValueError("corrupt image 100")
        if index == 100 and HOW == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if HOW == "gone":
            folder.stat()
        return torch.tensor(float(index))

home = tempfile.TemporaryDirectory()
folder = pathlib.Path(home.name)
loader = DataLoader(Rows(), batch_size=10, num_workers=2)
for number, batch in enumerate(loader):
    if number == 30:
        break
    if number == 5 and HOW == "wait":
        pathlib.Path("waiting").touch()
        time.sleep(60)
    if number == 5 and HOW == "exit":
        sys.exit(7)
    if number == 5 and HOW == "text":
        sys.exit("no more")
    if number == 5 and HOW == "fail":
        raise RuntimeError("out of memory")
home.cleanup()
pathlib.Path("after").touch()
"""

DISTRIBUTED = """
import os
import torch
import torch.distributed
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

torch.distributed.init_process_group("gloo")
torch.manual_seed(0)
data = TensorDataset(torch.arange(320.0))
unsharded = DataLoader(data, batch_size=16, shuffle=True)
sharded = DataLoader(data, batch_size=16, sampler=DistributedSampler(data))
for loader in (unsharded, sharded):
    for batch in loader:
        torch.distributed.all_reduce(batch[0])
if torch.distributed.get_rank() == 0:
    validation = DataLoader(data, batch_size=16)
    list(validation)
torch.distributed.destroy_process_group()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    tmp_path.joinpath("train.py").write_text(TRAIN)
    tmp_path.joinpath("breaking.py").write_text(BREAKING)
    tmp_path.joinpath("proj").mkdir()
    tmp_path.joinpath("proj", "train.py").write_text(TRAIN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    return tmp_path


def ours(preloaded: Server, *arguments: str) -> subprocess.CompletedProcess[str]:
    return preloaded.run("-m", "pytest_dataloader", "run", *arguments)


def loaders_in(path: Path) -> dict[str, dict[str, Any]]:
    return {each["id"]: each["checks"] for each in json.loads(path.read_text())["loaders"]}


def test_a_script_runs_as_without_and_its_loaders_are_reported(folder: Path, preloaded: Server) -> None:
    alone = preloaded.run("train.py", "--epochs", "5")
    done = ours(preloaded, "--json=seen.json", "--checks=training,fds,order,shards", "train.py", "--epochs", "5")
    assert (done.returncode, done.stdout) == (0, alone.stdout), done.stderr
    assert "train.py ended with status 0 after " in done.stderr
    assert "; 2 loaders were iterated" in done.stderr
    lines = TRAIN.splitlines()
    train, validation = loaders_in(folder / "seen.json").items()
    made = lines.index("    train = make_loader(160, given, shuffle=True)") + 1
    assert (train[0], validation[0]) == (f"train (train.py:{made})", f"validation (train.py:{made + 1})")
    assert list(train[1]) == ["training", "fds", "order", "shards"]
    seen = train[1]["training"]["evidence"]
    assert (seen["epochs"], seen["batches"], seen["samples"], seen["workers"]) == (5, 100, 800, 2)
    made_at = next(number for number, line in enumerate(lines, 1) if "return DataLoader" in line)
    assert (seen["made_at"], train[1]["fds"]["verdict"]) == (f"train.py:{made_at}", "passed")


def test_a_module_runs_as_python_runs_it(folder: Path, preloaded: Server) -> None:
    (folder / "proj" / "__init__.py").touch()
    alone = preloaded.run("-m", "proj.train", "--workers", "0")
    done = ours(preloaded, "--checks", "training", "-m", "proj.train", "--workers", "0")
    assert (done.returncode, done.stdout) == (0, alone.stdout), done.stderr
    assert f"train ({Path('proj', 'train.py')}:" in done.stderr


@pytest.mark.parametrize(
    ("how", "words", "verdict"),
    [
        ("exit", "ended with status 7", "passed"),
        ("text", "ended with status 1", "passed"),
        ("fail", "raised RuntimeError", "passed"),
        ("raise", "raised ValueError", "failed"),
        ("kill", "raised ", "failed"),
    ],
)
def test_however_a_script_ends_it_ends_so_with_a_report(
    how: str, words: str, verdict: str, folder: Path, preloaded: Server
) -> None:
    alone = preloaded.run("breaking.py", how)
    done = ours(preloaded, "--json=seen.json", "--checks=training", "breaking.py", how)
    assert (done.returncode, done.stdout) == (alone.returncode, alone.stdout)
    assert alone.returncode > 0
    assert f"breaking.py {words}" in done.stderr
    assert "/pytest_dataloader/" not in done.stderr
    if how != "kill":  # torch's own message has the pid
        assert set(alone.stderr.splitlines()[-1:]) <= set(done.stderr.splitlines())
    ((_, seen),) = loaders_in(folder / "seen.json").items()
    assert seen["training"]["verdict"] == verdict
    if how == "kill":
        # Torch raises it in the loader, or wherever the script is just then: its iterator may be gone when we hear.
        reason = seen["training"]["reason"]
        assert " was killed by SIGKILL while it made batch " in reason
    assert not (folder / "after").exists()


@pytest.mark.parametrize(
    ("by", "words"), [(signal.SIGINT, "was interrupted"), (signal.SIGTERM, "was ended by SIGTERM")]
)
def test_a_script_that_a_signal_ends_reports_and_ends_by_it(
    by: signal.Signals, words: str, folder: Path, preloaded: Server
) -> None:
    command = ("-m", "pytest_dataloader", "run", "--json=seen.json", "breaking.py", "wait")
    with folder.joinpath("out").open("w") as out, folder.joinpath("err").open("w") as err:
        process = preloaded.fork(*command, stdout=out, stderr=err)
        deadline = time.monotonic() + 60
        while not folder.joinpath("waiting").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        os.kill(process.pid, by)
        status = process.wait(60)
    told = folder.joinpath("err").read_text()
    assert status == -by
    assert f"breaking.py {words} after " in told
    assert told.count("Traceback") == (by is signal.SIGINT)
    ((_, seen),) = loaders_in(folder / "seen.json").items()
    assert (list(seen), seen["training"]["evidence"]["batches"]) == (["training"], 6)


def test_checks_after_some_steps_see_what_is_gone_at_the_end(folder: Path, preloaded: Server) -> None:
    done = ours(preloaded, "--json=end.json", "--checks=training,fds,order", "breaking.py", "gone")
    assert done.returncode == 0, done.stderr
    ((_, seen),) = loaders_in(folder / "end.json").items()
    assert [each["verdict"] for each in seen.values()] == ["passed", "not_measured", "not_measured"]
    assert "FileNotFoundError" in seen["fds"]["reason"]
    assert "--after-steps" in seen["fds"]["reason"]
    (folder / "after").unlink()
    arguments = ("--after-steps=8", "--stop", "--json=early.json", "--checks=training,fds,memory,order")
    done = ours(preloaded, *arguments, "breaking.py", "gone")
    assert done.returncode == 0, done.stderr
    assert "breaking.py was stopped after " in done.stderr
    ((_, seen),) = loaders_in(folder / "early.json").items()
    assert list(seen) == ["training", "fds", "order", "memory"]
    assert {each["verdict"] for each in seen.values()} <= {"passed", "inconclusive"}  # on a busy machine
    assert seen["training"]["evidence"]["batches"] == 8
    assert not (folder / "after").exists()


def test_a_missed_limit_is_status_1(folder: Path, preloaded: Server) -> None:
    done = ours(preloaded, "--checks=training", "--max-input-wait=0", "train.py", "--workers", "0")
    assert done.returncode == 1
    assert ", limit 0 %" in done.stderr
    assert folder.exists()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "expected SCRIPT or -m MODULE"),
        (["--checks", "training"], "expected SCRIPT or -m MODULE"),
        (["trian.py"], "there is no file trian.py; did you mean train.py?"),
        (["python", "train.py"], "there is no file python; did you mean train.py?"),
        (["train"], "there is no file train; did you mean"),
        (["proj.train"], "there is no file proj.train; did you mean -m proj.train?"),
        (["-mno_such_module"], "there is no module 'no_such_module'"),
        (["-m", "no_such_module"], "there is no module 'no_such_module'"),
        (["-m", "no.such"], "there is no module 'no.such'"),
        (["--checks", "trainnig", "train.py"], "there is no check 'trainnig'; did you mean training?"),
        (["--checks", "fds", "--max-shm", "1GB", "train.py"], "no check holds it, as shm is not selected"),
        (["--max-input-wait", "2", "train.py"], "expected a share between 0 and 1"),
        (["--step", "nowhere:step", "train.py"], "step: No module named 'nowhere'"),
        (["--after-steps", "0", "train.py"], "expected a whole number of at least 1, got '0'"),
        (["--after-step", "3", "train.py"], "did you mean --after-steps?"),
        (["--stop", "train.py"], "--stop needs --after-steps N"),
    ],
)
def test_a_mistake_ends_it_before_the_script_begins(arguments: list[str], words: str, preloaded: Server) -> None:
    done = ours(preloaded, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_script_without_loaders_says_so(folder: Path, preloaded: Server) -> None:
    (folder / "plain.py").write_text("print('done')\n")
    done = ours(preloaded, "plain.py")
    assert (done.returncode, done.stdout) == (2, "done\n")
    assert "no DataLoader was iterated" in done.stderr


def test_a_line_is_told_every_few_seconds(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    import sys

    from torch.utils.data import DataLoader

    monkeypatch.setattr(run, "_WATCH_SECONDS", 0.0)
    line, discovery = _WatchLine(), Discovery()
    numbers: Any = list(range(8))
    discovery.start()
    try:
        batches = iter(DataLoader(numbers, batch_size=2, num_workers=1))
        for _ in range(3):
            next(batches)
        (found,) = discovery.loaders
        line.show(found, found.meter, sys.stdout)
        next(batches)
        line.show(found, found.meter, sys.stdout)
    finally:
        discovery.stop()
    first, second = capsys.readouterr().out.splitlines()
    assert "  batch 3  " in first
    assert "  batch 4  " in second
    assert " samples/s  data wait " in second
    assert " descriptors  " in second


def test_what_iterates_in_other_processes_is_not_passed_over_in_silence(folder: Path, preloaded: Server) -> None:
    (folder / "parent.py").write_text(
        "import multiprocessing\n"
        "from torch.utils.data import DataLoader\n"
        "loader = DataLoader(list(range(8)), num_workers=1)\n"
        "def train():\n"
        "    list(loader)\n"
        "child = multiprocessing.get_context('fork').Process(target=train)\n"
        "child.start()\n"
        "child.join()\n"
        "list(loader)\n"
    )
    done = ours(preloaded, "--checks=training", "parent.py")
    assert done.returncode == 0, done.stderr
    assert "; 1 loader was iterated; 1 process that it started: not looked into" in done.stderr


@pytest.mark.slow
def test_the_ranks_of_a_job_are_compared(folder: Path, preloaded: Server) -> None:
    (folder / "job.py").write_text(DISTRIBUTED)
    launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")
    command = ("-m", "pytest_dataloader", "run", "--json=seen.json", "--checks=training,shards", "job.py")
    done = preloaded.run(*launcher, *command, timeout=240)
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stderr.count("job.py ended with status 0") == 1  # one speaks for all
    unsharded, sharded, validation = loaders_in(folder / "seen.json").values()
    assert [each["shards"]["verdict"] for each in (unsharded, sharded)] == ["failed", "passed"]
    assert "the 2 ranks of this job" in unsharded["shards"]["reason"]
    assert [len(each["training"].get("ranks", ())) for each in (unsharded, sharded, validation)] == [2, 2, 0]
    assert validation["training"]["evidence"]["batches"] == 20


@pytest.mark.slow
def test_a_rank_that_breaks_has_a_report_of_its_own(folder: Path, preloaded: Server) -> None:
    (folder / "job.py").write_text(
        "import os, torch.distributed\n"
        "from torch.utils.data import DataLoader\n"
        "torch.distributed.init_process_group('gloo')\n"
        "class Rows(list):\n"
        "    def __getitem__(self, index):\n"
        "        if index == 9 and os.environ['RANK'] == '1':\n"
        "            raise ValueError('torn')\n"
        "        return index\n"
        "for batch in DataLoader(Rows(range(16)), batch_size=2, num_workers=1):\n"
        "    torch.distributed.all_reduce(batch)\n"
    )
    launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")
    done = preloaded.run(*launcher, "-m", "pytest_dataloader", "run", "--json=seen.json", "job.py", timeout=240)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "rank 1 of 2: job.py raised ValueError" in done.stderr
    ((_, seen),) = loaders_in(folder / "seen.rank1.json").items()
    assert seen["training"]["reason"].startswith("ValueError: torn\nbefore: 4 batches")


@pytest.mark.slow
def test_check_compares_the_ranks_of_a_job_and_leaves_out_nothing_that_they_call_for(
    folder: Path, preloaded: Server
) -> None:
    (folder / "plain.py").write_text(
        "from torch.utils.data import DataLoader\n"
        "def make():\n"
        "    return DataLoader(list(range(320)), batch_size=16, shuffle=True)\n"
    )
    launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")
    command = ("-m", "pytest_dataloader", "check", "plain:make", "--quick", "--json=seen.json")
    done = preloaded.run(*launcher, *command, timeout=240)
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stdout.count("plain:make  ") == 1
    ((_, seen),) = loaders_in(folder / "seen.json").items()
    assert (seen["shards"]["verdict"], len(seen["shards"]["ranks"])) == ("failed", 2)
