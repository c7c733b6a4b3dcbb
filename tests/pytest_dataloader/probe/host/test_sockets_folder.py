"""The folder of workers' sockets: one for all, gone at the end, and nobody's that was there before."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from multiprocessing import util
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_dataloader.probe.host.sockets_folder import share_with_workers

if TYPE_CHECKING:
    import pytest


def make_folder_and_die() -> None:
    Path(util.get_temp_dir(), "socket").touch()
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_that_is_killed_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setitem(vars(multiprocessing.current_process())["_config"], "tempdir", None)
    remove = share_with_workers()
    worker = multiprocessing.get_context("fork").Process(target=make_folder_and_die)
    worker.start()
    worker.join()
    assert [path.name for path in tmp_path.rglob("socket")] == ["socket"]
    remove()
    assert not [*tmp_path.iterdir()]


BUSY = """
import multiprocessing, time
from pathlib import Path
from multiprocessing import util
from pytest_dataloader.probe.host.sockets_folder import share_with_workers

def make_sockets():
    while True:
        for number in range(50):
            Path(util.get_temp_dir(), str(number)).touch()

remove = share_with_workers()
folder = Path(util.get_temp_dir())
worker = multiprocessing.get_context("fork").Process(target=make_sockets, daemon=True)
worker.start()
while not [*folder.iterdir()]:
    time.sleep(0.01)
remove()
"""


def test_a_folder_that_a_worker_still_uses_goes_with_the_worker(tmp_path: Path) -> None:
    for _ in range(3):
        subprocess.run([sys.executable, "-c", BUSY], env={**os.environ, "TMPDIR": str(tmp_path)}, check=False)
        assert not [*tmp_path.iterdir()]


def test_a_folder_that_this_process_has_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vars(multiprocessing.current_process())["_config"], "tempdir", str(tmp_path))
    share_with_workers()()
    assert tmp_path.exists()
    assert util.get_temp_dir() == str(tmp_path)
