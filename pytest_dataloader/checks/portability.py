"""Portability: does the loader start under fork, forkserver and spawn, and what does it cost?"""

from __future__ import annotations

import multiprocessing
import time
from typing import TYPE_CHECKING, Any

from pytest_dataloader.advice import portability as sentences
from pytest_dataloader.probe.loader.settings import has_thread_workers, start_method_of, worker_processes_of
from pytest_dataloader.probe.workers.evidence import Portability
from pytest_dataloader.probe.workers.pickling import find_culprit, weigh_luggage
from pytest_dataloader.probe.workers.startup import try_methods, unpicklable
from pytest_dataloader.verdict import Verdict

if TYPE_CHECKING:
    from pytest_dataloader.checks import Setting
    from pytest_dataloader.settings.limits import StartMethods

NEEDS_BENCH = False


def measure(loader: Any, *, setting: Setting, start_methods: StartMethods | None = None) -> Portability:
    """Start one worker by each method: those of the limit, or the one that the loader asks for, or all there are.

    A loader without workers starts none unless the limit asks for it; what would not pickle is told. A quick run starts
    one by the loader's own method, and pickles for the others.
    """
    begun, context = time.monotonic(), getattr(loader, "multiprocessing_context", None)
    pinned = "" if context is None or has_thread_workers(loader) else str(context.get_start_method())
    methods = start_methods or ((pinned,) if pinned else tuple(sorted(multiprocessing.get_all_start_methods())))
    setting.progress(f"starting workers by {', '.join(methods)}", 0.2)
    workers = worker_processes_of(loader)
    tried = methods if start_methods or not setting.quick else (start_method_of(loader),)
    starts = try_methods(loader, tried) if workers or start_methods else ()
    culprit, luggage = None if starts and tried == methods else find_culprit(loader), weigh_luggage(loader)
    others = tuple(method for method in methods if starts and method not in tried)
    if culprit is not None:
        starts += tuple(unpicklable(method, culprit) for method in others if method != "fork")
    named = next((start for start in starts if start.attribute), None)
    return Portability(
        starts=starts,
        attribute=named.attribute if named else culprit.path if culprit else "",
        what=named.what if named else culprit.what if culprit else "",
        error=named.error if named else culprit.error if culprit else "",
        pickled_bytes=luggage.pickled_bytes if luggage else None,
        tensor_bytes=luggage.tensor_bytes if luggage else None,
        workers=workers,
        pinned=pinned,
        seconds=round(time.monotonic() - begun, 3),
        pickled_only=() if culprit else tuple(method for method in others if method != "fork"),
    )


def judge(evidence: Portability, *, start_methods: StartMethods | None = None) -> Verdict:
    """Fail for each method under which no batch came."""
    wanted = [start for start in evidence.starts if start_methods is None or start.method in start_methods]
    failed = [start for start in wanted if start.available and start.fault != "none"]
    certain = [start for start in failed if start.certain]
    if failed:
        reason = "\n".join(filter(None, [*map(sentences.start_failure, failed), sentences.working(evidence)]))
        return Verdict("failed" if certain else "inconclusive", reason, sentences.advice(evidence, failed))
    if any(start.empty for start in wanted):
        return Verdict("not_measured", "workers start, but give no batch: the epoch is empty", vacuous=True)
    if missing := [start.method for start in wanted if not start.available]:
        return Verdict(
            "inconclusive", f"no start method {', '.join(missing)} on this system\n{sentences.working(evidence)}"
        )
    if evidence.starts:
        return Verdict("passed", f"{sentences.working(evidence)}{sentences.luggage(evidence)}")
    would = f"\nwith workers, {evidence.attribute} ({evidence.what}) would not pickle" if evidence.attribute else ""
    return Verdict("passed", f"the loader has no worker processes to start{would}")
