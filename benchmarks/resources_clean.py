"""Clean loaders watched under pytest-xdist beside neighbours that leak: how many are accused.

    python benchmarks/resources_clean.py [--runs 100]

Each run is one test of the resource checks, of a watched block, or of a watched test on a clean loader of
resources_loaders; two processes of pytest-xdist run them while a process of this user leaks descriptors, segments of
torch's names and of multiprocessing's all the time.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
NEIGHBOUR = """
import os
import signal
import sys
import time
from multiprocessing import shared_memory

signal.signal(signal.SIGTERM, lambda *_: sys.exit())
kept, names = [], []
try:
    while True:
        kept.append(os.open(os.devnull, os.O_RDONLY))
        kept.append(shared_memory.SharedMemory(create=True, size=100))
        names.append(f"/dev/shm/torch_{os.getpid()}_{len(names)}_1")
        with open(names[-1], "w") as file:
            file.write("x")
        time.sleep(0.02)
        if len(kept) > 400:
            for segment in kept[1::2]:
                segment.unlink()
            for number in kept[::2]:
                os.close(number)
            kept.clear()
finally:
    for segment in kept[1::2]:
        segment.unlink()
    for name in names:
        os.unlink(name)
"""
TESTS = """
import sys

sys.path.insert(0, {here!r})
import pytest
from resources_faults import surroundings
from resources_loaders import PAIRS

WAYS = ("check", "block", "test")


@pytest.mark.parametrize("run", range({runs}))
def test_clean(run, request):
    name = list(PAIRS)[run % len(PAIRS)]
    pair, way = PAIRS[name], WAYS[run // len(PAIRS) % len(WAYS)]
    if way != "check" and pair.by_file and name.startswith("an epoch"):
        way = "check"  # which looks at a loader that is still there
    fixture = request.getfixturevalue(f"dataloader_{{pair.check}}")
    with surroundings(pair):
        loader = pair.clean()
        if way == "check":
            fixture(loader)
        elif way == "block":
            with fixture.watch():
                for _batch in loader:
                    pass
        else:
            for _batch in loader:
                pass
"""
INI = "[pytest]\ndataloader_watch = workers shm fds\nfilterwarnings = ignore\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "test_clean.py").write_text(TESTS.format(here=str(HERE), runs=given.runs), encoding="utf-8")
        Path(folder, "pytest.ini").write_text(INI, encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-n", "2", "-q", "-rA", "-p", "no:cacheprovider", "test_clean.py"]
        with subprocess.Popen([sys.executable, "-c", NEIGHBOUR]) as neighbour:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            neighbour.terminate()
    told = re.findall(r"^(PASSED|FAILED|ERROR|SKIPPED)\b", done.stdout, re.M)
    print({outcome: told.count(outcome) for outcome in sorted(set(told))}, done.stdout.strip().splitlines()[-1])
    for line in re.findall(r"^(?:FAILED|ERROR).*", done.stdout, re.M):
        print(line)


if __name__ == "__main__":
    main()
