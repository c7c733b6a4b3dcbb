"""From which cost of a batch on do workers help? Loaders without workers against the same with one and with two.

    python benchmarks/workers_gain.py [--seconds 1.0] [--rounds 3]

Hypothesis: handing a batch over costs a few milliseconds at most, so that workers never make a loader slower whose
batches take longer than that to make. Each loader computes so long for a batch of so many bytes; rates are samples a
second over ``--seconds`` after the first batches, the best of the rounds, which are interleaved. The table is what
``advice/training`` rests on: the smallest gain of each row of costs.
"""

from __future__ import annotations

import argparse
import itertools
import time
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

COSTS_MS = (0.2, 1.0, 3.0, 10.0, 30.0)
BYTES = (2_000, 200_000, 4_000_000, 40_000_000)
BATCH = 16


class Computes(Dataset[Any]):
    """Makes a sample of so many bytes in so many milliseconds of CPU time."""

    def __init__(self, ms: float, size: int) -> None:
        self.ms, self.size = ms, size

    def __len__(self) -> int:
        return 1_000_000

    def __getitem__(self, index: int) -> Any:
        begun = time.process_time()
        sample = torch.zeros(max(1, self.size // 4))
        while (time.process_time() - begun) * 1000 < self.ms:
            pass
        return sample


def rate(cost_ms: float, size: int, workers: int, seconds: float) -> float:
    """Samples a second once the first batches have come."""
    loader = DataLoader(Computes(cost_ms / BATCH, size // BATCH), batch_size=BATCH, num_workers=workers)
    batches = iter(loader)
    for _ in range(2 + 2 * workers):
        next(batches)
    begun, came = time.perf_counter(), 0
    for _ in batches:
        came += 1
        if time.perf_counter() - begun > seconds:
            break
    return came * BATCH / (time.perf_counter() - begun)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    print("| a batch takes | bytes | without workers | with 1 | with 2 |\n|---|---|---|---|---|")
    for cost, size in itertools.product(COSTS_MS, BYTES):
        best = dict.fromkeys((0, 1, 2), 0.0)
        for _, workers in itertools.product(range(arguments.rounds), best):
            best[workers] = max(best[workers], rate(cost, size, workers, arguments.seconds))
        gains = " | ".join(f"{best[workers] / best[0]:.2f}" for workers in (1, 2))
        print(f"| {BATCH / best[0] * 1000:.1f} ms (+{cost:g}) | {size:,} | {best[0]:,.0f}/s | {gains} |", flush=True)


if __name__ == "__main__":
    main()
