"""The leaks of resources_loaders under what people use today: psutil before and after, pytest-openfiles.

    pip install pytest-openfiles
    python benchmarks/resources_peers.py

Each loader is gone through twice by a test of its own in a pytest of its own, as a project would write it. A twin is
accused where its test fails. Our own column runs the check that the kind is for.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from resources_loaders import PAIRS

HERE = Path(__file__).parent
_LONGEST = 90.0
TEST = """
import gc
import sys

sys.path.insert(0, {here!r})
import psutil
import pytest
from resources_faults import surroundings
from resources_loaders import PAIRS

PAIR = PAIRS[{name!r}]
LOADERS = []  # as a module or a training run keeps them


@pytest.fixture(autouse=True)
def around():
    with surroundings(PAIR):
        yield


def go_through(loader):
    LOADERS.append(loader)
    for _ in range(2):
        for number, _batch in enumerate(loader):
            if PAIR.by_file and number == 50:
                break
    del _batch


def test_it():
    go_through(PAIR.{side}())


def test_number_of_descriptors():
    before = psutil.Process().num_fds()
    go_through(PAIR.{side}())
    gc.collect()
    assert psutil.Process().num_fds() <= before


def test_open_files():
    before = {{each.path for each in psutil.Process().open_files()}}
    go_through(PAIR.{side}())
    gc.collect()
    assert {{each.path for each in psutil.Process().open_files()}} <= before


def test_ours(dataloader_{check}):
    dataloader_{check}(PAIR.{side}())
"""
TOOLS = {
    "psutil, number of descriptors": ("test_number_of_descriptors", ()),
    "psutil, open files": ("test_open_files", ()),
    "pytest-openfiles": ("test_it", ("--open-files",)),
    "pytest-dataloader": ("test_ours", ()),
}


def outcome(name: str, side: str, test: str, options: tuple[str, ...]) -> str:
    """How a test of one loader ends, in a process of its own: passes, fails or hangs."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "test_leak.py").write_text(
            TEST.format(here=str(HERE), name=name, side=side, check=PAIRS[name].check), encoding="utf-8"
        )
        command = [
            sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "ignore", *options,
            f"test_leak.py::{test}",
        ]  # fmt: skip
        with subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
        ) as process:
            try:
                said, _ = process.communicate(timeout=_LONGEST)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                return "hangs"
        if process.returncode not in (0, 1):
            raise SystemExit(f"{name}, {side}, {test}: pytest ended with {process.returncode}\n{said[-2000:]}")
        return "fails" if process.returncode else "passes"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=0, help="leave out the kinds before this one")
    first = parser.parse_args().first
    tools = dict(TOOLS)
    if importlib.util.find_spec("pytest_openfiles") is None:
        print("pytest-openfiles is not installed: left out", file=sys.stderr)
        del tools["pytest-openfiles"]
    print(f"| leak | {' | '.join(tools)} |\n|---|{'---|' * len(tools)}")
    said = {"fails": "found", "hangs": "hangs", "passes": "-"}
    accused = {"fails": ", twin accused", "hangs": ", twin hangs", "passes": ""}
    for name in list(PAIRS)[first:]:
        cells = [
            said[outcome(name, "faulty", test, options)] + accused[outcome(name, "clean", test, options)]
            for test, options in tools.values()
        ]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
