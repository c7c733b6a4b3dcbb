"""``trace analyze``: what it prints, its exit status, and that no file brings a traceback."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from pytest_dataloader.diagnosis import command
from tests.pytest_dataloader.probe.device.kineto import RECORDED, copy, kernel, loader_call, span, step, written

if TYPE_CHECKING:
    from pathlib import Path

INPUT, DEVICE = (
    RECORDED / "pageable-blocking-direct-0_workers.json.gz",
    RECORDED / "pinned-non_blocking-prefetched-4_workers.json.gz",
)


@pytest.fixture(autouse=True)
def no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)


def run(*words: str | Path) -> int:
    try:
        return command.main(["trace", "analyze", *map(str, words)])
    except SystemExit as end:
        return int(end.code or 0)


def test_a_recorded_training_is_told_in_a_few_lines(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "250")
    assert run(INPUT) == 0
    lines = capsys.readouterr().out.splitlines()
    told = " ".join(" ".join(lines).split())
    for words in (
        "NVIDIA H200: 12 steps of profiler.step() transfer passed: input-bound: device idle 27 % of a step (",
        "DL207: DataLoader(..., num_workers=2) or more: it would save 27 % of a step at most",
        "24 copies to the device from pageable memory: 462.4 MB",
    ):
        assert words in told
    parts = ("compute", "copies only", "idle: data wait", "idle: other")
    assert [sum(line.strip().startswith(part) for line in lines) for part in parts] == [1, 1, 1, 1]
    assert len(lines) <= 12


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ([INPUT], 0),
        ([INPUT, "--max-gpu-idle", "0.5"], 0),
        ([INPUT, "--max-gpu-idle", "0.1"], 1),
        ([DEVICE, "--max-gpu-idle", "0.1", "--max-input-wait", "0.9"], 0),
        ([INPUT, DEVICE, "--max-gpu-idle=0.1"], 1),
        ([INPUT, "--max-gpu-idle", "2"], 2),
        ([INPUT, "--max-gpu-idle", "much"], 2),
        ([INPUT, "--step", "nobody"], 2),
        (["nothing.json"], 2),
        (["nothing.json", INPUT, "--max-gpu-idle", "0.1"], 1),
        ([], 2),
    ],
)
def test_the_exit_status(words: list[str | Path], status: int) -> None:
    assert run(*words) == status


def test_no_call_of_a_loader_is_no_waiting_that_was_measured(tmp_path: Path) -> None:
    path = written(tmp_path, [step(0, 100), step(100, 200, 2), kernel(0, 200)])
    assert run(path) == 0
    assert run(path, "--max-input-wait", "0.5") == 2


def test_of_several_ranks_the_slowest_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = []
    for rank, length in enumerate((100, 100, 150)):
        events = [step(number * length, (number + 1) * length, number) for number in range(3)]
        folder = tmp_path / f"rank{rank}"
        folder.mkdir()
        paths.append(written(folder, [*events, kernel(0, 50)], distributedInfo={"rank": rank}))
    assert run(*paths) == 0
    slowest = capsys.readouterr().out.splitlines()[-1]
    assert slowest == f"slowest: rank 2, {paths[2]}: 0.15 ms a step, 50 % more than the median of 3"


def test_steps_of_ones_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = [span("train", 100 * number, 100 * number + 90, "user_annotation") for number in range(4)]
    path = written(tmp_path, [*own, loader_call(0, 20), copy(20, 30), kernel(30, 390)])
    assert run(path, "--step", "train") == 0
    assert "4 steps of record_function" in capsys.readouterr().out


def test_what_cannot_be_read_is_one_line_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken, cpu = tmp_path / "broken.json", tmp_path / "cpu"
    broken.write_text('{"traceEvents": [{"ph": ')
    cpu.mkdir()
    assert run(broken, written(cpu, [step(0, 1), loader_call(0, 1)]), tmp_path / "gone\nfile.json") == 2
    seen = capsys.readouterr()
    assert seen.out == ""
    lines = seen.err.splitlines()
    assert len(lines) == 3
    assert "broken.json is cut off after 24 characters" in lines[0]
    assert "no event of a device" in lines[1]
    assert "No such file" in lines[2]


def test_the_evidence_as_json(tmp_path: Path) -> None:
    path = tmp_path / "device.json"
    assert run(INPUT, "--json", path) == 0
    found = json.loads(path.read_text())["loaders"][0]["checks"]["transfer"]
    assert found["verdict"] == "passed"
    evidence = found["evidence"]
    assert evidence["bound"] == "input"
    assert evidence["gpu_idle"] == pytest.approx(0.352, abs=0.001)
    assert sum(evidence["shares"].values()) == pytest.approx(1)
    assert len(evidence["use"]["steps"]) == 12
    assert run(INPUT, "--json", tmp_path / "no" / "folder.json") == 2


def test_the_page(tmp_path: Path) -> None:
    path = tmp_path / "device.html"
    assert run(INPUT, "--html", path) == 0
    text = path.read_text()
    assert "Training steps" in text
    assert "input-bound" in text
