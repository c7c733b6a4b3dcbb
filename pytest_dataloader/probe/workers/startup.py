"""Starting a worker of a loader by each start method: does a batch come, after how long, and why not."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
from dataclasses import dataclass
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.workers.fault import signal_name
from pytest_dataloader.probe.workers.handover import drain_pipe_of_dead_child
from pytest_dataloader.probe.workers.lifecycle import observe_lifecycle
from pytest_dataloader.probe.workers.pickling import PARTS, Culprit, find_culprit, find_generator

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_dataloader.probe.workers.fault import Phase, WorkerFault, WorkerFaultKind

_IMPORT_SECONDS = 180.0
"""For one process to import what a dataset needs: torch alone took 12 to 25 s on a busy machine, and more than a minute
beside 20 other processes on two CPUs."""


@dataclass(frozen=True, slots=True)
class Obstacle:
    """What keeps a worker from starting: ``attribute``, which is ``what`` and does not pickle, and the error of it; or
    the error alone, with which the worker ended.
    """

    attribute: str = ""
    what: str = ""
    error: str = ""

    @property
    def sentence(self) -> str:
        """The obstacle in words; empty where none was found."""
        return f"{self.attribute} is {self.what}, which does not arrive in it" if self.attribute else self.error


@dataclass(frozen=True, slots=True)
class WorkerStart:
    """One worker started by ``method`` and its first batch.

    ``attribute`` is the path of what keeps it from starting, ``what`` what that is; ``error`` what was raised.
    """

    method: str
    available: bool = True
    fault: WorkerFaultKind = "none"
    certain: bool = True
    phase: Phase = ""
    attribute: str = ""
    what: str = ""
    error: str = ""
    exit_code: int | None = None
    sample: Any = None
    seconds_to_first_batch: float | None = None

    @property
    def signal(self) -> str:
        """The name of the signal that ended the worker; empty where none did, or it is not known."""
        return signal_name(self.exit_code)

    @property
    def works(self) -> bool:
        """Whether a batch came."""
        return self.available and self.fault == "none" and not self.empty

    @property
    def empty(self) -> bool:
        """Whether it started and there was no batch to give."""
        return self.available and self.fault == "none" and self.seconds_to_first_batch is None


def try_methods(loader: Any, methods: Iterable[str]) -> tuple[WorkerStart, ...]:
    """Start a worker by each method, until one had no batch to give: then no other has."""
    there = multiprocessing.get_all_start_methods()
    starts: list[WorkerStart] = []
    for method in methods:
        starts.append(_try(loader, method) if method in there else WorkerStart(method, available=False))
        if starts[-1].empty:
            break
    return tuple(starts)


def unpicklable(method: str, culprit: Culprit) -> WorkerStart:
    """The start by a method that imports everything anew, known without trying from what does not pickle."""
    return WorkerStart(
        method, fault="exception", phase="starting", attribute=culprit.path, what=culprit.what, error=culprit.error
    )


def start_obstacle(loader: Any, found: WorkerFault, method: str) -> Obstacle:
    """What keeps a worker from starting by a method that imports everything anew; nothing for other faults."""
    if found.phase != "starting" or method == "fork":
        return Obstacle()
    culprit = find_culprit(loader)
    if culprit is not None:
        return Obstacle(culprit.path, culprit.what, culprit.error)
    if found.kind == "exit" and (attribute := find_generator(loader)):
        return Obstacle(attribute, "a torch.Generator")
    return Obstacle(error=_last_words(loader) if found.kind == "exit" else "")


def _last_words(loader: Any) -> str:
    """What a process says last that is handed the same as a worker, and imports it; empty where it says nothing.

    Spawned under either method: what a fork server's children write is not ours to read. Meanwhile standard error of
    this process goes the same way.
    """
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=_arrive, args=tuple(getattr(loader, part, None) for part in PARTS), daemon=True)
    resource_tracker.ensure_running()  # or it would start with our file as its own standard error
    own = os.dup(2)
    with tempfile.TemporaryFile() as said:
        try:
            os.dup2(said.fileno(), 2)
            with drain_pipe_of_dead_child():
                process.start()
            process.join(_IMPORT_SECONDS)
        finally:
            os.dup2(own, 2)
            os.close(own)
            process.kill()
            process.join()
        said.seek(0)
        lines = said.read().decode(errors="replace").strip().splitlines()
    return lines[-1].strip() if lines and process.exitcode else ""


def _arrive(*_parts: Any) -> None:
    """What was handed over is here."""


def _try(loader: Any, method: str) -> WorkerStart:
    """One start, and another where a signal ended the worker: a fault of the loader's ends both."""
    first = _start(loader, method)
    return _start(loader, method) if first.fault == "killed" else first


def _start(loader: Any, method: str) -> WorkerStart:
    seen = observe_lifecycle(loader, method=method, seconds=0.0, epochs=1, one_worker=True)
    found = seen.fault
    first = seen.epochs[0].first_batch_seconds if seen.epochs else None
    met = start_obstacle(loader, found, method)
    return WorkerStart(
        method=method,
        fault=found.kind,
        certain=found.certain,
        phase=found.phase,
        attribute=met.attribute,
        what=met.what,
        error=met.error or found.exception or found.why,
        exit_code=found.exit_code,
        sample=found.sample,
        seconds_to_first_batch=first,
    )
