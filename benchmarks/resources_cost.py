"""CPU time that a watched block adds to a test, in ms: ``python benchmarks/resources_cost.py``."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import torch
from torch.utils.data import DataLoader, TensorDataset

from pytest_dataloader.probe.resources.block import watched_block

if TYPE_CHECKING:
    from collections.abc import Callable

RUNS = 30


def spent(body: Callable[[], None], looked_for: str) -> list[float]:
    """Sorted CPU milliseconds of entering and leaving a watched block, without those of its body."""
    found = []
    for _ in range(RUNS):
        block = watched_block("shm" if looked_for == "shm" else "fds")
        times = [time.process_time()]
        block.__enter__()
        times.append(time.process_time())
        body()
        times.append(time.process_time())
        block.__exit__(None, None, None)
        times.append(time.process_time())
        found.append(1000 * (times[1] - times[0] + times[3] - times[2]))
    return sorted(found)


def loop() -> None:
    for _ in DataLoader(TensorDataset(torch.zeros(8, 2)), batch_size=2, num_workers=1):
        pass


def main() -> None:
    spent(lambda: None, "fds")  # imports
    print("| watched | block | median | 90 % | most |\n|---|---|---|---|---|")
    bodies: dict[str, Callable[[], None]] = {"empty": lambda: None, "an epoch of a loader with a worker": loop}
    for looked_for in ("fds", "shm"):
        for name, body in bodies.items():
            times = spent(body, looked_for)
            print(f"| {looked_for} | {name} | {times[RUNS // 2]:.2f} | {times[RUNS * 9 // 10]:.2f} | {times[-1]:.1f} |")


if __name__ == "__main__":
    main()
