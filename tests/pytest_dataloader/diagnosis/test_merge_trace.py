"""``trace merge``: with a real trace of ``torch.profiler``, which shows that both have one clock, and bad files."""

from __future__ import annotations

import gzip
import json
import os
import statistics
from typing import TYPE_CHECKING, Any

import pytest

from pytest_dataloader.diagnosis import merge_trace
from pytest_dataloader.diagnosis.command import main

if TYPE_CHECKING:
    from pathlib import Path

    from tests.pytest_dataloader.preloaded import Server

pytestmark = pytest.mark.xdist_group("cpu")

TRAINING = """
import time

import torch
from torch.profiler import ProfilerActivity, profile
from torch.utils.data import DataLoader, Dataset

import pytest_dataloader

class Rows(Dataset):
    def __len__(self):
        return 4000
    def __getitem__(self, index):
        time.sleep(0.001)
        return torch.full((8,), float(index))

model = torch.nn.Linear(8, 1)

def step(batch):
    model(batch).sum().backward()

if __name__ == "__main__":
    loader = DataLoader(Rows(), batch_size=4, num_workers=2)
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        pytest_dataloader.diagnose(loader, checks="stages", step=step, seconds=0.6, trace="ours.json")
    profiler.export_chrome_trace("torch.json.gz")
"""

OURS = {
    "baseTimeNanoseconds": 0,
    "pytest_dataloader": {},
    "traceEvents": [{"ph": "X", "name": "read", "pid": 7, "tid": 8, "ts": 10, "dur": 2}],
}
THEIRS = {"traceEvents": [{"ph": "X", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "dur": 50}]}


@pytest.fixture(scope="module")
def merged(tmp_path_factory: pytest.TempPathFactory, preloaded: Server) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("run")
    folder.joinpath("training.py").write_text(TRAINING)
    preloaded.run("training.py", folder=folder).check_returncode()
    done = preloaded.run("-m", "pytest_dataloader", "trace", "merge", "torch.json.gz", "ours.json", folder=folder)
    done.check_returncode()
    assert done.stdout.startswith("ours.merged.json: ")
    found: dict[str, Any] = json.loads(folder.joinpath("ours.merged.json").read_text())
    return found


def slices(merged: dict[str, Any], name: str) -> list[dict[str, Any]]:
    found = [each for each in merged["traceEvents"] if each.get("ph") == "X" and each["name"] == name]
    return sorted(found, key=lambda each: each["ts"])


def end(event: dict[str, Any]) -> float:
    return float(event["ts"] + event["dur"])


def handings_over(merged: dict[str, Any]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Our wait for each batch but an epoch's first, with the slice of torch's iterator in it that torch.profiler saw.

    The n-th wait is for what the n-th call of the iterator gives.
    """
    calls = slices(merged, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__")
    waits = slices(merged, "wait")
    first_epoch = [wait for wait in waits if wait["args"]["epoch"] == 1]
    assert len(first_epoch) > 20
    return list(zip(first_epoch, calls, strict=False))[1:]


def test_both_clocks_agree_within_a_millisecond(merged: dict[str, Any]) -> None:
    pairs = handings_over(merged)
    assert 0 <= statistics.median(call["ts"] - wait["ts"] for wait, call in pairs) < 1000
    assert 0 <= statistics.median(end(wait) - end(call) for wait, call in pairs) < 1000


def test_a_worker_reads_a_batch_between_the_calls_of_torch_s_iterator_that_ask_for_it_and_give_it(
    merged: dict[str, Any],
) -> None:
    reads = {each["args"]["batch"]: each for each in slices(merged, "load") if each["args"]["epoch"] == 1}
    calls = {wait["args"]["batch"]: call for wait, call in handings_over(merged)}
    assert not [number for number, call in calls.items() if end(reads[number]) >= end(call)]
    # Two workers have two batches each under way: the call that gives one asks for the fourth after it.
    asked = [number for number in calls if number + 4 in reads]
    assert len(asked) > 10
    assert not [number for number in asked if reads[number + 4]["ts"] <= calls[number]["ts"]]


def test_the_workers_are_beside_the_process_that_torch_saw(merged: dict[str, Any]) -> None:
    processes = [
        (each["pid"], each["args"]["name"]) for each in merged["traceEvents"] if each.get("name") == "process_name"
    ]
    assert len({pid for pid, _ in processes}) == len(processes)
    names = [name for _, name in processes]
    assert names[0] != "main process"
    assert {"loader: worker 0", "loader: worker 1"} <= set(names)
    (main,) = {each["pid"] for each in slices(merged, "wait")}
    assert main in {each["pid"] for each in slices(merged, "aten::linear")}


def test_the_steps_are_those_that_torch_saw(merged: dict[str, Any]) -> None:
    layers = slices(merged, "aten::linear")
    steps = slices(merged, "step")
    assert len(steps) > 20
    assert all(any(step["ts"] - 1000 < layer["ts"] < end(step) for layer in layers) for step in steps)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    tmp_path.joinpath("ours.json").write_text(json.dumps(OURS))
    tmp_path.joinpath("torch.json").write_text(json.dumps(THEIRS))
    return tmp_path


def test_both_files_and_the_output_may_be_compressed(folder: Path) -> None:
    for name in ("ours", "torch"):
        content = folder.joinpath(f"{name}.json").read_bytes()
        folder.joinpath(f"{name}.json.gz").write_bytes(gzip.compress(content))
    assert main(["merge-trace", "torch.json.gz", "ours.json.gz", "-o", "deep/merged.json.gz"]) == 0
    found = json.loads(gzip.decompress(folder.joinpath("deep", "merged.json.gz").read_bytes()))
    assert [each["name"] for each in found["traceEvents"]] == ["aten::mm", "read"]
    assert main(["merge-trace", "torch.json", "ours.json.gz"]) == 0
    assert folder.joinpath("ours.merged.json").exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "cannot read torch.json: No such file or directory"),
        (b"", "torch.json is no JSON: "),
        (b'{"traceEvents": [', "torch.json is no JSON: "),
        (b"\xff\xfe\x00\xd8", "torch.json is no JSON: "),
        (b"[" * 100_000, "torch.json is no JSON: "),
        (b"3", "torch.json is no trace: it has no list of traceEvents"),
        (b'{"traceEvents": {"a": 1}}', "torch.json is no trace: it has no list of traceEvents"),
        (b"\x1f\x8b", "cannot read torch.json: "),
        (b"\x1f\x8bnot at all", "cannot read torch.json: "),
        (gzip.compress(json.dumps(THEIRS).encode(), mtime=0)[:-12], "cannot read torch.json: "),
        (b'{"traceEvents": []}', "the first file has no slices"),
        (json.dumps(OURS).encode(), "the second file must be one of --dataloader-trace"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_file_that_is_no_trace_is_told_in_a_line(
    content: bytes | None, words: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder.joinpath("torch.json").unlink()
    if content is not None:
        folder.joinpath("torch.json").write_bytes(content)
    if words.startswith("the second"):
        folder.joinpath("ours.json").write_text(json.dumps(THEIRS))
    assert main(["merge-trace", "torch.json", "ours.json"]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"pytest-dataloader trace merge: {words}")
    assert not folder.joinpath("ours.merged.json").exists()


def test_what_is_no_file_makes_nobody_wait(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(folder / "pipe")
    for path, words in (("pipe", "is a pipe"), (".", "s a directory"), ("/dev/zero", "or a device")):
        assert main(["merge-trace", path, "ours.json"]) == 2
        assert words in capsys.readouterr().err
    for path in ("", "/", "."):
        assert main(["merge-trace", "torch.json", path]) == 2
        assert "s a directory" in capsys.readouterr().err
    for path in (".", "pipe", "ours.json/below.json"):
        assert main(["merge-trace", "torch.json", "ours.json", "-o", path]) == 2
        assert f"cannot write {path}: " in capsys.readouterr().err


def test_a_small_file_that_unpacks_to_much_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merge_trace, "_MOST_BYTES", 1_000_000)
    folder.joinpath("torch.json").write_bytes(gzip.compress(b" " * 1_000_001))
    assert main(["merge-trace", "torch.json", "ours.json"]) == 2
    assert "cannot read torch.json: unpacks to more than 1 MB" in capsys.readouterr().err


def test_runs_that_do_not_overlap_are_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    later = OURS | {"baseTimeNanoseconds": 10**9}
    folder.joinpath("ours.json").write_text(json.dumps(later))
    assert main(["merge-trace", "torch.json", "ours.json"]) == 2
    assert "not of one run: the second trace begins 1 s after the first one has ended" in capsys.readouterr().err


def test_its_arguments_are_explained(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--help"], [], ["a.json"]):
        with pytest.raises(SystemExit):
            main(["merge-trace", *arguments])
    out, err = capsys.readouterr()
    assert "TORCH.json" in out
    assert err.count("the following arguments are required") == 2
