"""lhotse's IterableDatasetWrapper gives every cut once in each worker.

    python benchmarks/found/lhotse_wrapper.py

Needs torch and lhotse. An epoch of 64 cuts, counted.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from lhotse import CutSet, MonoCut
from lhotse.dataset import SimpleCutSampler
from lhotse.dataset.iterable_dataset import IterableDatasetWrapper
from lhotse.testing.dummies import dummy_recording
from torch.utils.data import DataLoader, Dataset


class Names(Dataset[Any]):
    def __getitem__(self, cuts: Any) -> list[str]:
        return [cut.id for cut in cuts]


def main() -> None:
    cuts = CutSet.from_cuts(
        MonoCut(f"cut-{number}", 0.0, 2.0, 0, recording=dummy_recording(number, duration=5.0)) for number in range(64)
    )
    for workers in (0, 2, 4):
        sampler = SimpleCutSampler(cuts, max_duration=20.0, shuffle=True)
        loader = DataLoader(IterableDatasetWrapper(Names(), sampler), batch_size=None, num_workers=workers)
        seen = Counter(name for batch in loader for name in batch)
        print(f"{workers} workers: {len(seen)} cuts, each {min(seen.values())} to {max(seen.values())} times")


if __name__ == "__main__":
    main()
