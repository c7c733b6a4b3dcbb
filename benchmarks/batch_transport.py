"""How a batch is best handed over: arrays or tensors, views or copies; and what ``stages`` makes of trying it.

For each loader the CPU time that a sample takes and the rate, as it is and with compact batches, in turns; and the gain
of the trial of ``stages``, 0 where it tries nothing. ``python benchmarks/batch_transport.py [SECONDS]``.
"""

from __future__ import annotations

import statistics
import sys
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from pytest_dataloader.probe.loader.batch_storages import CompactCollate, weigh
from pytest_dataloader.probe.loader.borrowing import borrow
from pytest_dataloader.probe.timing.evidence import Stages
from pytest_dataloader.probe.timing.rate_meter import RateMeter
from pytest_dataloader.probe.timing.throughput import throughput
from pytest_dataloader.probe.tuning.changes import try_changes

_TURNS = 3


class Rows(Dataset[Any]):
    """Rows of ``size`` numbers: arrays, or tensors that show so many of a storage of ``whole``."""

    def __init__(self, size: int, whole: int = 0) -> None:
        self.size, self.whole = size, whole

    def __len__(self) -> int:
        return 20_000

    def __getitem__(self, index: int) -> Any:
        if self.whole:
            return torch.full((self.whole,), float(index))[: self.size]
        return np.full(self.size, index, dtype=np.float32)


def stacked(samples: list[Any]) -> Any:
    return np.stack(samples)


def tensor(samples: list[Any]) -> Any:
    return torch.from_numpy(np.stack(samples))


def loaders() -> dict[str, DataLoader[Any]]:
    made: dict[str, DataLoader[Any]] = {}
    for size in (250, 2500, 25_000, 250_000):
        for name, collate in (("an array", stacked), ("arrays", list), ("a tensor", tensor)):
            made[f"{name} of {16 * 4 * size / 1e6:g} MB"] = DataLoader(
                Rows(size), 16, num_workers=2, collate_fn=collate
            )
    for whole in (10_000, 100_000, 1_000_000):
        name = f"views of 0.064 of {16 * 4 * whole / 1e6:g} MB"
        made[name] = DataLoader(Rows(1000, whole), 16, num_workers=2, collate_fn=list)
    return made


def look(loader: DataLoader[Any], seconds: float, *, compact: bool) -> tuple[float, float]:
    """CPU microseconds per sample, and samples per second."""

    def prepare(copy: Any) -> None:
        if compact:
            vars(copy)["collate_fn"] = CompactCollate(copy.collate_fn)

    with borrow(loader, prepare=prepare) as borrowed:
        meter = RateMeter(borrowed, seconds)
        meter.run(lambda _seen: False)
        seen = throughput(meter)
    return 1e3 * seen.cpu_ms_per_sample, seen.wall_samples_per_second


def main(seconds: float) -> None:
    print(f"{'batch':32} {'us CPU':>8} {'compact':>8} {'times':>6} {'rate':>8} {'compact':>8} {'times':>6} {'told':>5}")
    for name, loader in loaders().items():
        found: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
        for _ in range(_TURNS):
            for compact in (False, True):
                found[compact].append(look(loader, seconds, compact=compact))
        cpu, rate = ({c: statistics.median(each[at] for each in found[c]) for c in found} for at in (0, 1))
        weight = weigh(next(iter(loader)))
        about = Stages(
            workers=2, bottleneck="startup", array_bytes_per_batch=weight.array_bytes,
            shared_bytes_per_batch=weight.shared_bytes, tensor_bytes_per_batch=weight.tensor_bytes,
        )  # fmt: skip
        told = next((each.gain for each in try_changes(loader, about, seconds=2.0, came=lambda _what: None)), 0.0)
        print(
            f"{name:32} {cpu[False]:8.0f} {cpu[True]:8.0f} {cpu[False] / cpu[True]:6.2f} {rate[False]:8.0f} "
            f"{rate[True]:8.0f} {rate[True] / rate[False]:6.2f} {told:5.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main(float(sys.argv[1]) if sys.argv[1:] else 1.0)
