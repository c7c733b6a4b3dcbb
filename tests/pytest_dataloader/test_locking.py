"""The lock: one process measures at a time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from pytest_dataloader.locking import alone, path_of_run

if TYPE_CHECKING:
    from pathlib import Path

# Each round reads a counter, waits, and writes it back: rounds that overlap lose counts.
ROUNDS = """
import sys, time
from pathlib import Path
from pytest_dataloader.locking import alone
lock, counter = Path(sys.argv[1]), Path(sys.argv[2])
for _ in range(5):
    with alone(lock):
        seen = int(counter.read_text())
        time.sleep(0.02)
        counter.write_text(str(seen + 1))
"""
HOLD = """
import os, sys, time
from pathlib import Path
from pytest_dataloader.locking import alone
with alone(Path(sys.argv[1])):
    child = os.fork()
    if child == 0:
        time.sleep(60)
    print(child, flush=True)
    time.sleep(60)
"""


def test_processes_take_turns(tmp_path: Path) -> None:
    counter = tmp_path / "counter"
    counter.write_text("0")
    command = [sys.executable, "-c", ROUNDS, str(tmp_path / "lock"), str(counter)]
    workers = [subprocess.Popen(command) for _ in range(3)]
    assert [worker.wait(60) for worker in workers] == [0, 0, 0]
    assert counter.read_text() == "15"


def test_a_process_that_dies_lets_go_though_a_child_of_it_lives(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path / "lock")], stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        child = int(holder.stdout.readline())
        holder.kill()
        holder.wait(60)
        with alone(tmp_path / "lock"):
            pass
        os.kill(child, signal.SIGKILL)


def test_without_a_path_nothing_is_locked() -> None:
    started = time.monotonic()
    with alone(None), alone(None):
        assert time.monotonic() >= started


def test_runs_have_locks_of_their_own() -> None:
    assert path_of_run("a") != path_of_run("b")
