"""Kills ``dl-lint --fix`` with SIGKILL at random moments, and looks at what it leaves.

    python benchmarks/lint_kill.py [--kills 50] [--files 40]

Each round starts from the same files without a cache and kills the run: every other one somewhere between its start and
the time that an undisturbed run takes, the rest after the first temporary file was seen. It demands: every file is as
before or as mended, the next run ends well and mends them all, and no temporary file is left beside them.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FAULTY = """\
from torch.utils.data import DataLoader


def make_loader(dataset):
    return DataLoader(dataset, num_workers=4, pin_memory=True, pin_memory_device="cuda")
"""
MENDED = FAULTY.replace(', pin_memory_device="cuda"', "")


def fill(folder: Path, files: int) -> None:
    for number in range(files):
        (folder / f"data{number}.py").write_text(f"# {number}\n" * 100 + FAULTY)


def start(folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "dl_lint", "--fix", "--jobs", "2"]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def until_it_writes(process: subprocess.Popen[bytes], folder: Path) -> float:
    """The moment at which the first temporary file was seen, or the process was gone."""
    while process.poll() is None and not any(entry.name.startswith(".dl-lint-") for entry in os.scandir(folder)):
        time.sleep(0.0005)
    return time.monotonic()


def state(folder: Path, files: int) -> list[str]:
    """What each file holds: old, new, or damaged."""
    found = []
    for number in range(files):
        text = (folder / f"data{number}.py").read_text().removeprefix(f"# {number}\n" * 100)
        found.append("old" if text == FAULTY else "new" if text == MENDED else "damaged")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--files", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    counts = {"before any write": 0, "between writes": 0, "after all writes": 0}
    bad, kills, strays = 0, 0, 0
    longest = writing = 0.0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "pyproject.toml").write_text("[project]\n")
        while kills < options.kills:
            fill(folder, options.files)
            shutil.rmtree(folder / ".dl_lint_cache", ignore_errors=True)
            began = time.monotonic()
            process = start(folder)
            if not longest:
                writes = until_it_writes(process, folder)
                process.communicate()
                longest, writing = time.monotonic() - began, time.monotonic() - writes
                continue
            if kills % 2:  # every other one in the midst of its writes
                deadline = until_it_writes(process, folder) + writing * chance.random()
            else:
                deadline = began + longest * chance.uniform(0.1, 1.0)
            while time.monotonic() < deadline and process.poll() is None:
                time.sleep(0.0005)
            if process.poll() is not None:
                process.communicate()
                continue
            process.kill()
            process.communicate()
            kills += 1
            seen = state(folder, options.files)
            kind = "before any write" if set(seen) == {"old"} else "after all writes" if set(seen) == {"new"} else ""
            counts[kind or "between writes"] += 1
            strays += len(list(folder.glob(".dl-lint-*")))
            again = start(folder)
            _, said = again.communicate()
            right = again.returncode == 0 and not said and set(state(folder, options.files)) == {"new"}
            clean = not list(folder.glob(".dl-lint-*"))
            if "damaged" in seen or not right or not clean:
                bad += 1
                print("BAD", seen, again.returncode, said.decode(), sorted(folder.iterdir()))
    print(f"{kills} kills: {counts}; temporary files left by them, and swept by the next run: {strays}; bad: {bad}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
