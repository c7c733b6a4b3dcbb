"""Does the interval of a rate hold the truth on a busy machine? Ten loaders beside 0 to 20 busy loops.

    python benchmarks/rate_coverage.py [--loads 0 2 4 8 14 20] [--repeats 10] [--seconds 1] [--truths truths.json]

The truth is what the same loader delivers with real-time priority, which keeps neighbours from its CPUs but for 5 % of
the time (it takes the right to raise priorities); --truths keeps it for the next run. A row for each load says how
often the interval held the truth, how often the machine was said to be busy, how many times the interval's ends are
apart, how much more CPU time a sample took, and what figure and lower end were of the truth. The machine's own load
comes on top: read "others" first.

On 2026-11-28, ten runs each: 79, 97, 97, 100, 99 and 99 of 100 at these loads, 571 of 600. At load 0 the
truth is to blame: real-time priority alone makes "tiny" 1.6 times as fast (medians of eight), and with either priority
"copying, here" changes by a factor of two within minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from staged_loaders import Numbers, compute
from timed_loaders import Copying, busy_loops, make
from torch.utils.data import DataLoader, IterableDataset

from pytest_dataloader.checks import Setting, throughput

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_dataloader.probe.timing.evidence import Throughput

KNOWN = 0.02
"""Truths are known to this share: a sleep of 4 ms takes 0.05 ms longer where its CPU has to be woken."""
REST_SECONDS = 20.0
"""After the loops of each load, for whoever else works on this machine."""


class Samples(Numbers):
    """Waits and computes for so many milliseconds, by the clocks."""

    def __init__(self, wait_ms: float = 0.0, cpu_ms: float = 0.0, length: int = 1_000_000) -> None:
        super().__init__(length)
        self.wait_ms, self.cpu_ms = wait_ms, cpu_ms

    def __getitem__(self, index: int) -> Any:
        if self.wait_ms:
            time.sleep(self.wait_ms / 1e3)
        compute(self.cpu_ms)
        return torch.tensor(float(index))


class Summing(Numbers):
    """Computes in Python, so much that it takes some milliseconds."""

    def __getitem__(self, index: int) -> Any:
        return torch.tensor(float(sum(step * step & 7 for step in range(30_000)) + index))


class Stream(IterableDataset[Any]):
    """Endless; waits 4 ms for a sample."""

    def __iter__(self) -> Iterator[Any]:
        waiting = Samples(wait_ms=4)
        while True:
            yield waiting[0]


LOADERS: dict[str, Callable[[], DataLoader[Any]]] = {
    "waiting, here": lambda: DataLoader(Samples(wait_ms=4), 4),
    "waiting": lambda: DataLoader(Samples(wait_ms=4), 4, num_workers=2),
    "single samples": lambda: DataLoader(Samples(wait_ms=2, cpu_ms=1), None, num_workers=2, prefetch_factor=8),
    "short epochs": lambda: DataLoader(Samples(wait_ms=4, length=100), 4, num_workers=2),
    "stream": lambda: DataLoader(Stream(), 4, num_workers=8),
    "computing, here": lambda: DataLoader(Samples(cpu_ms=2), 8),
    "computing": lambda: DataLoader(Samples(cpu_ms=2), 8, num_workers=2),
    "summing": lambda: DataLoader(Summing(), 8, num_workers=4),
    "copying, here": lambda: make(Copying),
    "tiny": lambda: DataLoader(Samples(), 32, num_workers=2),
}


def measure(name: str, seconds: float) -> Throughput:
    return throughput.measure(LOADERS[name](), setting=Setting(seconds=seconds, bench=True))


@dataclass(frozen=True, slots=True)
class Truth:
    """What a loader does with real-time priority."""

    samples_per_second: float
    cpu_ms_per_sample: float


def truths(path: Path | None) -> dict[str, Truth]:
    """By loader, as kept or measured."""
    if path is not None and path.exists():
        return {name: Truth(**kept) for name, kept in json.loads(path.read_text()).items()}
    known = {}
    usual = os.sched_getscheduler(0)
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    for name in LOADERS:
        seen = sorted((measure(name, 1.5) for _ in range(5)), key=lambda each: each.samples_per_second)
        best = seen[-2]  # of the best three the middle one: a busy host halves the CPU's speed at times
        known[name] = Truth(best.samples_per_second, best.cpu_ms_per_sample)
        least, most = seen[0].samples_per_second, seen[-1].samples_per_second
        print(f"{name:16} {best.samples_per_second:10,.1f} samples/s ({least:,.1f} to {most:,.1f})", flush=True)
    os.sched_setscheduler(0, usual, os.sched_param(0))
    if path is not None:
        path.write_text(json.dumps({name: asdict(truth) for name, truth in known.items()}))
    return known


def row(load: int, seen: list[tuple[str, Throughput]], known: dict[str, Truth]) -> str:
    missed, points, lows, ratios, dearer = [], [], [], [], []
    for name, each in seen:
        truth = known[name].samples_per_second
        low, high = (end / truth for end in each.interval)
        points.append(each.samples_per_second / truth)
        lows.append(low)
        ratios.append(high / low if low else float("inf"))
        dearer.append(each.cpu_ms_per_sample / known[name].cpu_ms_per_sample)
        if not (low <= 1 + KNOWN and high >= 1 - KNOWN):
            missed.append(f"{name} {low:.2f} to {high:.2f}")
    told = sum(bool(each.quietness.disturbances) for _, each in seen)
    others = statistics.median(each.quietness.others_share for _, each in seen)
    cells = [
        f"{load:4}",
        f"{others:6.2f}",
        f"{len(seen) - len(missed)} of {len(seen)}".rjust(10),
        f"{told:4}",
        *(f"{statistics.median(each):6.2f} {sorted(each)[int(0.9 * len(each))]:7.2f}" for each in (ratios, dearer)),
        f"{min(points):.2f} {statistics.median(points):.2f} {max(points):.2f}",
        f"{max(lows):.2f}",
    ]
    return "  ".join([*cells, "; ".join(missed)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loads", type=int, nargs="*", default=[0, 2, 4, 8, 14, 20])
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--truths", type=Path)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", "This DataLoader will create", UserWarning)
    known = truths(asked.truths)
    seen: dict[int, list[tuple[str, Throughput]]] = {load: [] for load in asked.loads}
    for _ in range(asked.repeats):
        for load in asked.loads:
            with busy_loops(load):
                seen[load] += [(name, measure(name, asked.seconds)) for name in LOADERS]
            time.sleep(REST_SECONDS if load else 0.0)
        print(f"{len(seen[asked.loads[-1]])} runs at each load", file=sys.stderr, flush=True)
    print("load  others  truth held  busy  ends apart, CPU / truth: 50 % 90 %  figure / truth  highest low end; missed")
    for load, runs in seen.items():
        print(row(load, runs, known))


if __name__ == "__main__":
    main()
