"""Tuning against a sweep: predictions against measurements, and the recommended setting against the best measured.

    python benchmarks/tune_prediction.py --repeats 3

For each of eight loaders: what ``--dataloader-tune`` finds in its budget, then a sweep that measures 0, 1, 2, 4 and 8
workers with the same budget each. A setting's measured rate is the median of its repeats, each repeat a sweep and a
tuning of its own. "error" is predicted over measured less one, of predictions whose number of workers was not tried.
"""

from __future__ import annotations

import argparse
import statistics
import time

import torch
from timed_loaders import KINDS, Mixed, Uneven, make

from pytest_dataloader.checks import Setting, tune
from pytest_dataloader.probe.loader.settings import Settings
from pytest_dataloader.probe.tuning.trial import measure_trial

SWEPT = (0, 1, 2, 4, 8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--kinds", nargs="*")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    errors, shares, times = [], [], []
    print("loader     workers  measured  predicted  error")
    for kind in (*KINDS, Uneven, Mixed):
        if asked.kinds and kind.__name__ not in asked.kinds:
            continue
        loader = make(kind)
        measured: dict[int, list[float]] = {number: [] for number in SWEPT}
        predicted: dict[int, list[float]] = {number: [] for number in SWEPT}
        told, swept, spent = [], [], []
        for _ in range(asked.repeats):
            began = time.monotonic()
            seen = tune.measure(loader, setting=Setting(seconds=asked.seconds))
            spent.append(time.monotonic() - began)
            assert seen.settings is not None
            told.append(seen.settings)
            for each in seen.predictions:
                if each.num_workers in SWEPT:
                    predicted[each.num_workers].append(each.samples_per_second)
            began = time.monotonic()
            for number in SWEPT:
                settings = Settings(number, persistent_workers=number > 0)
                trial = measure_trial(loader, settings, asked.seconds, lambda _spent: None)
                measured[number].append(trial.samples_per_second)
            swept.append(time.monotonic() - began)
        rates = {number: statistics.median(found) for number, found in measured.items()}
        for number in SWEPT:
            guess = statistics.median(predicted[number])
            error = guess / rates[number] - 1
            errors += [error] if number > 1 else []  # 0 and 1 are measured by the profile
            print(f"{kind.__name__:10} {number:7} {rates[number]:9,.0f} {guess:10,.0f} {error:+7.0%}", flush=True)
        for settings in told:
            # The recommended number may not be one of the sweep's.
            number = settings.num_workers
            rate = (
                rates.get(number) or measure_trial(loader, settings, asked.seconds, lambda _: None).samples_per_second
            )
            shares.append(rate / max(rates.values()))
        times.append(statistics.median(spent) / statistics.median(swept))
        names = ", ".join(str(settings.num_workers) for settings in told)
        best = max(rates, key=lambda number: rates[number])
        print(
            f"{'':10} best {best}, told {names}: {statistics.median(shares[-asked.repeats :]):.0%} of the best, "
            f"{statistics.median(spent):.1f} s against {statistics.median(swept):.1f} s",
            flush=True,
        )
    absolute = sorted(map(abs, errors))
    high = absolute[int(0.9 * len(absolute))]
    print(
        f"error for 2 to 8 workers: median {statistics.median(absolute):.0%}, p90 {high:.0%}; "
        f"told setting: median {statistics.median(shares):.0%} of the best, least {min(shares):.0%}, within 10 %: "
        f"{sum(share >= 0.9 for share in shares)} of {len(shares)}; time: {statistics.median(times):.0%} of the sweep's"
    )


if __name__ == "__main__":
    main()
