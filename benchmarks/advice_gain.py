"""Is a loader faster with what ``stages`` advises? Fifty-two loaders, each change that was advised measured again.

    python benchmarks/advice_gain.py [--seconds 2] [--busy 2] [--only waits]

Hypothesis: a change whose slowest short round beats the fastest without it is faster in a longer run, beside other load
too. A row for each loader: what was tried, with the gain of the trial, and the gain of three rounds of a second each
(the median). Advice that makes the loader slower is wrong; a change that was tried, is not advised and makes it 1.3
times as fast is missed.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import time
import warnings
from typing import Any

import torch
from timed_loaders import busy_loops
from torch.utils.data import DataLoader, Dataset, TensorDataset

from pytest_dataloader.checks import Setting, stages
from pytest_dataloader.probe.loader.settings import settings_of
from pytest_dataloader.probe.tuning import changes
from pytest_dataloader.probe.tuning.trial import measure_trial

MISSED = 1.3
WRONG = 0.97


class Costs(Dataset[Any]):
    """Waits and computes for each sample, which has so many tensors of so many bytes, all zeros or 8-bit pixels."""

    def __init__(self, wait_ms: float, cpu_ms: float, tensors: int, size: int, pixels: bool = False) -> None:
        self.wait_ms, self.cpu_ms, self.tensors, self.size = wait_ms, cpu_ms, tensors, size
        self.pixels = torch.randint(0, 256, (size // 4,), dtype=torch.uint8) if pixels else None

    def __len__(self) -> int:
        return 1_000_000

    def __getitem__(self, index: int) -> Any:
        if self.wait_ms:
            time.sleep(self.wait_ms / 1e3)
        begun = time.thread_time()
        while (time.thread_time() - begun) * 1e3 < self.cpu_ms:
            pass
        numbers = torch.zeros(max(1, self.size // 4)) if self.pixels is None else self.pixels / 255
        return {f"field{number}": numbers for number in range(self.tensors)}


COSTS = {
    "free": (0.0, 0.0, 1, 4), "free, 12 tensors": (0.0, 0.0, 12, 4), "rows": (0.0, 0.0, 1, 4_000),
    "waits 0.2 ms": (0.2, 0.0, 1, 4), "waits 2 ms": (2.0, 0.0, 1, 4_000), "computes 0.1 ms": (0.0, 0.1, 1, 400),
    "computes 2 ms": (0.0, 2.0, 1, 4_000), "computes 2 ms, 12 tensors": (0.0, 2.0, 12, 400),
    "pictures": (1.0, 1.0, 1, 600_000), "large": (0.0, 0.5, 1, 4_000_000),
    "pixels": (0.0, 0.0, 1, 600_000, True),
}  # fmt: skip
DATASETS: dict[str, tuple[Dataset[Any], tuple[int, int]]] = {
    **{name: (Costs(*cost), (4, 32)) for name, cost in COSTS.items()},
    "table in tensors": (TensorDataset(torch.randn(200_000, 20), torch.zeros(200_000)), (32, 1024)),
    "pictures in a tensor": (TensorDataset(torch.zeros(5_000, 3, 64, 64)), (32, 256)),
}
LOADERS = {
    f"{name}, batches of {size}, {workers} workers": (dataset, size, workers)
    for name, (dataset, sizes) in DATASETS.items()
    for size, workers in itertools.product(sizes, (0, 2))
}


def true_gain(loader: Any, changed: Any, settings: Any, seconds: float) -> float:
    """Batches a second with the change over those without, each times its size; the median of three rounds."""
    gains = []
    for _ in range(3):
        before = measure_trial(loader, settings_of(loader), seconds, lambda _spent: None)
        after = measure_trial(changed, settings, seconds, lambda _spent: None)
        times = (changed.batch_size or loader.batch_size) / loader.batch_size
        gains.append(times * before.batch_seconds / after.batch_seconds)
    return statistics.median(gains)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--busy", type=int, default=0)
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", "This DataLoader will create", UserWarning)
    given = wrong = missed = 0
    print("| loader | bottleneck | change | in the trial | again | |\n|---|---|---|---|---|---|")
    with busy_loops(asked.busy):
        for name, (dataset, size, workers) in LOADERS.items():
            if asked.only not in name:
                continue
            loader = DataLoader(dataset, batch_size=size, num_workers=workers)
            begun = time.monotonic()
            seen = stages.measure(loader, setting=Setting(seconds=asked.seconds, bench=True))
            took = time.monotonic() - begun
            said = "; ".join(advice.text for advice in stages.judge(seen).advice)
            ways = {text: (changed, settings) for text, changed, settings in changes._changes(loader, seen)}
            if not seen.tried:
                print(f"| {name} ({took:.1f} s) | {seen.bottleneck} | none tried | | | {said} |", flush=True)
            for tried in seen.tried:
                again = true_gain(loader, *ways[tried.change], 1.0)
                advised = tried.change in said
                given += advised
                bad = advised and again < WRONG
                lost = not advised and again >= MISSED
                wrong, missed = wrong + bad, missed + lost
                verdict = "wrong" if bad else "missed" if lost else "advised" if advised else ""
                row = f"{tried.change} | {tried.gain:.2f} | {again:.2f} | {verdict}"
                print(f"| {name} ({took:.1f} s) | {seen.bottleneck} | {row} |", flush=True)
    print(f"\nadvised: {given}, made slower: {wrong}; missed: {missed}")


if __name__ == "__main__":
    main()
