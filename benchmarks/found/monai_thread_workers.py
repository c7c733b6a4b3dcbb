"""Thread workers of MONAI tell the whole process that it is a worker: a stream read beside them is read in part only.

    python benchmarks/found/monai_thread_workers.py

Needs torch and monai. The stream shares itself among workers, as torch's documentation has it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from monai.data import ThreadDataLoader
from torch.utils.data import DataLoader, IterableDataset, TensorDataset, get_worker_info

if TYPE_CHECKING:
    from collections.abc import Iterator


class Stream(IterableDataset[int]):
    def __iter__(self) -> Iterator[int]:
        info = get_worker_info()
        first, step = (info.id, info.num_workers) if info else (0, 1)
        return iter(range(first, 100, step))


def main() -> None:
    evaluation = DataLoader(Stream(), batch_size=10)
    print(f"alone: {sum(len(batch) for batch in evaluation)} of 100 samples")
    training = ThreadDataLoader(
        TensorDataset(torch.arange(64)), batch_size=8, num_workers=2, use_thread_workers=True, repeats=1
    )
    for number, _ in enumerate(training):
        if number == 2:
            print(f"while the other trains: {sum(len(batch) for batch in evaluation)} of 100 samples")
    print(f"after it: {sum(len(batch) for batch in evaluation)} of 100 samples; worker info {get_worker_info()}")


if __name__ == "__main__":
    main()
