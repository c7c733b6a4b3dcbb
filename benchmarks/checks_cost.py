"""What each check costs, in seconds of wall and of CPU, and what it cost at another checkout.

    python benchmarks/checks_cost.py [--before /path/of/another/checkout] [--full] [--rounds 5]

Every check runs in a forked process that has torch imported, on four healthy loaders, as ``check --quick`` runs it
or, with ``--full``, as ``check`` does; both checkouts in turn. CPU time is that of the process and of all its children.
Medians over the rounds, added up over the loaders. A check that one of them does not have counts as nothing there.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()

LOADERS = ("in_memory", "decoding", "stream", "resumable")

MEASURE = """
import json, os, resource, sys, time, warnings
warnings.simplefilter("ignore")
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info
from torchdata.stateful_dataloader import StatefulDataLoader
from pytest_dataloader import checks

class Rows(Dataset):
    def __init__(self, size, seconds):
        self.rows, self.seconds = torch.zeros(size, 64), seconds
    def __len__(self):
        return len(self.rows)
    def __getitem__(self, index):
        until = time.perf_counter() + self.seconds
        while time.perf_counter() < until:
            pass
        return self.rows[index] + index + torch.rand(1), index % 10

class Stream(IterableDataset):
    def __iter__(self):
        info = get_worker_info()
        for row in range(info.id if info else 0, 4000, info.num_workers if info else 1):
            yield np.full(64, row, dtype=np.float32)

LOADERS = {
    "in_memory": lambda: DataLoader(Rows(20_000, 0.0), 32, shuffle=True, num_workers=2),
    "decoding": lambda: DataLoader(Rows(2_000, 0.002), 16, shuffle=True, num_workers=2),
    "stream": lambda: DataLoader(Stream(), 32, num_workers=2),
    "resumable": lambda: StatefulDataLoader(Rows(640, 0.0), 16, shuffle=True, num_workers=2),
}

def cpu():
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in both)

def measured(name, check, kind):
    loader, quick = LOADERS[name](), kind == "quick"
    setting = checks.Setting(seconds=0.5 if quick else 5.0, bench=True, quick=quick)
    begun, spent = time.monotonic(), cpu()
    try:
        applies = checks.applies(check, loader, None)
        evidence = checks.measure(check, loader, setting=setting, limits={}) if applies else None
        said = checks.judge(check, evidence, limits={}).outcome if applies else "not there"
    except Exception as error:
        said = type(error).__name__
    return time.monotonic() - begun, cpu() - spent, said

for check in checks.NAMES:
    checks.check_module(check)
for asked in sys.stdin:
    child = os.fork()
    if not child:
        print(json.dumps(measured(*asked.split())), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
"""


def server(checkout: Path) -> subprocess.Popen[str]:
    """A process that measures what it is asked for."""
    return subprocess.Popen(
        [sys.executable, "-c", MEASURE], env=os.environ | {"PYTHONPATH": str(checkout)}, cwd=checkout, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def cost(measuring: subprocess.Popen[str], loader: str, check: str, kind: str) -> tuple[float, float, str]:
    """Seconds of wall and of CPU of one check, and how it ended."""
    assert measuring.stdin is not None
    assert measuring.stdout is not None
    print(loader, check, kind, file=measuring.stdin, flush=True)
    for line in measuring.stdout:
        if line.startswith("["):
            wall, cpu, said = json.loads(line)
            return wall, cpu, said
    raise RuntimeError(f"{check} of {loader} gave no answer")


def median(runs: list[tuple[float, float, str]], at: int) -> float:
    return statistics.median(float(run[at]) for run in runs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    from pytest_dataloader.checks import NAMES

    checkouts = [path for path in (given.before, HERE.parents[1]) if path is not None]
    kind = "full" if given.full else "quick"
    servers = {checkout: server(checkout) for checkout in checkouts}
    print("| check | wall s | CPU s | verdicts |\n|---|---|---|---|", flush=True)
    total: dict[Path, list[float]] = {checkout: [0.0, 0.0] for checkout in checkouts}
    for check in (name for name in NAMES if name != "transfer"):
        rows: dict[Path, list[Any]] = {checkout: [0.0, 0.0, []] for checkout in checkouts}
        for loader in LOADERS:
            runs: dict[Path, list[tuple[float, float, str]]] = {checkout: [] for checkout in checkouts}
            for _ in range(given.rounds):
                for checkout in checkouts:
                    runs[checkout].append(cost(servers[checkout], loader, check, kind))
            for checkout in checkouts:
                for at in (0, 1):
                    rows[checkout][at] += median(runs[checkout], at)
                    total[checkout][at] += median(runs[checkout], at)
                rows[checkout][2] += sorted({said for _, _, said in runs[checkout]})
        shown = [" to ".join(f"{rows[checkout][at]:.2f}" for checkout in checkouts) for at in (0, 1)]
        verdicts = " / ".join(", ".join(rows[checkout][2]) for checkout in checkouts)
        print(f"| {check} | {shown[0]} | {shown[1]} | {verdicts} |", flush=True)
    shown = [" to ".join(f"{total[checkout][at]:.2f}" for checkout in checkouts) for at in (0, 1)]
    if given.before is not None:
        was, now = (total[checkout] for checkout in checkouts)
        shown = [f"{text} ({100 * (now[at] / was[at] - 1):+.0f} %)" for at, text in enumerate(shown)]
    print(f"| all, {len(LOADERS)} loaders | {shown[0]} | {shown[1]} | |")
    for each in servers.values():
        each.communicate()


if __name__ == "__main__":
    main()
