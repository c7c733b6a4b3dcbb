"""Peaks of descriptors and segments, predicted and measured, over structures of batches: ``python benchmarks/resources_forecast.py``.

The first worker is slow at its first sample, so that the batches of all others wait for its own.
"""  # noqa: E501  # one line that says what it is

from __future__ import annotations

import time
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

from pytest_dataloader.checks import Setting, fds, shm

STRUCTURES: dict[str, tuple[Any, dict[str, Any]]] = {
    "one tensor": (lambda _at: torch.zeros(4), {}),
    "image and label": (lambda at: (torch.zeros(3, 32, 32), at), {}),
    "dict of 5": (lambda _at: {str(n): torch.zeros(4) for n in range(5)}, {}),
    "dict of 16": (lambda _at: {str(n): torch.zeros(4) for n in range(16)}, {}),
    "nested, 6": (lambda _at: {"a": [torch.zeros(2)] * 2, "b": ({"c": torch.zeros(1)}, [torch.zeros(3)] * 3)}, {}),
    "list of samples": (lambda _at: torch.zeros(4), {"collate_fn": list}),
    "views of one": (lambda _at: torch.zeros(4), {"collate_fn": lambda rows: list(torch.stack(rows))}),
    "arrays": (lambda at: at, {"collate_fn": lambda rows: torch.tensor(rows).numpy()}),
    "no batching": (lambda _at: torch.zeros(4), {"batch_size": None}),
    "three workers, dict of 4": (lambda _at: {str(n): torch.zeros(4) for n in range(4)}, {"num_workers": 3}),
    "prefetch 4, dict of 4": (lambda _at: {str(n): torch.zeros(4) for n in range(4)}, {"prefetch_factor": 4}),
    "one worker, dict of 8": (lambda _at: {str(n): torch.zeros(4) for n in range(8)}, {"num_workers": 1}),
}


class Rows(Dataset[Any]):
    def __init__(self, make: Any) -> None:
        self.make = make

    def __len__(self) -> int:
        return 400

    def __getitem__(self, at: int) -> Any:
        if at == 0:
            time.sleep(0.5)
        return self.make(at)


def main() -> None:
    print("| batch | T | main | worker | segments | bytes |\n|---|---|---|---|---|---|")
    for name, (make, settings) in STRUCTURES.items():
        given = {"batch_size": 4, "num_workers": 2, "multiprocessing_context": "fork", **settings}
        loader: DataLoader[Any] = DataLoader(Rows(make), **given)
        open_files = fds.measure(loader, setting=Setting())
        memory = shm.measure(loader, setting=Setting())
        pairs = [
            (open_files.predicted_main_peak, open_files.main_peak),
            (open_files.predicted_worker_peak, open_files.worker_peak),
            (memory.predicted_segments, memory.peak_segments),
            (memory.predicted_peak_bytes, memory.peak_bytes),
        ]
        cells = " | ".join(f"{predicted:,} / {measured:,}" for predicted, measured in pairs)
        print(f"| {name} | {open_files.storages_per_batch} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
