"""Compares what the memory check predicts for an epoch with what workers have copied at the end of one.

``python benchmarks/memory_prediction.py`` prints the table of docs/memory.md: MB per worker, predicted and measured
(private memory of the worst worker less that of a loader of numbers under the same settings).
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
import torch
from memory_loaders import Read, length_at, path_of
from torch.utils.data import DataLoader

from pytest_dataloader.checks import Setting, memory
from pytest_dataloader.probe.memory import smaps

if TYPE_CHECKING:
    from collections.abc import Callable

SIZE = 100_000


def _shuffled() -> list[str]:
    rows = [path_of(at) for at in range(SIZE)]
    np.random.default_rng(0).shuffle(rows)
    return rows


DATASETS: dict[str, tuple[Callable[[], Any], Callable[[Any, int], Any]]] = {
    "paths": (lambda: [path_of(at) for at in range(SIZE)], length_at("rows")),
    "paths, shuffled in memory": (_shuffled, length_at("rows")),
    "records": (
        lambda: [{"path": path_of(at), "label": at} for at in range(SIZE)],
        lambda self, at: len(self.rows[at]["path"]) + self.rows[at]["label"],
    ),
    "lists of integers": (
        lambda: [[at, at + 1, at + 2, at + 3] for at in range(SIZE)],
        lambda self, at: sum(self.rows[at]),
    ),
    "integers": (lambda: [at + 1000 for at in range(SIZE)], lambda self, at: self.rows[at]),
    "texts of 2 kB": (lambda: [f"{at:02000d}" for at in range(SIZE // 10)], length_at("rows")),
    "small arrays": (lambda: [np.array([at, at]) for at in range(SIZE)], lambda self, at: int(self.rows[at][0])),
    "small tensors": (lambda: [torch.tensor([at]) for at in range(SIZE // 4)], lambda self, at: self.rows[at]),
}


def at_the_end(loader: DataLoader[Any]) -> list[int]:
    """Private memory of each worker once an epoch has been read, before the workers end."""
    batches = iter(loader)
    for _ in range(len(loader)):
        next(batches)
    return [smaps.read_rollup(worker.pid).private_bytes for worker in batches._workers]  # type: ignore[attr-defined]


def compare(dataset: Read, workers: int, shuffle: bool) -> tuple[float, float]:
    """MB per worker, predicted and measured."""
    settings: dict[str, Any] = {"batch_size": 64, "num_workers": workers, "shuffle": shuffle}
    loader = DataLoader(dataset, multiprocessing_context="fork", **settings)
    seen = memory.measure(loader, setting=Setting())
    assert seen.kind == "copy_on_access", (seen.kind, seen.attributes)
    gc.collect()
    plain = Read(len(dataset), lambda self, at: self.numbers[at], numbers=np.arange(len(dataset)))
    floor = max(at_the_end(DataLoader(plain, multiprocessing_context="fork", **settings)))
    return seen.growth_bytes_per_worker / 1e6, (max(at_the_end(loader)) - floor) / 1e6


def main() -> None:
    """Print a row for each data set and order, a column for each number of workers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    chosen = parser.parse_args()
    errors = []
    print("| samples | order | 1 worker | 2 | 4 | 8 |\n|---|---|---|---|---|---|")
    for name, (build, get) in DATASETS.items():
        if chosen.only not in name:
            continue
        rows = build()
        dataset = Read(len(rows), get, rows=rows)
        del rows
        for shuffle in (True, False):
            cells = []
            for workers in (1, 2, 4, 8):
                predicted, measured = compare(dataset, workers, shuffle)
                error = (predicted - measured) / measured
                errors.append(error)
                cells.append(f"{predicted:.1f} / {measured:.1f} ({error:+.0%})")
            print(f"| {name} | {'random' if shuffle else 'in order'} | {' | '.join(cells)} |", flush=True)
    size = sorted(map(abs, errors))
    print(f"error: median {statistics.median(size):.1%}, p90 {size[int(0.9 * len(size))]:.1%}, worst {size[-1]:.1%}")


if __name__ == "__main__":
    main()
