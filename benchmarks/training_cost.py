"""What it costs a training that its loader is watched: CPU and wall time of a step, in pairs of epochs.

    python benchmarks/training_cost.py [--pairs 20] [--steps 40] [--step-ms 50] [--workers 2] [--by run]

Hypothesis: below 0.5 % of a step of 50 ms. Epochs of two loaders over the same data, one of them watched, follow each
other in one process, in random order. A step sleeps, so that its CPU time is the loop's, the loader's and ours. It is
watched as by ``run``, or as by ``monitor`` and the callbacks, which look at three limits and make figures for a logger
after every 50 batches. A row has the median of the differences, with the interval that 95 of 100 resampled medians lie
in.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import statistics
import time
import weakref
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import DataLoader, TensorDataset

from pytest_dataloader.diagnosis.monitoring import Monitor
from pytest_dataloader.probe.memory.smaps import Reading
from pytest_dataloader.probe.training.discovery import Discovery
from pytest_dataloader.probe.training.meter import Meter
from pytest_dataloader.probe.training.processes import ProcessReadings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_dataloader.probe.training.discovery import LoaderInUse


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


@contextlib.contextmanager
def as_run(loader: Any) -> Iterator[Callable[[], int]]:
    """Watched as by ``run``; how many batches were seen."""
    reference = weakref.ref(loader)  # it goes, and its workers, as soon as its name does
    discovery = Discovery(wanted=lambda one: one is reference(), keeps_copies=True)
    discovery.start()
    yield lambda: discovery.loaders[0].meter.totals.batches
    discovery.stop()


@contextlib.contextmanager
def as_callbacks(loader: Any) -> Iterator[Callable[[], int]]:
    """Watched as by the callback of a trainer that logs after every 50 batches; how many batches were seen."""

    def log(meter: Meter) -> None:
        if meter.totals.batches % LOG_EVERY == 0:
            monitor.scalars()

    class Callback(Monitor):
        def _watch(self, found: LoaderInUse) -> None:
            super()._watch(found)
            found.meter.step_hooks.append(log)

    with Callback(loader, max_input_wait=0.99, max_worker_growth="1GB", max_fd_use=0.99) as monitor:
        yield lambda: monitor.state.batches


LOG_EVERY = 50
WATCHERS = {"run": as_run, "callbacks": as_callbacks}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--step-ms", type=float, default=50.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--by", choices=WATCHERS, nargs="*", default=list(WATCHERS))
    given = parser.parse_args()
    data = TensorDataset(torch.zeros(given.steps * 16, 64))
    parts(DataLoader(data, batch_size=16, num_workers=given.workers))
    for name in given.by:
        compare(name, data, given)


def compare(name: str, data: Any, given: argparse.Namespace) -> None:
    """Pairs of epochs, one of each watched so."""
    rng = random.Random(1)
    loaders = {
        watched: DataLoader(data, batch_size=16, num_workers=given.workers, persistent_workers=given.workers > 0)
        for watched in (True, False)
    }
    differences: dict[str, list[float]] = {"CPU": [], "wall": []}
    with WATCHERS[name](loaders[True]) as batches:
        for loader in loaders.values():
            epoch(loader, 0.0)
        for _ in range(given.pairs):
            seen = {watched: epoch(loaders[watched], given.step_ms / 1e3) for watched in rng.sample([True, False], 2)}
            for at, clock in enumerate(differences):
                differences[clock].append((seen[True][at] - seen[False][at]) / given.steps)
        assert batches() == (given.pairs + 1) * given.steps
    for clock, values in differences.items():
        low, high = interval(values, rng)
        median = statistics.median(values)
        shares = [100 * value / (given.step_ms / 1e3) for value in (median, low, high)]
        print(
            f"{name}, {clock}: {1e6 * median:+.1f} us a step ({1e6 * low:+.1f} to {1e6 * high:+.1f}), "
            f"{shares[0]:+.3f} % of {given.step_ms:g} ms ({shares[1]:+.3f} to {shares[2]:+.3f}), "
            f"{given.pairs} pairs of {given.steps} steps"
        )


if __name__ == "__main__":
    main()
