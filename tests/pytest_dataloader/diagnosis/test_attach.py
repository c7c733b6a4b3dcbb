"""``pytest-dataloader attach``: real trainings that wait, compute, leak and hang, looked at from outside."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pytest_dataloader.advice.attachment import attachment_lines, conclusions
from pytest_dataloader.diagnosis import attach
from pytest_dataloader.diagnosis.command import main
from pytest_dataloader.errors import BadTarget
from pytest_dataloader.probe.host import process_tree
from pytest_dataloader.probe.host.child_process import Child
from pytest_dataloader.probe.training.attachment import Attachment, ProcessUse, look

if TYPE_CHECKING:
    from pathlib import Path

    from tests.pytest_dataloader.preloaded import Server

TRAIN = """
import pathlib, subprocess, sys, threading, time
import torch
from torch.utils.data import DataLoader, Dataset

HOW = sys.argv[1]
KEPT, LOCK = [], threading.Lock()

class Rows(Dataset):
    def __len__(self):
        return 10**6
    def __getitem__(self, index):
        if HOW == "compute":
            end = time.thread_time() + 0.01
            while time.thread_time() < end:
                pass
        if HOW == "sleep":
            time.sleep(0.02)
        if HOW == "leak":
            KEPT.append(b"x" * 1_000_000)
        if HOW == "lock" and index > 100:
            LOCK.acquire()
            LOCK.acquire()
        if HOW == "child":
            subprocess.run(["sleep", "0.02"])
        return torch.zeros(8)

if HOW == "launch":
    subprocess.run([sys.executable, __file__, "train"])
for number, batch in enumerate(DataLoader(Rows(), batch_size=4, num_workers=2)):
    if number == 5:
        pathlib.Path("begun").touch()
    if HOW in ("train", "leak"):  # far longer than the workers need, on a busy machine too
        time.sleep(0.2)
"""

USE = ProcessUse(
    pid=7, name="pt_data_worker", cpu_share=0.9, delay_share=0.0, waits={"cpu": 0.9, "pipe": 0.1}, private_bytes=10**8,
    shared_bytes=10**9, growth_bytes=0, descriptors=20, ended=False, line="Rows.__getitem__ (data.py:12)",
)  # fmt: skip
HUNG = replace(USE, cpu_share=0.0, waits={"lock": 0.99})
IDLE = replace(USE, waits={"pipe": 1.0}, line="")
SEEN = Attachment(
    pid=4, command="python train.py", seconds=60.0, main=replace(IDLE, pid=4), workers=(USE, USE), others=0,
    input_wait=0.4, looks=600, segment_bytes=10**6, segments=3, cpus=2.0,
)  # fmt: skip


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        (SEEN, ["input-bound: CPU 90 % of the workers' time"]),
        (replace(SEEN, input_wait=0.04), ["not input-bound: "]),
        (replace(SEEN, input_wait=2 / 30, looks=30), ["data wait 7 % of 30 looks: too few to say"]),
        (replace(SEEN, input_wait=2 / 30, looks=30, workers=(IDLE, IDLE)), ["not input-bound: "]),
        (replace(SEEN, input_wait=0.07), ["input-bound: CPU"]),
        (replace(SEEN, workers=()), ["no DataLoader worker was seen"]),
        (replace(SEEN, workers=(replace(USE, ended=True),)), ["no DataLoader worker was seen"]),
        (replace(SEEN, workers=(replace(USE, delay_share=0.5),)), ["input-bound: CPU contention 50 %"]),
        (
            replace(SEEN, workers=(replace(USE, waits={"disk": 0.8}),)),
            ["input-bound: I/O wait (disk) 80 %"],
        ),
        (
            replace(SEEN, workers=(replace(USE, waits={"socket": 0.8}),)),
            ["input-bound: I/O wait (network) 80 %"],
        ),
        (replace(SEEN, workers=(HUNG, USE)), ["deadlock: worker 7 waits for a lock"]),
        (replace(SEEN, main=HUNG, workers=(IDLE,)), ["deadlock: the main process waits for a lock"]),
        (
            replace(SEEN, workers=(replace(HUNG, cpu_share=0.01),)),
            ["input-bound: workers wait for a lock 99 %"],
        ),
        (
            replace(SEEN, workers=(replace(USE, waits={"child": 0.8}),)),
            ["input-bound: workers wait for processes that they have started 80 %"],
        ),
        (
            replace(SEEN, workers=(replace(USE, waits={"other": 0.8}),)),
            ["input-bound: workers wait 80 % of the time, for neither storage"],
        ),
        (replace(SEEN, workers=(IDLE,)), ["input-bound: workers are idle"]),
        (
            replace(SEEN, input_wait=0.0, workers=(replace(IDLE, growth_bytes=3 * 10**7),)),
            ["not input-bound: ", "memory grows: +30.0 MB per worker per minute"],
        ),
        (
            replace(SEEN, seconds=5.0, input_wait=0.0, workers=(replace(IDLE, growth_bytes=3 * 10**6),)),
            ["not input-bo"],
        ),
    ],
)
def test_what_the_figures_mean(seen: Attachment, words: list[str]) -> None:
    told = list(conclusions(seen))
    assert [text[: len(word)] for text, word in zip(told, words, strict=True)] == words


def test_each_process_has_a_line() -> None:
    lines = list(attachment_lines(SEEN))
    assert lines[0] == "process 4 (python train.py): 2 workers, 60 s"
    assert lines[1].startswith("  main process     data wait 40 %; the queue 100 %; private 100.0 MB")
    assert lines[2].endswith("; 20 descriptors; at Rows.__getitem__ (data.py:12)")
    assert lines[4] == "  shared memory    1.0 MB in 3 segments"


@pytest.mark.parametrize(
    ("how", "kind", "input_bound"),
    [
        ("sleep", "sleep", True),
        ("leak", "pipe", False),
        pytest.param("compute", "cpu", True, marks=pytest.mark.slow),
        pytest.param("lock", "lock", True, marks=pytest.mark.slow),
        pytest.param("child", "child", True, marks=pytest.mark.slow),
        pytest.param("train", "pipe", False, marks=pytest.mark.slow),
        pytest.param("launch", "pipe", False, marks=pytest.mark.slow),
    ],
)
def test_a_running_training_is_seen_as_it_is(
    how: str, kind: str, input_bound: bool, tmp_path: Path, preloaded: Server
) -> None:
    tmp_path.joinpath("training.py").write_text(TRAIN)
    with tmp_path.joinpath("out").open("w") as out:
        process = preloaded.fork("training.py", how, stdout=out, stderr=out, folder=tmp_path)
        try:
            deadline = time.monotonic() + 60
            while not tmp_path.joinpath("begun").exists() and time.monotonic() < deadline:
                time.sleep(0.05)
            seen = look(process.pid, 2.0)
            with pytest.raises(BadTarget, match=f"is a worker of a DataLoader: look at its training, {seen.pid}"):
                look(seen.workers[0].pid, 0.1)
        finally:
            workers = process_tree.descendant_pids(process.pid)  # one that hangs would outlive its parent
            for pid in (process.pid, *workers):
                with contextlib.suppress(ProcessLookupError):  # of a worker's processes, some end just then
                    os.kill(pid, signal.SIGKILL)
            process.wait(60)
    assert len(seen.workers) == 2
    assert all(max(worker.waits, key=lambda each: worker.waits[each]) == kind for worker in seen.workers), seen
    assert (seen.input_wait > 0.3) == input_bound, seen
    assert (max(worker.growth_bytes for worker in seen.workers) > 5_000_000) == (how == "leak")
    assert all(worker.private_bytes > 0 < worker.descriptors for worker in seen.workers)
    process_tree.wait_for_end(workers, 10)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["4194304"], "there is no running process 4194304"), (["x"], "expected the number of a process, got 'x'")],
)
def test_what_cannot_be_looked_at_is_told(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        status = main(["attach", *arguments])
    except SystemExit as ended:
        status = int(ended.code or 0)
    assert status == 2
    assert words in capsys.readouterr().err


def test_what_was_seen_until_ctrl_c_is_reported() -> None:
    def interrupted(_seconds: float) -> None:
        raise KeyboardInterrupt

    with Child.fork(lambda child: child.sleep()) as child:
        seen = look(child.pid, 60.0, sleep=interrupted)
    assert (seen.pid, sum(seen.main.waits.values())) == (child.pid, 1.0)
    assert next(attachment_lines(seen)).startswith(f"process {child.pid} (")


def test_a_process_without_workers_is_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    with Child.fork(lambda child: child.sleep()) as child:
        assert main(["attach", str(child.pid), "--seconds", "0.2"]) == 2
    assert "no DataLoader worker was seen" in capsys.readouterr().out


def test_the_line_of_a_worker_is_that_of_its_own_code(monkeypatch: pytest.MonkeyPatch) -> None:
    library = "/usr/lib/python3.11"
    torch = f"{library}/site-packages/torch/utils/data/_utils"

    def frames(*files: tuple[str, str]) -> list[dict[str, object]]:
        return [{"name": name, "filename": file, "line": 3} for file, name in files]

    below = ((f"{torch}/fetch.py", "fetch"), (f"{torch}/worker.py", "loop"), ("/home/me/train.py", "main"))
    threads = {
        "reading": frames((f"{library}/zipfile.py", "read"), ("/home/me/data.py", "__getitem__"), *below),
        "idle": frames((f"{library}/selectors.py", "select"), *below[1:]),
        "sending": frames((f"{library}/multiprocessing/queues.py", "_feed"), (f"{library}/threading.py", "run")),
    }
    told = {"data.py": ["sending", "reading"], "": ["idle", "sending"]}
    for place, names in told.items():
        dump = json.dumps([{"frames": threads[name]} for name in names])
        done = subprocess.CompletedProcess([], 0, stdout=dump)
        monkeypatch.setattr(subprocess, "run", lambda *_words, done=done, **_options: done)
        assert attach._line_of(7) == (f"__getitem__ ({place}:3)" if place else "")
