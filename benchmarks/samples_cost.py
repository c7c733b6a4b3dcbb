"""What the checks of samples cost for a loader of 50,000 samples: seconds of wall and of CPU, children included.

python -m benchmarks.samples_cost [--samples 50000] [--microseconds 100]
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset, DistributedSampler

from pytest_dataloader.checks import Setting, check_module
from pytest_dataloader.errors import NotMeasured


class Images(Dataset[Any]):
    """Small images, each of which takes a while."""

    def __init__(self, size: int, microseconds: float) -> None:
        self.size, self.seconds = size, microseconds / 1e6

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> Any:
        until = time.perf_counter() + self.seconds
        while time.perf_counter() < until:
            pass
        return torch.full((3, 32, 32), float(index)), index % 10


def cpu() -> float:
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in spent)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=50_000)
    parser.add_argument("--microseconds", type=float, default=100)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    from torchdata.stateful_dataloader import StatefulDataLoader  # type: ignore[import-untyped]  # no py.typed

    images = Images(given.samples, given.microseconds)
    sampler: Any = DistributedSampler(images, num_replicas=2, rank=0)
    plain: dict[str, Any] = {"batch_size": 64, "num_workers": 2}
    made = {
        "randomness": DataLoader(images, shuffle=True, **plain),
        "order": DataLoader(images, shuffle=True, **plain),
        "shards": DataLoader(images, sampler=sampler, **plain),
        "resume": StatefulDataLoader(images, shuffle=True, **plain),
    }
    print("| check | wall s | CPU s | verdict |\n|---|---|---|---|")
    for check, loader in made.items():
        module = check_module(check)
        wall, spent = time.monotonic(), cpu()
        try:
            verdict = module.judge(module.measure(loader, setting=Setting()))
            said = f"{verdict.outcome}: {verdict.reason}"
        except NotMeasured as error:
            said = f"not measured: {error}"
        print(f"| {check} | {time.monotonic() - wall:.1f} | {cpu() - spent:.1f} | {said} |", flush=True)


if __name__ == "__main__":
    main()
