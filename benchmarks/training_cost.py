"""What it costs a training that its loader is watched: CPU and wall time of a step, in pairs of epochs.

    python benchmarks/training_cost.py [--pairs 20] [--steps 40] [--step-ms 50] [--workers 2]

Hypothesis: below 0.5 % of a step of 50 ms. Epochs of two loaders over the same data, one of them watched, follow each
other in one process, in random order. A step sleeps, so that its CPU time is the loop's, the loader's and ours. What is
told is the median of the differences, with the interval that 95 of 100 resampled medians lie in.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
import weakref
from typing import Any

import torch
from torch.utils.data import DataLoader, TensorDataset

from pytest_dataloader.probe.memory.smaps import Reading
from pytest_dataloader.probe.training.discovery import Discovery
from pytest_dataloader.probe.training.meter import Meter
from pytest_dataloader.probe.training.processes import ProcessReadings


def epoch(loader: Any, step_seconds: float) -> tuple[float, float]:
    """CPU and wall seconds of an epoch, in this process."""
    wall, cpu = time.perf_counter(), time.process_time()
    for _batch in loader:
        time.sleep(step_seconds)
    return time.process_time() - cpu, time.perf_counter() - wall


def parts(loader: Any) -> None:
    """What a batch costs, and a reading of the processes: CPU time of this thread."""
    iterator = iter(loader)
    batch = next(iterator)
    meter = Meter(loader)
    meter.begin(weakref.ref(iterator), 0)
    meter.readings.due_ns = 1 << 62
    began = time.thread_time()
    for _ in range(10_000):
        meter.ask()
        meter.get(batch)
    each = (time.thread_time() - began) / 10_000
    readings = ProcessReadings(memory=lambda _pid: Reading(0, 0, 0, 0))
    began = time.thread_time()
    for _ in range(20):
        readings.read(meter.pids)
    print(f"{1e6 * each:.1f} us a batch, {1e3 * (time.thread_time() - began) / 20:.2f} ms a reading without memory")


def interval(values: list[float], rng: random.Random) -> tuple[float, float]:
    medians = sorted(statistics.median(rng.choices(values, k=len(values))) for _ in range(2000))
    return medians[50], medians[1949]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--step-ms", type=float, default=50.0)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    rng = random.Random(1)
    data = TensorDataset(torch.zeros(given.steps * 16, 64))
    parts(DataLoader(data, batch_size=16, num_workers=given.workers))
    loaders = {
        watched: DataLoader(data, batch_size=16, num_workers=given.workers, persistent_workers=given.workers > 0)
        for watched in (True, False)
    }
    discovery = Discovery(wanted=lambda loader: loader is loaders[True], keeps_copies=True)
    discovery.start()
    differences: dict[str, list[float]] = {"CPU": [], "wall": []}
    for loader in loaders.values():
        epoch(loader, 0.0)
    for _ in range(given.pairs):
        seen = {watched: epoch(loaders[watched], given.step_ms / 1e3) for watched in rng.sample([True, False], 2)}
        for at, clock in enumerate(differences):
            differences[clock].append((seen[True][at] - seen[False][at]) / given.steps)
    discovery.stop()
    (found,) = discovery.loaders
    assert found.meter.totals.batches == (given.pairs + 1) * given.steps
    for clock, values in differences.items():
        low, high = interval(values, rng)
        median = statistics.median(values)
        share = 100 * median / (given.step_ms / 1e3)
        print(
            f"{clock}: {1e6 * median:+.1f} us a step ({1e6 * low:+.1f} to {1e6 * high:+.1f}), "
            f"{share:+.3f} % of {given.step_ms:g} ms, {given.pairs} pairs of {given.steps} steps"
        )


if __name__ == "__main__":
    main()
