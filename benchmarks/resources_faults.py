"""Leaks of descriptors and shared memory, and their clean twins: how many of N runs are judged right.

    python benchmarks/resources_faults.py [--runs 20] [--part 0/1] [--small]

``--part 1/2`` runs the second half of the kinds; ``--small`` runs the loaders whose batches do not fit a /dev/shm of
8 MiB, in a mount namespace of its own.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import statistics
import sys
import time
from typing import TYPE_CHECKING, Any

import torch
from resources_loaders import PAIRS, Pair, load
from torch.utils.data import DataLoader, Dataset

from pytest_dataloader import checks
from pytest_dataloader.checks import Setting
from pytest_dataloader.probe.host import descriptors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Large(Dataset[Any]):
    """Samples of 2 MB, from the eighth on only with ``late``."""

    def __init__(self, size: int, *, late: bool) -> None:
        self.size, self.late = size, late

    def __len__(self) -> int:
        return 100

    def __getitem__(self, at: int) -> Any:
        return torch.zeros(4 if self.late and at < 8 else self.size)


SMALL = {
    "batches made ahead cannot fit /dev/shm": Pair(
        "shm", lambda: load(Large(500_000, late=False)), lambda: load(Large(50_000, late=False))
    ),
    "later batches do not fit /dev/shm": Pair(
        "shm", lambda: load(Large(1_500_000, late=True)), lambda: load(Large(50_000, late=True))
    ),
}


@contextlib.contextmanager
def surroundings(pair: Pair) -> Iterator[None]:
    """The sharing strategy and the limit of descriptors that a pair asks for."""
    strategy = torch.multiprocessing.get_sharing_strategy()
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    if pair.by_file:
        torch.multiprocessing.set_sharing_strategy("file_system")
    if pair.room:
        resource.setrlimit(resource.RLIMIT_NOFILE, ((descriptors.count_descriptors() or 0) + pair.room, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        torch.multiprocessing.set_sharing_strategy(strategy)


def judged(pair: Pair, make: Callable[[], DataLoader[Any]]) -> tuple[str, str, bool, float]:
    """Verdict, reason, whether the holder was named, and seconds."""
    started = time.monotonic()
    with surroundings(pair):
        loader = make()
        seen = checks.measure(pair.check, loader, setting=Setting(), limits={})
        for number in getattr(loader.sampler, "numbers", ()):
            os.close(number)
    verdict = checks.judge(pair.check, seen, limits={})
    named = any(pair.holder in each.name for each in seen.kept_by) if pair.holder else True
    return verdict.outcome, verdict.reason, named, time.monotonic() - started


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--small", action="store_true")
    given = parser.parse_args()
    if given.small and os.environ.get("SMALL_SHARED_MEMORY") != "mounted":
        mount = 'mount -t tmpfs -o size=8m tmpfs /dev/shm && SMALL_SHARED_MEMORY=mounted exec "$@"'
        shell = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, "sh"]
        os.execvp(shell[0], [*shell, sys.executable, *sys.argv])
    part, parts = map(int, given.part.split("/"))
    kinds = list((SMALL if given.small else PAIRS).items())[part::parts]
    print("| fault | check | found | holder named | clean twin passed | seconds, median |\n|---|---|---|---|---|---|")
    wrong = []
    for name, pair in kinds:
        faulty = [judged(pair, pair.faulty) for _ in range(given.runs)]
        clean = [judged(pair, pair.clean) for _ in range(given.runs)]
        wrong += [f"{name}: {outcome}: {reason}" for outcome, reason, *_ in faulty if outcome != "failed"]
        wrong += [f"twin of {name}: {outcome}: {reason}" for outcome, reason, *_ in clean if outcome != "passed"]
        found = sum(outcome == "failed" for outcome, *_ in faulty)
        named = f"{sum(named for _, _, named, _ in faulty)} of {len(faulty)}" if pair.holder else "-"
        passed = sum(outcome == "passed" for outcome, *_ in clean)
        seconds = statistics.median(seconds for *_, seconds in faulty + clean)
        row = (name, pair.check, f"{found} of {len(faulty)}", named, f"{passed} of {len(clean)}", f"{seconds:.1f}")
        print(f"| {' | '.join(row)} |", flush=True)
    print(*wrong, sep="\n")


if __name__ == "__main__":
    main()
