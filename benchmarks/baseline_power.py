"""False alarms and power of baselines: fresh processes cost six kinds of loader, quiet and beside busy loops.

    python benchmarks/baseline_power.py --processes 8 --seconds 1

Each process costs each loader as it is and 20 and 50 % dearer. Then every cost is held to every baseline of another
process: to the same loader's (A/A, of which none may fail) and, where dearer, to the plain one's. For some kinds 20 %
more of the knob is more or less: "true" is the median of the ratios as seen.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import itertools
import json
import math
import statistics
import subprocess
import sys

import torch
from timed_loaders import KINDS, busy_loops, make

from pytest_dataloader import baselines
from pytest_dataloader.checks import Setting, baseline
from pytest_dataloader.probe.host.calibration import KERNELS
from pytest_dataloader.probe.host.interference import Quietness
from pytest_dataloader.probe.timing.cost import Cost

COSTS = (1.0, 1.2, 1.5)
MACHINES = ("quiet", "busy")
Key = tuple[str, float]
Run = dict[Key, Cost]


def cost_here(seconds: float) -> list[tuple[str, float, dict[str, object]]]:
    """Every loader's cost in this process."""
    torch.set_num_threads(1)
    setting = Setting(seconds=seconds, bench=True)
    return [
        (kind.__name__, cost, dataclasses.asdict(baseline.measure(make(kind, cost=cost), setting=setting).cost))
        for kind in KINDS
        for cost in COSTS
    ]


def cost_in_fresh_process(seconds: float) -> Run:
    command = [sys.executable, __file__, "--costing", "--seconds", str(seconds)]
    output = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return {
        (name, factor): Cost(**{**fields, "quietness": Quietness(**fields["quietness"])})
        for name, factor, fields in json.loads(output)
    }


def hold(now: Cost, before: Cost, tolerance: float) -> tuple[str, float, float]:
    """The verdict over a cost, its ratio and the least of its ratios, with another one as its baseline."""
    known = baselines.BaselineEntry(
        baselines.here(), 0, before.cpu_ms_per_sample, before.wait_ms_per_sample, before.kernel_ms
    )
    seen = baseline.compare_with_baseline(baseline.Baseline(now, known=known))
    return baseline.judge(seen, tolerance=tolerance).outcome, seen.ratio, seen.ratio_low


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--loops", type=int, default=2)
    parser.add_argument("--tolerance", type=float, default=baseline.TOLERANCE)
    parser.add_argument("--costing", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.costing:
        print(json.dumps(cost_here(asked.seconds)))
        return
    runs: dict[str, list[Run]] = {machine: [] for machine in MACHINES}
    for _ in range(asked.processes):
        for machine in MACHINES:  # in turn, so that both see the same neighbours
            with busy_loops(asked.loops if machine == "busy" else 0):
                runs[machine].append(cost_in_fresh_process(asked.seconds))
    report(runs, asked.tolerance)


def report(runs: dict[str, list[Run]], tolerance: float) -> None:
    """Hold every cost to every baseline of another process."""
    print(
        "loader     recorded  held   cost  passed/inconclusive/failed  ratio: least, median, most; most by all kernels"
    )
    wrong = 0
    for kind, (then, now), factor in itertools.product(KINDS, itertools.product(MACHINES, repeat=2), COSTS):
        verdicts = [
            hold(later[kind.__name__, factor], earlier[kind.__name__, 1.0], tolerance)
            for earlier, later in itertools.product(runs[then], runs[now])
            if earlier is not later
        ]
        tally = collections.Counter(outcome for outcome, *_ in verdicts)
        ratios = [ratio for _, ratio, _ in verdicts]
        wrong += tally["failed"] if factor == 1.0 else 0
        shown = "/".join(str(tally[each]) for each in ("passed", "inconclusive", "failed"))
        most = max(low for *_, low in verdicts)
        spread = f"{min(ratios):.2f} {statistics.median(ratios):.2f} {max(ratios):.2f}; {most:.2f}"
        print(f"{kind.__name__:10} {then:8}  {now:6} {factor:4} {shown:>27}  {spread}")
    print(f"false failures: {wrong}")
    spread_by_kernel([run for of in runs.values() for run in of])


def spread_by_kernel(runs: list[Run]) -> None:
    """What each kernel is worth: how much the cost of one loader varies between all processes, divided by it."""
    print(f"spread (sd of the log)  {'plain':>8}", *(f"{name:>8}" for name in KERNELS))
    for kind in KINDS:
        costs = [run[kind.__name__, 1.0] for run in runs]
        divisors = [[1.0] * len(costs), *([cost.kernel_ms[name] for cost in costs] for name in KERNELS)]
        found = [
            statistics.stdev(math.log(cost.cpu_ms_per_sample / by) for cost, by in zip(costs, divisor, strict=True))
            for divisor in divisors
        ]
        print(f"{kind.__name__:22}", *(f"{each:8.3f}" for each in found))


if __name__ == "__main__":
    main()
