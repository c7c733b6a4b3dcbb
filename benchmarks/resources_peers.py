"""The leaks of resources_loaders under what people use today: psutil before and after, pytest-openfiles.

    pip install pytest-openfiles
    python benchmarks/resources_peers.py

Each loader is gone through twice by a test of its own in a pytest of its own, as a project would write it. ``accused``
counts clean twins that a tool fails. Our own column runs the check that the kind is for.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from resources_loaders import PAIRS

HERE = Path(__file__).parent
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


def fails(name: str, side: str, test: str, options: tuple[str, ...]) -> bool:
    """Whether a test of one loader fails, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "test_leak.py").write_text(
            TEST.format(here=str(HERE), name=name, side=side, check=PAIRS[name].check), encoding="utf-8"
        )
        command = [
            sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "ignore", *options,
            f"test_leak.py::{test}",
        ]  # fmt: skip
        environment = {**os.environ, "PYTEST_ADDOPTS": ""}
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
        if done.returncode not in (0, 1):
            raise SystemExit(f"{name}, {side}, {test}: pytest ended with {done.returncode}\n{done.stdout[-2000:]}")
        return done.returncode == 1


def main() -> None:
    tools = dict(TOOLS)
    if importlib.util.find_spec("pytest_openfiles") is None:
        print("pytest-openfiles is not installed: left out", file=sys.stderr)
        del tools["pytest-openfiles"]
    print(f"| leak | {' | '.join(tools)} |\n|---|{'---|' * len(tools)}")
    accused = dict.fromkeys(tools, 0)
    found = dict.fromkeys(tools, 0)
    for name in PAIRS:
        cells = []
        for tool, (test, options) in tools.items():
            seen, blamed = fails(name, "faulty", test, options), fails(name, "clean", test, options)
            found[tool] += seen
            accused[tool] += blamed
            cells.append(("found" if seen else "-") + (", twin accused" if blamed else ""))
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    print(f"\nfound {json.dumps(found)} and accused {json.dumps(accused)} of {len(PAIRS)}")


if __name__ == "__main__":
    main()
