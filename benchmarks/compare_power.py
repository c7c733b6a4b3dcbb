"""False alarms and power of comparing two loaders: equal ones, and one that costs 20 % more.

    python benchmarks/compare_power.py --repeats 20 --loops 2

The last column is a sample's true extra cost as the comparison saw it: for some kinds 20 % more of the knob is less,
because collating costs the same.
"""

from __future__ import annotations

import argparse
import collections
import statistics
import time

import torch
from timed_loaders import KINDS, busy_loops, make

from pytest_dataloader.checks import Setting, compare


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--loops", type=int, default=0)
    parser.add_argument("--tolerance", type=float, default=0.05)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    setting = Setting(seconds=asked.seconds, bench=True)
    print("loader     cost  passed/inconclusive/failed  s/run  ratio: least, median, most")
    with busy_loops(asked.loops):
        for kind in KINDS:
            for cost in (1.0, 1.2):
                tally: collections.Counter[str] = collections.Counter()
                ratios, seconds = [], []
                for _ in range(asked.repeats):
                    began = time.monotonic()
                    seen = compare.measure(
                        make(kind, cost=cost), make(kind), setting=setting, tolerance=asked.tolerance
                    )
                    seconds.append(time.monotonic() - began)
                    tally[compare.judge(seen, tolerance=asked.tolerance).outcome] += 1
                    ratios.append(seen.ratio)
                verdicts = "/".join(str(tally[each]) for each in ("passed", "inconclusive", "failed"))
                spread = f"{min(ratios):.3f} {statistics.median(ratios):.3f} {max(ratios):.3f}"
                print(
                    f"{kind.__name__:10} {cost:4} {verdicts:>27} {statistics.mean(seconds):6.1f}  {spread}", flush=True
                )


if __name__ == "__main__":
    main()
