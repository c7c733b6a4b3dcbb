"""Which checks can be relied on under the torch that is there."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from pytest_dataloader.probe.internals import requirements, trials
from pytest_dataloader.probe.memory import self_test
from pytest_dataloader.verdict import UNSUPPORTED

if TYPE_CHECKING:
    from pytest_dataloader.probe.internals.requirements import Part

RESTS_ON: dict[str, tuple[Part, ...]] = {
    "workers": ("torch_private", "torch_worker_loop"),
    "fds": ("torch_private", "torch_worker_loop"),
    "shm": ("torch_private", "torch_worker_loop"),
    "throughput": ("torch_private", "torch_stamps"),
    "stages": ("torch_private", "torch_stamps"),
    "memory": ("torch_private", "torch_worker_loop"),
    "randomness": ("torch_private", "torch_pretence"),
    "order": ("torch_private", "torch_pretence"),
    "shards": ("torch_private", "torch_pretence"),
    "resume": ("torch_private", "torch_pretence"),
    "portability": ("torch_private",),
    "transfer": ("torch_private", "torch_stamps"),
    "compare": ("torch_private", "torch_stamps"),
    "baseline": ("torch_private", "torch_stamps"),
    "tune": ("torch_private", "torch_stamps"),
}
"""The modules with private names that each check imports, by whatever way."""


def incompatibility(check: str) -> str:
    """Why a check cannot be relied on here; empty where it can.

    Every private name that it rests on is looked up. A torch that no release of ours was tried with is tried out too:
    that takes a second, once a process.
    """
    if "torch.utils.data" not in sys.modules:
        return ""
    for part in RESTS_ON[check]:
        if found := requirements.mismatches(part):
            more = f", and {len(found) - 1} more" if len(found) > 1 else ""
            return _reason(f"{found[0]}{more}")
    if requirements.was_tried(requirements.torch_version()):
        return ""
    failures = [trials.trial_failure(part) for part in RESTS_ON[check]]
    failures += [self_test.self_test_failure()] if check == "memory" else []
    return next((_reason(failure) for failure in failures if failure), "")


def _reason(what: str) -> str:
    oldest, newest = (".".join(map(str, each)) for each in (requirements.OLDEST, requirements.NEWEST))
    return (
        f"{UNSUPPORTED}{requirements.torch_version()}: {what}; this release of pytest-dataloader knows torch {oldest} "
        f"to {newest}"
    )
