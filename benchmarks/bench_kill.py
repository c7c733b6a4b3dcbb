"""Ends ``pytest --dataloader-bench`` by SIGINT, SIGTERM and SIGKILL at random moments, and looks at what it leaves.

    python benchmarks/bench_kill.py [--rounds 60] [--seconds 0.3] [--checks NAME...] [--span SECONDS]

Each round measures a healthy loader with two workers, in turn alone and under pytest-xdist (``-n 2``), into the report
of an earlier run, and sends the next signal to pytest's process at a moment of the time that an undisturbed run takes
(or of ``--span``).
At most twenty seconds later it counts the processes that still work in the folder, segments in /dev/shm and entries of
the folder for temporary files that were not there before, and reads the report: the earlier one, or a whole one of
this run.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from contextlib import suppress
from pathlib import Path

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
MODES = {"alone": (), "xdist": ("-n", "2")}
EARLIER = '{"schema": 1, "loaders": "of an earlier run"}'
GRACE_SECONDS = 20
"""Execnet, under pytest-xdist, gives the work of a process whose controller is gone 15 s before it ends it."""
LOADERS = """
import torch
from torch.utils.data import DataLoader, Dataset

class Rows(Dataset):
    def __init__(self):
        self.data = torch.zeros(2048, 32)
    def __len__(self):
        return len(self.data)
    def __getitem__(self, index):
        return self.data[index] + torch.rand(32)

def make():
    return DataLoader(Rows(), batch_size=32, shuffle=True, num_workers=2)
"""
SETTINGS = '[tool.pytest-dataloader.targets.healthy]\nloader = "loaders:make"\n'


def start(folder: Path, arguments: tuple[str, ...], seconds: float) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--dataloader-bench"]
    command += [f"--dataloader-seconds={seconds}", "--dataloader-json=seen.json", *arguments]
    environment = {**os.environ, "TMPDIR": str(folder / "tmp")}
    with (folder / "output").open("wb") as output:
        return subprocess.Popen(
            command, cwd=folder, env=environment, stdout=output, stderr=output, preexec_fn=_hears_ctrl_c
        )


def _hears_ctrl_c() -> None:
    """What runs in the background of a shell would ignore it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def processes_in(folder: Path) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cwd"):
        with suppress(OSError):
            found += [int(path.parent.name)] if path.readlink() == folder else []
    return found


def segments_of(pids: set[int]) -> set[str]:
    """Names in /dev/shm that these processes can have made: torch's say which, those of Python do not."""
    names = {path.name for path in Path("/dev/shm").iterdir()}
    return {name for name in names if not name.startswith("torch_") or int(name.split("_")[1]) in pids}


def report_of(path: Path) -> str:
    text = path.read_text()
    if text == EARLIER:
        return "earlier"
    with suppress(ValueError, KeyError):
        checks = [loader["checks"] for loader in json.loads(text)["loaders"]]
        return "new, failed" if any(each["verdict"] == "failed" for one in checks for each in one.values()) else "new"
    return "broken"


def one_round(folder: Path, mode: str, sent: signal.Signals, after: float, seconds: float) -> dict[str, object]:
    """What one signal leaves."""
    (folder / "seen.json").write_text(EARLIER)
    before = segments_of(set())
    run = start(folder, MODES[mode], seconds)
    seen: set[int] = set()
    deadline = time.monotonic() + after
    while time.monotonic() < deadline and run.poll() is None:
        seen.update(processes_in(folder))
        time.sleep(0.02)
    ended = run.poll() is not None
    run.send_signal(sent)
    asked = time.monotonic()
    status = run.wait()
    took = time.monotonic() - asked
    deadline = time.monotonic() + GRACE_SECONDS
    while (processes_in(folder) or segments_of(seen) - before) and time.monotonic() < deadline:
        seen.update(processes_in(folder))
        time.sleep(0.05)
    processes = processes_in(folder)
    left: dict[str, object] = {
        "ended before": ended,
        "status": status,
        "took": took,
        "processes": len(processes),
        "segments": len(segments_of(seen) - before),
        "temporary files": sorted(path.name for path in (folder / "tmp").iterdir()),
        "drafts": len([*folder.glob(".pytest-dataloader-*")]),
        "report": report_of(folder / "seen.json"),
        "traceback": b"INTERNALERROR" in (folder / "output").read_bytes(),
    }
    for pid in processes:
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    for path in [*(folder / "tmp").iterdir(), *folder.glob(".pytest-dataloader-*")]:
        subprocess.run(["rm", "-rf", path], check=True)
    return left


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--checks", nargs="*", default=[])
    parser.add_argument("--span", type=float)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    rows: defaultdict[tuple[str, str], list[dict[str, object]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        (folder / "tmp").mkdir()
        (folder / "loaders.py").write_text(LOADERS)
        (folder / "pyproject.toml").write_text(SETTINGS + (f"checks = {options.checks}\n" if options.checks else ""))
        takes = dict.fromkeys(MODES, options.span)
        for mode, arguments in MODES.items() if options.span is None else ():
            began = time.monotonic()
            start(folder, arguments, options.seconds).wait()
            takes[mode] = time.monotonic() - began
        kinds = [(mode, sent) for sent in SIGNALS for mode in MODES]
        for number in range(options.rounds):
            mode, sent = kinds[number % len(kinds)]
            left = one_round(folder, mode, sent, takes[mode] * chance.uniform(0.05, 1), options.seconds)
            rows[mode, sent.name].append(left)
            print(number, mode, sent.name, left, file=sys.stderr, flush=True)
    print(
        "| run | signal | rounds | processes | segments | temporary files | drafts | report | exit status | slowest |"
    )
    print("|---" * 10 + "|")
    for (mode, sent_as), each in rows.items():
        sums = [sum(int(str(one[key])) for one in each) for key in ("processes", "segments")]
        files = Counter(str(one["temporary files"]) for one in each if one["temporary files"])
        cells = [
            mode, sent_as, len(each), *sums, dict(files) or 0, sum(int(str(one["drafts"])) for one in each),
            dict(Counter(one["report"] for one in each)), dict(Counter(one["status"] for one in each)),
            f"{max(float(str(one['took'])) for one in each):.1f} s",
        ]  # fmt: skip
        print(f"| {' | '.join(map(str, cells))} |")
    every = [one for each in rows.values() for one in each]
    bad = [one for one in every if one["processes"] or one["segments"] or one["report"] == "broken" or one["traceback"]]
    print(f"rounds that left processes, segments, a broken report or a traceback of pytest: {len(bad)}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
