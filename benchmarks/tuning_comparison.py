"""Two ways of tuning against each other: the seconds they take, and how close to the best what they tell comes.

    python benchmarks/tuning_comparison.py BEFORE AFTER --repeats 3

``BEFORE`` and ``AFTER`` are folders that hold a ``pytest_dataloader`` each, such as ``git archive`` gives. Over twelve
loaders, each in rounds: both tuners in turn, the one that comes first changing from round to round, then a trial of a
second for every number of workers and for whatever settings were told so far. A setting's rate is the median of these
trials, "share" that of the settings told over the best of all. Seconds are those of the search, batch sizes left out.

Written before the first run, of tuners that predict by simulation what they then measure (BEFORE), and that measure
0, 1, 2, 4, ... workers until two further rungs bring nothing (AFTER):

* Hypothesis: a ladder comes as close to the best, in no more than half as many seconds again.
* AFTER is clearly worse, and BEFORE stays, where any of these holds:
  - the median over the loaders of the difference of their shares (each the median of its rounds) is below -5 points;
  - of all settings told, those below 90 % of the best are more than BEFORE's by over a tenth of all;
  - the median over the loaders of the ratio of their seconds is above 1.5.
* Else the simpler one stays.

It was the ladder: docs/tuning.md has the table.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from timed_loaders import Computing, Copying, Decoding, Dicts, Mixed, Sleeping, Tiny, Uneven, make
from torch.utils.data import DataLoader

from pytest_dataloader.probe.loader import settings as of_loaders
from pytest_dataloader.probe.tuning.trial import measure_trial

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_dataloader.probe.loader.settings import LoaderSettings as Settings
else:
    Settings = getattr(of_loaders, "LoaderSettings", None) or of_loaders.Settings  # its name before

NUMBERS = (0, 1, 2, 3, 4, 6, 8)
REFERENCE_SECONDS = 1.0
CLOSE = 0.9


class Large(Sleeping):
    """Makes eight megabytes, and waits."""

    batch_size = 4

    def __getitem__(self, index: int) -> Any:
        time.sleep(0.004)
        return torch.full((2 * 1024 * 1024,), float(index % 7))


class FewSamples(Sleeping):
    """Epochs of sixteen batches."""

    batch_size = 32

    def __len__(self) -> int:
        return 512

    def __getitem__(self, index: int) -> Any:
        time.sleep(0.005)
        return torch.tensor(index)


class SlowIndices:
    """A batch sampler that waits 4 ms for each batch."""

    def __iter__(self) -> Iterator[list[int]]:
        for first in range(0, 1_000_000, 16):
            time.sleep(0.004)
            yield list(range(first, first + 16))


def start_slowly(_worker: int) -> None:
    time.sleep(0.5)


LOADERS: dict[str, Callable[[], DataLoader[Any]]] = {
    "waits 1 ms": lambda: make(Sleeping),
    "computes in Python": lambda: make(Computing),
    "copies megabytes": lambda: make(Copying),
    "decodes JPEGs": lambda: make(Decoding),
    "tiny samples": lambda: make(Tiny),
    "dicts of ten tensors": lambda: make(Dicts),
    "waits unevenly": lambda: make(Uneven),
    "waits and computes": lambda: make(Mixed),
    "waits for 8 MB": lambda: make(Large),
    "epochs of 16 batches": lambda: make(FewSamples),
    "workers start slowly": lambda: DataLoader(Sleeping(2.0), 8, worker_init_fn=start_slowly),
    "a sampler that waits": lambda: DataLoader(Computing(0.3), batch_sampler=SlowIndices()),  # type: ignore[arg-type]
}


class Tuner:
    """A process that tunes with one of the two packages."""

    def __init__(self, folder: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--serve"], env=os.environ | {"PYTHONPATH": str(Path(folder).resolve())},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def tune(self, name: str, seconds: float) -> tuple[Settings, float]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps([name, seconds]), file=self.process.stdin, flush=True)
        found = json.loads(self.process.stdout.readline())
        return Settings(**found["settings"]), found["seconds"]

    def end(self) -> None:
        self.process.communicate()


def serve() -> None:
    """Tune what is asked for on standard input, a line each."""
    from pytest_dataloader.probe.tuning import evidence
    from pytest_dataloader.probe.tuning.search import Search

    tell: Any = getattr(evidence, "tuning_of", None) or evidence.tuning  # its name before

    torch.set_num_threads(1)
    for line in sys.stdin:
        name, seconds = json.loads(line)
        search = Search(LOADERS[name](), seconds=seconds)
        search.run()
        # Where workers gave no rate none are told: the loader stays as it is.
        settings = tell(search).settings or Settings()
        print(json.dumps({"settings": asdict(settings), "seconds": search.spent_seconds}), flush=True)


def warm(settings: Settings, loader: DataLoader[Any]) -> Settings:
    """The settings as they are measured: whether workers persist matters to short epochs only."""
    try:
        long = len(loader) > 1_000
    except TypeError:
        long = True
    return replace(settings, persistent_workers=settings.num_workers > 0) if long else settings


def short(settings: Settings) -> str:
    return settings.text.replace("num_workers=", "").replace(", persistent_workers=True", "")


def compare(name: str, tuners: list[Tuner], repeats: int, seconds: float) -> tuple[list[list[Settings]], Any, Any]:
    """What each tuner told in each round, the seconds that took, and the reference's rates."""
    loader = LOADERS[name]()
    told: list[list[Settings]] = [[], []]
    spent: list[list[float]] = [[], []]
    rates: dict[Settings, list[float]] = {Settings(each, persistent_workers=each > 0): [] for each in NUMBERS}
    for turn in range(repeats):
        for which in (0, 1) if turn % 2 == 0 else (1, 0):
            settings, took = tuners[which].tune(name, seconds)
            told[which].append(warm(settings, loader))
            spent[which].append(took)
            rates.setdefault(told[which][-1], [])
        for settings, found in rates.items():
            trial = measure_trial(loader, settings, REFERENCE_SECONDS, lambda _spent: None)
            found.append(trial.samples_per_second)
    return told, spent, {settings: statistics.median(found) for settings, found in rates.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", nargs="?")
    parser.add_argument("after", nargs="?")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--loaders", nargs="*", default=list(LOADERS))
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.serve:
        serve()
        return
    torch.set_num_threads(1)
    tuners = [Tuner(asked.before), Tuner(asked.after)]
    differences, ratios = [], []
    shares: list[list[float]] = [[], []]
    print("loader                best; rates by workers, % of the best; in each round: told, its share, seconds")
    for name in asked.loaders:
        told, spent, rates = compare(name, tuners, asked.repeats, asked.seconds)
        best = max(rates.values())
        of_each = [[rates[settings] / best for settings in each] for each in told]
        differences.append(statistics.median(of_each[1]) - statistics.median(of_each[0]))
        ratios.append(statistics.median(spent[1]) / statistics.median(spent[0]))
        at_best = short(max(rates, key=lambda settings: rates[settings]))
        by_number = " ".join(f"{100 * rate / best:3.0f}" for rate in list(rates.values())[: len(NUMBERS)])
        print(f"{name:20}  {at_best}, {best:,.0f}/s; {by_number}")
        for which, side in enumerate(("before", "after")):
            shares[which] += of_each[which]
            texts = "; ".join(
                f"{short(settings)} {share:.0%} {took:.1f} s"
                for settings, share, took in zip(told[which], of_each[which], spent[which], strict=True)
            )
            print(f"{'':20}  {side:6} {texts}", flush=True)
    for tuner in tuners:
        tuner.end()
    far = [sum(share < CLOSE for share in each) for each in shares]
    print(
        f"difference of shares: median {100 * statistics.median(differences):+.0f} points "
        f"({100 * min(differences):+.0f} to {100 * max(differences):+.0f}); below {CLOSE:.0%}: {far[0]} before, "
        f"{far[1]} after, of {len(shares[0])}; least {min(shares[0]):.0%} and {min(shares[1]):.0%}; "
        f"seconds: median ratio {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
    )
    more = (far[1] - far[0]) / len(shares[0])
    worse = statistics.median(differences) < -0.05 or more > 0.1 or statistics.median(ratios) > 1.5
    print(f"after is {'clearly' if worse else 'not clearly'} worse")


if __name__ == "__main__":
    main()
