"""Portability: does the loader start under fork, forkserver and spawn, and what does it cost?"""

from __future__ import annotations

import multiprocessing
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.workers.pickling import find_culprit, weigh
from pytest_dataloader.probe.workers.startup import Start, try_methods
from pytest_dataloader.verdict import Advice, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_dataloader.checks import Setting
    from pytest_dataloader.limits import StartMethods

NEEDS_BENCH = False


@dataclass(frozen=True, slots=True)
class Portability:
    """A worker started by each method. ``attribute`` is the path of the first thing that keeps one from starting.

    ``pickled_bytes`` is what each worker is handed, apart from tensors, which travel by shared memory
    (``tensor_bytes``); None where it does not pickle. ``pinned`` is the method that the loader itself asks for.
    """

    starts: tuple[Start, ...]
    attribute: str
    what: str
    error: str
    pickled_bytes: int | None
    tensor_bytes: int | None
    workers: int
    pinned: str
    seconds: float

    @property
    def working(self) -> tuple[str, ...]:
        """The start methods under which a batch came."""
        return tuple(start.method for start in self.starts if start.works)


def measure(loader: Any, *, setting: Setting, start_methods: StartMethods | None = None) -> Portability:
    """Start one worker by each method: those of the limit, or the one that the loader asks for, or all there are.

    A loader without workers starts none unless the limit asks for it; what would not pickle is told.
    """
    begun, context = time.monotonic(), getattr(loader, "multiprocessing_context", None)
    pinned = "" if context is None else str(context.get_start_method())
    methods = start_methods or ((pinned,) if pinned else tuple(sorted(multiprocessing.get_all_start_methods())))
    setting.progress(f"starting workers by {', '.join(methods)}", 0.2)
    starts = try_methods(loader, methods) if loader.num_workers or start_methods else ()
    culprit, luggage = None if starts else find_culprit(loader), weigh(loader)
    named = next((start for start in starts if start.attribute), None)
    return Portability(
        starts=starts,
        attribute=named.attribute if named else culprit.path if culprit else "",
        what=named.what if named else culprit.what if culprit else "",
        error=named.error if named else culprit.error if culprit else "",
        pickled_bytes=luggage.pickled_bytes if luggage else None,
        tensor_bytes=luggage.tensor_bytes if luggage else None,
        workers=loader.num_workers,
        pinned=pinned,
        seconds=round(time.monotonic() - begun, 3),
    )


def judge(evidence: Portability, *, start_methods: StartMethods | None = None) -> Verdict:
    """Fail for each method under which no batch came."""
    wanted = [start for start in evidence.starts if start_methods is None or start.method in start_methods]
    failed = [start for start in wanted if start.available and not start.works]
    certain = [start for start in failed if start.certain]
    if failed:
        reason = "; ".join(filter(None, [*map(_failure, failed), _working(evidence)]))
        return Verdict("failed" if certain else "inconclusive", reason, tuple(_advice(evidence, failed)))
    if missing := [start.method for start in wanted if not start.available]:
        return Verdict("inconclusive", f"this system has no start method {', '.join(missing)}; {_working(evidence)}")
    if evidence.starts:
        return Verdict("passed", f"{_working(evidence)}{_luggage(evidence)}")
    would = f"; with workers, {evidence.attribute} ({evidence.what}) would not pickle" if evidence.attribute else ""
    return Verdict("passed", f"the loader has no workers to start{would}")


def _failure(start: Start) -> str:
    head = f"no batch under {start.method}"
    if start.attribute and start.what == "a torch.Generator":
        return f"{head}: {start.attribute} is a torch.Generator, which does not arrive in the worker"
    if start.attribute:
        return f"{head}: {start.attribute} is {start.what}, which does not pickle ({start.error})"
    if start.fault == "exit":
        return f"{head}: the worker exited with code {start.exit_code}{_phase(start)}"
    if start.fault == "killed":
        return f"{head}: the worker was killed{_phase(start)}"
    if start.fault == "hang":
        return f"{head}: the worker hangs{_phase(start)}: {start.error}"
    return f"{head}: {start.error}{_phase(start)}"


def _phase(start: Start) -> str:
    if start.phase == "starting":
        return " while it started"
    return f" while it read sample {start.sample!r}" if start.sample is not None else ""


def _working(evidence: Portability) -> str:
    works = [start for start in evidence.starts if start.works]
    each = [f"{start.method} ({start.seconds_to_first_batch or 0.0:.2g} s to the first batch)" for start in works]
    return f"it starts under {', '.join(each)}" if each else ""


def _luggage(evidence: Portability) -> str:
    return "" if evidence.pickled_bytes is None else f"; {evidence.pickled_bytes:,} bytes pickled for each worker"


def _advice(evidence: Portability, failed: list[Start]) -> Iterator[Advice]:
    if evidence.attribute:
        yield Advice("DL306", f"make {evidence.attribute} something that pickles: a function or class of a module, or "
                              "what is opened or made in the worker; forkserver is the default on Linux from Python "
                              "3.14, spawn on macOS and Windows")  # fmt: skip
    if evidence.what == "an open file":
        yield Advice("DL303", "open it in the worker, at the first read: under fork all workers share its position")
    anew = [start for start in failed if start.method != "fork" and not start.attribute]
    if "fork" in evidence.working and any(start.phase not in ("starting", "") for start in anew):
        yield Advice("", "such a worker imports your modules anew: what was set in them at run time is not there; hand "
                         "it over in the dataset")  # fmt: skip
    if any(start.phase == "starting" and start.fault == "exit" for start in anew):
        yield Advice("DL307", 'what starts workers belongs under if __name__ == "__main__", and what they need into a '
                              "module that they can import; what the worker printed tells more")  # fmt: skip
