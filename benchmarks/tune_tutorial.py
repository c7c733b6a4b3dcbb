"""The table of the PyTorch data-loading tutorial on its synthetic dataset, CPU part: ours beside the published factors.

    python benchmarks/tune_tutorial.py

512 samples that each wait 5 ms, batches of 32; with 4 workers, with persistent ones, and with ``__getitems__`` that
waits once for a batch. First each step timed by the wall clock over whole epochs, as the tutorial does; then what
``--dataloader-tune`` says in its few seconds. "tensor" is the tutorial's sample of 600 kB, "light" one of 4 bytes: 19
MB a batch fill two CPUs.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

from pytest_dataloader.checks import Setting, tune
from pytest_dataloader.probe.loader.settings import LoaderSettings
from pytest_dataloader.probe.tuning.trial import measure_trial

PUBLISHED = {"4 workers": 2.7, "persistent": 3.7, "__getitems__": 10.0}
WAIT_SECONDS = 0.005
SAMPLES, BATCH, WORKERS = 512, 32, 4


class Waiting(Dataset[Any]):
    """Each sample waits, as for a disk."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape

    def __len__(self) -> int:
        return SAMPLES

    def make(self, index: int) -> Any:
        return torch.randn(self.shape), index % 10

    def __getitem__(self, index: int) -> Any:
        time.sleep(WAIT_SECONDS)
        return self.make(index)


class AtOnce(Waiting):
    """A batch waits once."""

    def __getitems__(self, indices: list[int]) -> Any:
        time.sleep(WAIT_SECONDS)
        return [self.make(index) for index in indices]


def time_epochs(loader: DataLoader[Any], epochs: int) -> float:
    """Seconds per epoch by the wall clock, the start of the workers included."""
    began = time.monotonic()
    for _ in range(epochs):
        for _ in loader:
            pass
    return (time.monotonic() - began) / epochs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=5.0)
    asked = parser.parse_args()
    warnings.filterwarnings("ignore", "This DataLoader will create")
    for name, shape in (("light", (1,)), ("tensor", (3, 224, 224))):
        plain, at_once = (DataLoader(kind(shape), batch_size=BATCH) for kind in (Waiting, AtOnce))
        steps: dict[str, tuple[DataLoader[Any], LoaderSettings]] = {
            "no workers": (plain, LoaderSettings()),
            "4 workers": (plain, LoaderSettings(WORKERS)),
            "persistent": (plain, LoaderSettings(WORKERS, persistent_workers=True)),
            "__getitems__": (at_once, LoaderSettings(WORKERS, persistent_workers=True)),
        }
        print(f"{name} sample      s/epoch    factor  published  by a trial")
        seconds, rates = [], []
        for step, (loader, settings) in steps.items():
            workers = settings.num_workers
            timed = DataLoader(
                loader.dataset, batch_size=BATCH, num_workers=workers, persistent_workers=settings.persistent_workers
            )
            seconds.append(time_epochs(timed, asked.epochs))
            del timed
            rates.append(measure_trial(loader, settings, asked.seconds / 4, lambda _spent: None).samples_per_second)
            told = f"{PUBLISHED[step]:8.1f}x" if step in PUBLISHED else "         "
            print(
                f"  {step:14} {seconds[-1]:9.3f} {seconds[0] / seconds[-1]:8.2f}x {told} {rates[-1] / rates[0]:10.2f}x",
                flush=True,
            )
        for loader in (plain, at_once):
            began = time.monotonic()
            seen = tune.measure(loader, setting=Setting(seconds=asked.seconds))
            spent = time.monotonic() - began
            print(f"  tune, {type(loader.dataset).__name__}, {spent:.1f} s: {tune.judge(seen).reason}")
            for row in seen.rows:
                factors = f"{row.vs_baseline:7.2f}x {row.vs_previous:7.2f}x"
                print(f"    {row.change:32} {row.samples_per_second:10.0f} {factors}  {row.source}", flush=True)


if __name__ == "__main__":
    main()
