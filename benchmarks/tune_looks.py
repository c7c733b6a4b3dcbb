"""How much short trials of one loader differ: the spread that tuning's several looks are for.

    python benchmarks/tune_looks.py --kinds Computing Decoding --seconds 0.65 --repeats 12

Trials of 0, 1, 2 and 4 workers in turn. For each number: the least, the median and the most samples per second of
single trials, and the least and the median of the best of three in a row.
"""

from __future__ import annotations

import argparse
import statistics

import torch
from timed_loaders import KINDS, make

from pytest_dataloader.probe.loader.settings import LoaderSettings
from pytest_dataloader.probe.tuning.trial import measure_trial

NUMBERS = (0, 1, 2, 4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=0.65)
    parser.add_argument("--repeats", type=int, default=12)
    parser.add_argument("--kinds", nargs="*", default=["Computing", "Decoding"])
    asked = parser.parse_args()
    torch.set_num_threads(1)
    print("loader     workers   least  median    most  best of 3: least  median")
    for kind in KINDS:
        if kind.__name__ not in asked.kinds:
            continue
        loader = make(kind)
        seen: dict[int, list[float]] = {number: [] for number in NUMBERS}
        for _ in range(asked.repeats):
            for number in NUMBERS:
                settings = LoaderSettings(number, persistent_workers=number > 0)
                trial = measure_trial(loader, settings, asked.seconds, lambda _spent: None)
                seen[number].append(trial.samples_per_second)
        for number, rates in seen.items():
            best = [max(rates[at : at + 3]) for at in range(len(rates) - 2)]
            print(
                f"{kind.__name__:10} {number:7} {min(rates):7,.0f} {statistics.median(rates):7,.0f} {max(rates):7,.0f} "
                f"{min(best):17,.0f} {statistics.median(best):7,.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
