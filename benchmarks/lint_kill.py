"""Kills ``dl-lint --fix`` with SIGKILL, SIGTERM and SIGINT at random moments, and looks at what it leaves.

    python benchmarks/lint_kill.py [--kills 50] [--files 40]

Each round starts from the same files without a cache and ends the run with the next signal, in turn: somewhere between
its start and the time that an undisturbed run takes, a run without ``--fix`` while it writes its cache, and while it
writes the mended files. It demands: every file is as before or as mended, every record of the cache is whole, no
process is left, the next run ends well and mends them all, and no temporary file is left beside them. (Those left in
the cache are swept when they are ten minutes old.)
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

from dl_lint.source.disk import digest

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)

FAULTY = """\
from torch.utils.data import DataLoader


def make_loader(dataset):
    return DataLoader(dataset, num_workers=4, pin_memory=True, pin_memory_device="cuda")
"""
MENDED = FAULTY.replace(', pin_memory_device="cuda"', "")


def fill(folder: Path, files: int) -> None:
    for number in range(files):
        (folder / f"data{number}.py").write_text(f"# {number}\n" * 100 + FAULTY)


def start(folder: Path, cache: Path, *options: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "dl_lint", *options]
    environment = {**os.environ, "DL_LINT_CACHE_DIR": str(cache)}
    return subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        preexec_fn=_hears_ctrl_c,
    )


def _hears_ctrl_c() -> None:
    """What runs in the background of a shell would ignore it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def until_it_keeps(process: subprocess.Popen[bytes], cache: Path, number: int) -> float:
    """The moment at which the cache has so many answers, or the process was gone."""
    runs = cache / "runs"
    while process.poll() is None and not (runs.is_dir() and len([*os.scandir(runs)]) >= number):
        time.sleep(0.0002)
    return time.monotonic()


def until_it_writes(process: subprocess.Popen[bytes], folder: Path) -> float:
    """The moment at which the first temporary file was seen, or the process was gone."""
    while process.poll() is None and not any(entry.name.startswith(".dl-lint-") for entry in os.scandir(folder)):
        time.sleep(0.0005)
    return time.monotonic()


def damaged_records(cache: Path) -> list[str]:
    """Records of the cache whose checksum is not that of what follows."""
    found = []
    for path in cache.rglob("*.json"):
        checksum, _, body = path.read_bytes().partition(b"\n")
        if checksum.decode("ascii", "replace") != digest(body):
            found.append(path.name)
    return found


def state(folder: Path, files: int) -> list[str]:
    """What each file holds: old, new, or damaged."""
    found = []
    for number in range(files):
        text = (folder / f"data{number}.py").read_text().removeprefix(f"# {number}\n" * 100)
        found.append("old" if text == FAULTY else "new" if text == MENDED else "damaged")
    return found


def left_in(folder: Path) -> list[int]:
    """Processes that still work in a folder two seconds later."""
    deadline = time.monotonic() + 2
    while True:
        found = []
        for path in Path("/proc").glob("[0-9]*/cwd"):
            with suppress(OSError):
                found += [int(path.parent.name)] if path.readlink() == folder else []
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.01)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--files", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    counts = {"before any file was mended": 0, "between files": 0, "after all": 0}
    statuses: Counter[str] = Counter()
    bad, kills, strays, in_cache, kept = 0, 0, 0, 0, 0
    longest = writing = 0.0
    with tempfile.TemporaryDirectory() as name:
        folder, cache = Path(name) / "project", Path(name) / "cache"
        folder.mkdir()
        (folder / "pyproject.toml").write_text("[project]\n")
        while kills < options.kills:
            fill(folder, options.files)
            shutil.rmtree(cache, ignore_errors=True)
            began = time.monotonic()
            keeping = bool(longest) and kills % 3 == 1
            process = start(folder, cache, *(() if keeping else ("--fix",)))
            if not longest:
                writes = until_it_writes(process, folder)
                process.communicate()
                longest, writing = time.monotonic() - began, time.monotonic() - writes
                continue
            match kills % 3:
                case 0:
                    deadline = began + longest * chance.uniform(0.1, 1.0)
                case 1:
                    deadline = until_it_keeps(process, cache, 1)
                case _:
                    deadline = until_it_writes(process, folder) + writing * chance.random()
            while time.monotonic() < deadline and process.poll() is None:
                time.sleep(0.0005)
            if process.poll() is not None:
                process.communicate()
                continue
            sent = SIGNALS[kills // 3 % len(SIGNALS)]
            process.send_signal(sent)
            process.communicate()
            statuses[f"{sent.name} {process.returncode}"] += 1
            orphans = left_in(folder)
            kills += 1
            seen = state(folder, options.files)
            before, between, after = counts
            counts[before if set(seen) == {"old"} else after if set(seen) == {"new"} else between] += 1
            strays += len(list(folder.glob(".dl-lint-*")))
            kept += any((cache / "runs").glob("*.json"))
            in_cache += len(list(cache.rglob("*.tmp")))
            damaged = damaged_records(cache)
            again = start(folder, cache, "--fix")
            _, said = again.communicate()
            right = again.returncode == 0 and not said and set(state(folder, options.files)) == {"new"}
            clean = not list(folder.glob(".dl-lint-*"))
            if "damaged" in seen or damaged or orphans or not right or not clean:
                bad += 1
                print(
                    "BAD", sent.name, seen, damaged, orphans, again.returncode, said.decode(), sorted(folder.iterdir())
                )
    print(f"{kills} kills: {counts}; {kept} with an answer in the cache")
    print(f"signal and exit status: {dict(sorted(statuses.items()))}")
    print(f"temporary files beside the code, swept by the next run: {strays}; in the cache: {in_cache}; bad: {bad}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
