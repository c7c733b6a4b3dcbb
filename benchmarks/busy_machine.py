"""Checks of a healthy loader beside busy loops: how many of them accuse it, which is to be none.

    python benchmarks/busy_machine.py [--loops 6] [--quick 200] [--bench 30] [--session 20] [--minutes 45]

Quick runs are tests with the fixtures of memory, fds, shm, randomness and order, without ``--dataloader-bench``, so
many of them in a session of pytest; a bench run is ``pytest --dataloader-bench`` with every check and limits that the
loader keeps on a quiet machine: half the rate that its own work allows, no growth, no stall. A session of quick runs
and one of a bench run are under way at a time. Verdicts are read from ``--dataloader-json``, and a row for each check
says how many there were of each; reasons of what did not pass follow. No session begins after so many minutes.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

VERDICTS = ("passed", "inconclusive", "not_measured", "failed")
QUICK = ("memory", "fds", "shm", "randomness", "order")
LOADERS = """
import torch
from torch.utils.data import DataLoader, Dataset


class Noisy(Dataset):
    def __init__(self):
        self.data = torch.arange(2048 * 32, dtype=torch.float32).reshape(2048, 32)

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        sample = self.data[index]
        for _ in range(40):
            sample = sample + 0.0
        return index, sample, torch.rand(8)


def make():
    return DataLoader(Noisy(), batch_size=32, shuffle=True, num_workers=2, drop_last=True)
"""
TESTS = """
import pytest
from healthy import make

{tests}
"""
TEST = """
@pytest.mark.parametrize("run", range({runs}))
def test_{check}(run, dataloader_{check}):
    dataloader_{check}(make())
"""
SETTINGS = """
[tool.pytest-dataloader.targets.healthy]
loader = "healthy:make"
min_samples_per_second = {floor}
step_ms = {step}
max_stall = 0.5
max_worker_growth = "32MB"
max_fd_use = 0.5
"""


def samples_per_second() -> float:
    """What one worker's own work allows, by CPU time."""
    code = (
        "import time, healthy; data = healthy.make().dataset; [data[i] for i in range(200)];"
        "began = time.process_time(); [data[i] for i in range(2000)]; print(2000 / (time.process_time() - began))"
    )
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


def run(number: int, *arguments: str) -> tuple[Counter[tuple[str, str]], list[str]]:
    """Verdicts by check of one session of pytest, and what was said where a check did not pass."""
    seen = Path(f"seen{number}.json")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--dataloader-json={seen}"]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
    counts: Counter[tuple[str, str]] = Counter()
    said = []
    for loader in json.loads(seen.read_text())["loaders"] if seen.exists() else ():
        for check, judged in loader["checks"].items():
            counts[check, judged["verdict"]] += 1
            if judged["verdict"] != "passed":
                said.append(f"{check} {judged['verdict']}: {judged['reason']}")
    if done.returncode not in (0, 1) or (done.returncode == 1 and not any(v == "failed" for _, v in counts)):
        counts["(the run)", "failed"] += 1
        said.append(f"exit {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return counts, said


class Lane(threading.Thread):
    """One session after the other, until there are enough or the time is over."""

    def __init__(self, first: int, sessions: int, until: float, arguments: Sequence[str]) -> None:
        super().__init__()
        self._first, self._sessions, self._until, self._arguments = first, sessions, until, arguments
        self.done = 0
        self.counts: Counter[tuple[str, str]] = Counter()
        self.said: Counter[str] = Counter()

    def run(self) -> None:
        while self.done < self._sessions and time.monotonic() < self._until:
            counts, said = run(self._first + self.done, *self._arguments)
            self.counts += counts
            self.said.update(said)
            self.done += 1
            print(f"{self._until - time.monotonic():5.0f} s left {dict(counts)}", file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--loops", type=int, default=6)
    parser.add_argument("--quick", type=int, default=200)
    parser.add_argument("--bench", type=int, default=30)
    parser.add_argument("--session", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--minutes", type=float, default=45)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name), contextlib.ExitStack() as loops:
        Path("healthy.py").write_text(LOADERS)
        tests = "".join(TEST.format(runs=options.session, check=check) for check in QUICK)
        Path("test_quick.py").write_text(TESTS.format(tests=tests))
        floor = samples_per_second()  # half of what two workers can
        Path("pyproject.toml").write_text(SETTINGS.format(floor=round(floor), step=round(2 * 32e3 / floor, 1)))
        for _ in range(options.loops):
            loop = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            loops.callback(loop.wait)
            loops.callback(loop.kill)
        until = time.monotonic() + options.minutes * 60
        quick = Lane(0, options.quick // options.session, until, ["test_quick.py"])
        measured = ["--dataloader-bench", f"--dataloader-seconds={options.seconds}", "pyproject.toml"]
        bench = Lane(1000, options.bench, until, measured)
        for lane in (quick, bench):
            lane.start()
        for lane in (quick, bench):
            lane.join()
    counts, said = quick.counts + bench.counts, quick.said + bench.said
    print(f"{quick.done * options.session} quick runs of {options.quick}, {bench.done} bench runs of {options.bench}")
    print(f"beside {options.loops} busy loops; the floor is {floor:.0f} samples/s")
    print("| check | " + " | ".join(verdict.replace("_", " ") for verdict in VERDICTS) + " |\n" + "|---" * 5 + "|")
    for check in dict.fromkeys(check for check, _ in sorted(counts)):
        print(f"| {check} | " + " | ".join(str(counts[check, verdict]) for verdict in VERDICTS) + " |")
    for reason, number in said.most_common():
        print(f"{number} times {reason}")
    failed = sum(number for (_, verdict), number in counts.items() if verdict == "failed")
    print(f"failures: {failed}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
