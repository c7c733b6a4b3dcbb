"""The stages check against loaders whose costs are known, or measured without it.

    python benchmarks/stages_truth.py --seconds 3 --repeats 5

Truths are what a loader was built to cost (sleeps, CPU time by the thread's own clock). References, marked "ref", are
taken elsewhere: the CPU time that dataset and collate function note themselves, and for receiving what ``next()`` of a
bare loader of the same kind takes (CPU time, and the median of what unpickling was blocked, but not while the thread
that hands tensors over waited for a CPU).
"""

from __future__ import annotations

import argparse
import multiprocessing.queues
import pickle
import statistics
import time
from dataclasses import dataclass
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import torch
from staged_loaders import LOADERS, SETTLED, Clocked

from pytest_dataloader.checks import Setting, stages
from pytest_dataloader.probe.host.clocks import thread_cpu_ns, thread_delay_ns, wall_ns

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch.utils.data import DataLoader

    from pytest_dataloader.probe.timing.evidence import Stages


@dataclass(frozen=True, slots=True)
class Truth:
    """What the check should say: the bottleneck, and some figures."""

    bottleneck: str
    figures: dict[str, float]
    """Milliseconds per sample by stage, or a field of the evidence; "ref" stands for a reference."""
    step_ms: float | None = None


REF = float("nan")
TRUTHS = {
    "read": Truth("read", {"read": 2.0}),
    "read, here": Truth("read", {"read": 2.0}),
    "compute": Truth("fetch", {"fetch": 2.0}),
    "compute, here": Truth("fetch", {"fetch": 2.0}),
    "waiting collate": Truth("collate", {"collate": 5.0}),
    "computing collate": Truth("collate", {"collate": 5.0}),
    "60 tensors": Truth("receive", {"fetch": REF, "collate": REF, "receive": REF}),
    "8 MB samples": Truth("", {"fetch": REF, "collate": REF, "receive": REF}),
    "slow pickle": Truth("send", {"send": 2.5}),
    "slow sampler": Truth("receive", {"receive": REF, "sampler_ms_per_sample": 2.5}),
    "straggler": Truth("read", {"read": 4.0, "straggler_factor": 3.0, "slowest_worker": 1}),
    "slow start": Truth("startup", {"startup_seconds": 2.0, "read": 2.0}),
    "read, step of 40 ms": Truth("consumer", {"consumer": 5.0, "read": 2.0}, step_ms=40.0),
    "read, step of 4 ms": Truth("read", {"read": 2.0, "stall": 0.5}, step_ms=4.0),
}


class Unpacking(ForkingPickler):
    """Unpickles for the queues of this process, and notes how long that was blocked by what is no wait for a CPU."""

    others: Callable[[], int]
    blocked: list[int]

    @classmethod
    def loads(cls, data: Any) -> Any:  # type: ignore[override]
        others, delay, cpu, wall = cls.others(), thread_delay_ns() or 0, thread_cpu_ns(), wall_ns()
        found = pickle.loads(data)
        took, worked = wall_ns() - wall, thread_cpu_ns() - cpu
        cls.blocked.append(max(0, took - worked - ((thread_delay_ns() or 0) - delay) - (cls.others() - others)))
        return found


def handing_delay_ns(pids: list[int]) -> int:
    """What the workers' youngest threads, which hand tensors over, have waited for a CPU."""
    youngest = [max(int(task.name) for task in Path(f"/proc/{pid}/task").iterdir()) for pid in pids]
    found = [Path(f"/proc/{thread}/schedstat").read_text().split() for thread in youngest]
    return sum(int(fields[1]) for fields in found)


def receiving_ns(loader: DataLoader[Any], seconds: float) -> float:
    """What ``next()`` of a loader at full speed takes: CPU time, and the median of what unpickling was blocked.

    Each is measured for half of ``seconds``.
    """
    iterator: Any = iter(loader)
    for _ in range(SETTLED * loader.num_workers):
        next(iterator)
    pids = [worker.pid for worker in iterator._workers]
    Unpacking.others, Unpacking.blocked = lambda: handing_delay_ns(pids), []
    with mock.patch.object(multiprocessing.queues, "_ForkingPickler", Unpacking):
        end = time.monotonic() + seconds / 2
        while time.monotonic() < end:
            next(iterator)
    cpu, batches = thread_cpu_ns(), 0
    end = time.monotonic() + seconds / 2
    while time.monotonic() < end:
        next(iterator)
        batches += 1
    spent = thread_cpu_ns() - cpu
    del iterator
    return spent / batches + statistics.median(Unpacking.blocked)


def samples_per_batch(loader: DataLoader[Any]) -> int:
    return loader.batch_size or len(next(iter(loader.batch_sampler or ())))


def truths(name: str, loader: DataLoader[Any], seconds: float) -> dict[str, float]:
    """The figures of a truth, references measured for ``seconds``: after the check has run on this loader."""
    found = dict(TRUTHS[name].figures)
    if isinstance(loader.dataset, Clocked):
        fetch, collate, batches = (float(each) for each in loader.dataset.spent)
        per_sample = 1e-6 / (batches * samples_per_batch(loader))
        found |= {"fetch": fetch * per_sample, "collate": collate * per_sample}
    if "receive" in found and found["receive"] != found["receive"]:
        found["receive"] = receiving_ns(LOADERS[name](), seconds) / 1e6 / samples_per_batch(loader)
    return found


def figure(seen: Stages, name: str) -> float:
    return float(seen.ms_per_sample[name] if name in seen.ms_per_sample else getattr(seen, name))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--loaders", nargs="*", default=list(TRUTHS))
    asked = parser.parse_args()
    torch.set_num_threads(1)
    setting = Setting(seconds=asked.seconds, bench=True)
    print(f"{'loader':20}  {'bottleneck':>14}  others  figures: seen / truth, median (least to most)")
    wrong = far = 0
    for name in asked.loaders:
        truth = TRUTHS[name]
        ratios: dict[str, list[float]] = {each: [] for each in truth.figures}
        named, others = [], []
        for _ in range(asked.repeats):
            loader = LOADERS[name.partition(", step")[0]]()
            seen = stages.measure(loader, setting=setting, step_ms=truth.step_ms)
            expected = truths(name, loader, max(3.0, 2 * asked.seconds))
            stage = truth.bottleneck or max(("fetch", "collate", "receive"), key=lambda stage: expected[stage])
            named.append("" if seen.bottleneck == stage else f"{seen.bottleneck}, not {stage}")
            others.append(seen.quietness.others_share)
            for each, value in expected.items():
                ratios[each].append(figure(seen, each) / value)
        wrong += len(named) - named.count("")
        cells = []
        for each, found in ratios.items():
            far += sum(not 0.9 <= ratio <= 1.1 for ratio in found)
            cells.append(f"{each} {statistics.median(found):.2f} ({min(found):.2f} to {max(found):.2f})")
        right = f"{named.count('')} of {len(named)} right"
        cells += [each for each in named if each]
        print(f"{name:20}  {right:>14}  {statistics.mean(others):6.2f}  {', '.join(cells)}", flush=True)
    print(f"wrong bottlenecks: {wrong}; figures more than 10 % away: {far}")


if __name__ == "__main__":
    main()
