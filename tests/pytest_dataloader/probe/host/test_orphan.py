"""Workers of a measured loader end with the process that measures, however they were started."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
import time
from pathlib import Path

import pytest

MEASURING = """
import sys, time
import torch
from torch.utils.data import DataLoader, TensorDataset
from pytest_dataloader.probe.loader.borrowing import borrow

def noted(worker):
    print("own", worker, file=sys.stderr, flush=True)

if __name__ == "__main__":
    data = TensorDataset(torch.zeros(64, 2))
    loader = DataLoader(data, num_workers=1, multiprocessing_context=sys.argv[1], worker_init_fn=noted)
    with borrow(loader) as borrowed:
        borrowed.begin_epoch()
        borrowed.pull(1)
        print(borrowed.workers[0].pid, flush=True)
        time.sleep(120)
"""
TORCH_ASKS_AFTER = 5.0


@pytest.mark.slow
@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_a_worker_ends_with_a_process_that_is_killed(tmp_path: Path, method: str) -> None:
    script = tmp_path / "measuring.py"
    script.write_text(MEASURING)
    command = [sys.executable, str(script), method]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        worker = Path("/proc") / run.stdout.readline().strip()
        assert worker.joinpath("stat").exists()
        run.kill()
        deadline = time.monotonic() + 12 * TORCH_ASKS_AFTER
        while worker.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        assert not worker.exists()
        assert run.stderr is not None
        assert "own 0" in run.stderr.read()
