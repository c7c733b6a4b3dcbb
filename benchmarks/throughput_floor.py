"""False alarms and power of the throughput floor: six kinds of loader, 0 and 2 workers, alone and beside busy loops.

    python benchmarks/throughput_floor.py --seconds 3 --repeats 10

What a loader can do is taken from runs without a floor while the machine is quiet; so start it on an idle machine,
and read the column "others" first. Then each loader is held to a floor that it exceeds by 10 % and to one that it
misses by 20 %, quiet and beside two busy loops. No failure is allowed in the first column, no pass in the second.
"""

from __future__ import annotations

import argparse
import collections
import statistics
import time
from typing import TYPE_CHECKING, Any

import torch
from timed_loaders import KINDS, busy_loops, make

from pytest_dataloader.checks import Setting, throughput

if TYPE_CHECKING:
    from torch.utils.data import DataLoader


FLOORS = {"10 % above its floor": 1 / 1.1, "20 % below its floor": 1 / 0.8}


def ability(loader: DataLoader[Any], setting: Setting) -> tuple[float, str]:
    """What a loader can do: the median of the three best of six quiet runs, as a busy host halves the CPU's speed.

    Where ten runs gave no six quiet ones, the best of all stands in, and the row is marked with "~".
    """
    quiet, best = [], 0.0
    for _ in range(10):
        seen = throughput.measure(loader, setting=setting)
        best = max(best, seen.samples_per_second)
        if not seen.quietness.disturbances and seen.quietness.others_share < 0.1:
            quiet.append(seen.samples_per_second)
        if len(quiet) == 6:
            return statistics.median(sorted(quiet)[-3:]), ""
    return best, " ~"


def hold(loader: DataLoader[Any], truth: float, setting: Setting, repeats: int) -> tuple[list[str], int]:
    """Hold a loader to both floors; the cells of its row, and how many verdicts were wrong."""
    tallies, wrong = [], 0
    ratios, others, cost = [], [], []
    for factor in FLOORS.values():
        tally: collections.Counter[str] = collections.Counter()
        for _ in range(repeats):
            began = time.monotonic()
            seen = throughput.measure(loader, setting=setting, min_samples_per_second=truth * factor)
            cost.append(time.monotonic() - began)
            tally[throughput.judge(seen, min_samples_per_second=truth * factor).outcome] += 1
            ratios.append(seen.samples_per_second / truth)
            others.append(seen.quietness.others_share)
        wrong += tally["failed" if factor < 1 else "passed"]
        tallies.append("/".join(str(tally[each]) for each in ("passed", "inconclusive", "failed")))
    spread = f"{min(ratios):.2f} {statistics.median(ratios):.2f} {max(ratios):.2f}"
    cells = [f"{spread:>16}", f"{statistics.mean(others):6.2f}", *(f"{each:>21}" for each in tallies)]
    return [*cells, f"{statistics.mean(cost):5.1f}"], wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--loops", type=int, default=2)
    parser.add_argument("--workers", type=int, nargs="*", default=[0, 2])
    parser.add_argument("--kinds", nargs="*", default=[kind.__name__ for kind in KINDS])
    asked = parser.parse_args()
    # Torch's threads, which spin for each other beside busy loops, made copying 100 times slower: no truth to hold to.
    torch.set_num_threads(1)
    setting = Setting(seconds=asked.seconds, bench=True)
    print(f"{'loader':10}  {'workers':>7}  {'machine':7}  {'figure / truth':>16}  others", *FLOORS, "s/run", sep="  ")
    wrong = 0
    for workers in asked.workers:
        for kind in (kind for kind in KINDS if kind.__name__ in asked.kinds):
            loader = make(kind, workers)
            truth, known = ability(loader, setting)
            for machine, loops in (("quiet", 0), ("busy", asked.loops)):
                with busy_loops(loops):
                    cells, here = hold(loader, truth, setting, asked.repeats)
                wrong += here
                print(f"{kind.__name__:10}  {workers:7}  {machine + known:7}", *cells, sep="  ", flush=True)
    print(f"passed/inconclusive/failed; wrong verdicts: {wrong}")


if __name__ == "__main__":
    main()
