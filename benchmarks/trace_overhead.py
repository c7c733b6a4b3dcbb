"""What timing a hundred batches in a row for a trace costs: CPU time of an instrumented loader over that of a bare one.

    python benchmarks/trace_overhead.py --seconds 5 --generations 5

As ``stages_overhead.py``, but from an epoch's first batch on, so that the hundred are in it, and for as many batches as
an idle machine makes in ``seconds``, the default budget of the check: on a busy one the hundred would be a larger part.
"All" is the whole run, "the hundred" the part of it in which every batch is timed. The control has two bare loaders.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import itertools
import random
import statistics
from typing import TYPE_CHECKING, Any

import torch
from stages_overhead import Arm, Items, bare
from torch.utils.data import DataLoader

from pytest_dataloader.probe.host import clocks
from pytest_dataloader.probe.loader.borrowing import borrow_as
from pytest_dataloader.probe.timing.instrumented_run import InstrumentedLoader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_PORTION = 10
_TRACED = 100
_BATCH = 32


@contextlib.contextmanager
def instrumented(loader: DataLoader[Any], *, traced: bool) -> Iterator[Arm]:
    with borrow_as(functools.partial(InstrumentedLoader, traced=traced), loader) as borrowed:
        borrowed.begin_epoch()
        yield Arm(borrowed.pull, lambda: borrowed.workers)


def ratios(make: Callable[[], DataLoader[Any]], first: Any, most: int, order: random.Random) -> tuple[float, float]:
    """CPU time per batch over that of a bare loader: of all, and of the hundred."""
    with first(make()) as ours, bare(make()) as theirs:
        early = 0.0
        while ours.batches < most:
            for each in order.sample((ours, theirs), 2):
                each.turn(_PORTION)
            if ours.batches == _TRACED:
                early = (ours.cpu_ns / ours.batches) / (theirs.cpu_ns / theirs.batches)
        return (ours.cpu_ns / ours.batches) / (theirs.cpu_ns / theirs.batches), early


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--generations", type=int, default=5)
    parser.add_argument("--items", type=int, nargs="*", default=[100], help="CPU time of a sample, us")
    parser.add_argument("--workers", type=int, nargs="*", default=[2, 0])
    asked = parser.parse_args()
    torch.set_num_threads(1)
    order = random.Random(0)
    arms = {
        "traced": functools.partial(instrumented, traced=True),
        "not traced": functools.partial(instrumented, traced=False),
        "bare": bare,
    }
    for cost_us, workers in itertools.product(asked.items, asked.workers):

        def make(cost_us: int = cost_us, workers: int = workers) -> DataLoader[Any]:
            return DataLoader(Items(cost_us * 1000), batch_size=_BATCH, num_workers=workers)

        most = round(asked.seconds * 1e6 / cost_us / _BATCH * min(max(1, workers), clocks.cpus_allowed()))
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in arms}
        for _ in range(asked.generations):
            for name, arm in arms.items():
                found[name].append(ratios(make, arm, most, order))
        for name, each in found.items():
            cells = []
            for which, label in enumerate(("all", "the hundred")):
                values = [one[which] for one in each]
                cells.append(f"{label} {statistics.median(values):.3f} ({min(values):.3f} to {max(values):.3f})")
            print(f"{cost_us} us, {workers} workers, {most} batches, {name:>10}: {'; '.join(cells)}", flush=True)


if __name__ == "__main__":
    main()
