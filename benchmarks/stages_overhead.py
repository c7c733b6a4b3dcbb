"""What the clocks of the stages check cost: CPU time of an instrumented loader over that of a bare one.

    python benchmarks/stages_overhead.py --seconds 4 --generations 6

Two live loaders are pulled from in turn, in random order, and in portions of 2 ms, as the check does; the CPU time of
the main process and of each loader's own workers is read from their CPU clocks. The control has two bare loaders.
"Bare" is torch's own iterator in an empty loop; "instrumented" is everything that the check does while it pulls.

CPython 3.11 and 3.12 keep attributes in the object until something asks for its ``__dict__``, as copying, pickling and
every check do; from then on each access takes some nanoseconds more. Both loaders of a pair have been asked, or they
would be of two kinds; the last column is what having been asked costs a bare loader.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import random
import statistics
import time
from collections import deque
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import DataLoader, Dataset

from pytest_dataloader.probe.host import clocks
from pytest_dataloader.probe.internals import torch_private
from pytest_dataloader.probe.loader.borrowing import borrow_as
from pytest_dataloader.probe.timing.instrumented_run import InstrumentedLoader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Items(Dataset[Any]):
    """Each one computes for so many nanoseconds of CPU time; 0 just returns its index, which takes about 1 us."""

    def __init__(self, cost_ns: int) -> None:
        self.cost_ns = cost_ns

    def __len__(self) -> int:
        return 100_000_000

    def __getitem__(self, index: int) -> int:
        if self.cost_ns:
            end = time.thread_time_ns() + self.cost_ns
            while time.thread_time_ns() < end:
                pass
        return index


class Arm:
    """One of the two loaders, and what it has cost."""

    def __init__(self, pull: Callable[[int], Any], workers: Callable[[], list[Any]]) -> None:
        self.pull, self.workers = pull, workers
        self.cpu_ns = self.batches = 0
        self.portion = 1
        self._spent: int | None = None

    def turn(self, batches: int) -> None:
        before = self._worker_ns() if self._spent is None else self._spent
        main = clocks.process_cpu_ns()
        for _ in range(batches // self.portion):
            self.pull(self.portion)
        self.cpu_ns += clocks.process_cpu_ns() - main
        self._spent = self._worker_ns()
        self.cpu_ns += self._spent - before
        self.batches += batches

    def _worker_ns(self) -> int:
        return sum(clocks.cpu_of_ns(worker.pid) or 0 for worker in self.workers())


@contextlib.contextmanager
def bare(loader: DataLoader[Any]) -> Iterator[Arm]:
    for each in (loader, loader.dataset, loader.sampler, loader.batch_sampler):
        vars(each)
    batches = iter(loader)
    vars(batches)
    with never_asked(loader, batches) as arm:
        yield arm


@contextlib.contextmanager
def never_asked(loader: DataLoader[Any], batches: Any = None) -> Iterator[Arm]:
    batches = iter(loader) if batches is None else batches
    yield Arm(
        lambda count: deque(itertools.islice(batches, count), maxlen=0),
        lambda: torch_private.worker_processes(batches),
    )
    torch_private.shut_down_workers(batches)


@contextlib.contextmanager
def instrumented(loader: DataLoader[Any]) -> Iterator[Arm]:
    with borrow_as(InstrumentedLoader, loader) as borrowed:
        borrowed.begin_epoch()
        yield Arm(borrowed.pull, lambda: borrowed.workers)


def ratio(make: Callable[[], DataLoader[Any]], pair: tuple[Any, Any], seconds: float, order: random.Random) -> float:
    """CPU time per batch of the first arm over that of the second."""
    with pair[0](make()) as ours, pair[1](make()) as theirs:
        for each in (ours, theirs):
            each.turn(60)
        began = time.monotonic()
        theirs.turn(60)
        portion = max(1, int(60 * 0.002 / (time.monotonic() - began)))
        batches = portion * 10
        for each in (ours, theirs):
            each.cpu_ns = each.batches = 0
            each.portion = portion
        while time.monotonic() - began < seconds or not ours.batches:
            for each in order.sample((ours, theirs), 2):
                each.turn(batches)
        return (ours.cpu_ns / ours.batches) / (theirs.cpu_ns / theirs.batches)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--generations", type=int, default=6)
    parser.add_argument("--items", type=int, nargs="*", default=[100, 1])
    parser.add_argument("--workers", type=int, nargs="*", default=[2, 0])
    asked = parser.parse_args()
    torch.set_num_threads(1)
    order = random.Random(0)
    pairs = {
        "instrumented / bare": (instrumented, bare),
        "bare / bare": (bare, bare),
        "bare / never asked": (bare, never_asked),
    }
    print(f"{'item':>7}  workers  {'  '.join(f'{name:>24}' for name in pairs)}  (median, least to most)")
    for cost_us, workers in itertools.product(asked.items, asked.workers):

        def make(cost_us: int = cost_us, workers: int = workers) -> DataLoader[Any]:
            return DataLoader(Items(0 if cost_us == 1 else cost_us * 1000), batch_size=32, num_workers=workers)

        found: dict[str, list[float]] = {name: [] for name in pairs}
        for _ in range(asked.generations):
            for name, pair in pairs.items():
                found[name].append(ratio(make, pair, asked.seconds, order))
        cells = [f"{statistics.median(each):.3f} ({min(each):.3f} to {max(each):.3f})" for each in found.values()]
        print(f"{cost_us:4} us  {workers:7}  {'  '.join(f'{cell:>24}' for cell in cells)}", flush=True)


if __name__ == "__main__":
    main()
