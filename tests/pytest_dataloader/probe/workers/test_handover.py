"""Processes that end before they have read what they are handed."""

from __future__ import annotations

import multiprocessing
import multiprocessing.spawn
import subprocess
import sys
import textwrap
import threading
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING

import pytest

from pytest_dataloader.probe.workers.handover import drain_pipe_of_dead_child

if TYPE_CHECKING:
    from pathlib import Path

MUCH = bytes(1 << 20)
FROM_STDIN = textwrap.dedent(
    """
    import torch
    from torch.utils.data import DataLoader, Dataset
    import pytest_dataloader

    class Rows(Dataset):
        def __init__(self):
            self.rows = list(range(100_000))
        def __len__(self):
            return len(self.rows)
        def __getitem__(self, index):
            return torch.tensor(self.rows[index])

    loader = DataLoader(Rows(), batch_size=32, num_workers=2)
    pytest_dataloader.diagnose(loader, checks="portability", start_methods=["spawn"])
    """
)


def arrive(data: bytes) -> None:
    """What a process does that reads all."""
    sys.exit(len(data) != len(MUCH))


@pytest.mark.timeout(60)
def test_a_process_that_ends_at_once_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    resource_tracker.ensure_running()  # or it would be the program that ends at once
    monkeypatch.setattr(multiprocessing.spawn, "_python_exe", b"/bin/false")
    process = multiprocessing.get_context("spawn").Process(target=arrive, args=(MUCH,))
    with drain_pipe_of_dead_child():
        process.start()
    process.join()
    assert process.exitcode == 1
    assert "pytest-dataloader handover" not in {thread.name for thread in threading.enumerate()}


@pytest.mark.timeout(60)
def test_one_that_reads_gets_all() -> None:
    process = multiprocessing.get_context("spawn").Process(target=arrive, args=(MUCH,))
    with drain_pipe_of_dead_child():
        process.start()
    process.join()
    assert process.exitcode == 0


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_a_script_from_standard_input_is_told_that_spawn_cannot_import_it(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-"], input=FROM_STDIN, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    told = " ".join(done.stdout.split())
    assert "no batch under spawn: the worker exited with code 1 while starting" in told
