"""A dataset of some 250 tensors or more starts no worker under forkserver, the default on Linux from Python 3.14.

    python benchmarks/found/torch_forkserver_tensors.py

Needs torch. Each tensor is handed over as a file descriptor, and the fork server takes 256 of them with one process.
"""

from __future__ import annotations

import time

import torch
from torch.utils.data import DataLoader


def main() -> None:
    for count in (100, 300):
        rows = [torch.zeros(8) for _ in range(count)]
        for method in ("fork", "spawn", "forkserver"):
            began = time.monotonic()
            try:
                batches = len(list(DataLoader(rows, batch_size=10, num_workers=1, multiprocessing_context=method)))  # type: ignore[arg-type]
            except ValueError as error:
                print(f"{count} tensors, {method}: {type(error).__name__}: {error}")
            else:
                print(f"{count} tensors, {method}: {batches} batches in {time.monotonic() - began:.1f} s")


if __name__ == "__main__":
    main()
