"""Starting a worker of a loader by each start method: does a batch come, after how long, and why not."""

from __future__ import annotations

import multiprocessing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.workers.lifecycle import observe_lifecycle
from pytest_dataloader.probe.workers.pickling import find_culprit, find_generator

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_dataloader.probe.workers.fault import Kind, Phase


@dataclass(frozen=True, slots=True)
class Start:
    """One worker started by ``method`` and its first batch.

    ``attribute`` is the path of what keeps it from starting, ``what`` what that is; ``error`` what was raised.
    """

    method: str
    available: bool = True
    fault: Kind = "none"
    certain: bool = True
    phase: Phase = ""
    attribute: str = ""
    what: str = ""
    error: str = ""
    exit_code: int | None = None
    sample: Any = None
    seconds_to_first_batch: float | None = None

    @property
    def works(self) -> bool:
        """Whether a batch came."""
        return self.available and self.fault == "none"


def try_methods(loader: Any, methods: Iterable[str]) -> tuple[Start, ...]:
    """Start a worker by each method."""
    there = multiprocessing.get_all_start_methods()
    return tuple(_try(loader, method) if method in there else Start(method, available=False) for method in methods)


def _try(loader: Any, method: str) -> Start:
    seen = observe_lifecycle(loader, method=method, seconds=0.0, epochs=1, one_worker=True)
    found = seen.fault
    first = seen.epochs[0].first_batch_seconds if seen.epochs else None
    attribute = what = ""
    error = found.exception
    if found.phase == "starting" and method != "fork":
        culprit = find_culprit(loader)
        if culprit is not None:
            attribute, what, error = culprit.path, culprit.what, culprit.error
        elif found.kind == "exit" and (attribute := find_generator(loader)):
            what = "a torch.Generator"
    return Start(
        method=method,
        fault=found.kind,
        certain=found.certain,
        phase=found.phase,
        attribute=attribute,
        what=what,
        error=error or found.why,
        exit_code=found.exit_code,
        sample=found.sample,
        seconds_to_first_batch=first,
    )
