"""Checks of a training's loaders in a forked child: the training itself is left as it is."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from pytest_dataloader import loaders
from pytest_dataloader.diagnosis.report import examine_all
from pytest_dataloader.distributed import consensus
from pytest_dataloader.distributed.job import Job
from pytest_dataloader.errors import DataLoaderCheckError
from pytest_dataloader.probe.host.child_process import Child
from pytest_dataloader.probe.loader.smoke_run import smoke_run
from pytest_dataloader.progress import PERIOD_SECONDS
from pytest_dataloader.record import Record, record_of
from pytest_dataloader.settings.options import DEFAULT_SECONDS
from pytest_dataloader.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pytest_dataloader.diagnosis.runner import Subject
    from pytest_dataloader.distributed.job import RankAddress

_SILENCE_SECONDS = 600.0
"""A child that says nothing for so long is given up: each check has bounds of its own."""


@dataclass(frozen=True, slots=True)
class LoaderToCheck:
    """A loader as a subject, what was seen of it in the training, and what its checks are given beside their limits."""

    subject: Subject
    training: Record
    step_ms: float


@dataclass(frozen=True, slots=True)
class CheckPlan:
    """Which checks run, and how. ``place`` is that of this rank in a job of several."""

    checks: tuple[str, ...]
    limits: Mapping[str, Any]
    seconds: float | None
    quick: bool
    chosen: bool
    """Whether the user named the checks: else those are left out that have nothing to measure."""
    place: RankAddress | None


def examine_forked(
    found: Sequence[LoaderToCheck],
    plan: CheckPlan,
    *,
    progress: Callable[[str, float], None],
    done: Callable[[Record], None],
) -> str:
    """Check loaders in a child, and hand their records to ``done`` as they come, in a job those of all ranks.

    Why not all of them came, or an empty text. A KeyboardInterrupt ends the child with its workers, and comes out.
    """

    uses_cuda = _uses_cuda()

    def run(child: Child) -> None:
        signal.alarm(0)  # it ends with its parent
        _leave_threads(found, uses_cuda=uses_cuda)
        for record in _examine(found, plan, _Progress(child)):
            child.tell(b"r" + json.dumps(asdict(record), allow_nan=False).encode())
        child.tell(b"e")

    with Child.fork(run) as child:
        while True:
            message = child.hear(_SILENCE_SECONDS)
            if message is None:
                ended = child.end() or f"said nothing for {_SILENCE_SECONDS:.0f} s"
                return f"the process that checks the loaders {ended}"
            if message == b"e":
                return ""
            content = json.loads(message[1:])
            if message.startswith(b"p"):
                progress(*content)
            else:
                done(record_of(content))


class _Progress:
    """Tells the parent what is going on, now and then."""

    def __init__(self, child: Child) -> None:
        self._child = child
        self._next = 0.0

    def __call__(self, what: str, share: float) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._next = now + PERIOD_SECONDS
            self._child.tell(b"p" + json.dumps([what, share]).encode())


def _uses_cuda() -> bool:
    import torch

    return bool(torch.cuda.is_initialized())  # type: ignore[no-untyped-call]  # torch's own


def _leave_threads(found: Sequence[LoaderToCheck], *, uses_cuda: bool) -> None:
    """Do without what no fork inherits: threads of torch's pools, as in DataLoader's workers, CUDA, and
    the servers of multiprocessing.
    """
    import torch

    torch.set_num_threads(1)
    servers = {"forkserver": "_forkserver", "resource_tracker": "_resource_tracker"}
    for module, name in servers.items():  # what this child starts and leaves is not its parent's to wait for
        started = getattr(sys.modules.get(f"multiprocessing.{module}"), name, None)
        if started is not None:
            started.__init__()
    if uses_cuda:
        for each in found:
            vars(each.subject.loader)["pin_memory"] = False


def _examine(
    found: Sequence[LoaderToCheck], plan: CheckPlan, progress: Callable[[str, float], None]
) -> Iterator[Record]:
    job, common = None, set[str]()
    if plan.place is not None:
        job = Job.join(plan.place, plan.place.patience_seconds(plan.seconds or DEFAULT_SECONDS))
        told, _ = job.gather("loaders", "", json.dumps([each.subject.id for each in found]))
        common = set.intersection(*(set(json.loads(text)) for text in told.values()))
        # What all ranks iterate comes first, in the same order on each.
        found = sorted(found, key=lambda each: (each.subject.id not in common, each.subject.id))
    for each in found:
        shared = job if each.subject.id in common else None
        yield (
            each.training
            if shared is None
            else consensus.together(shared, each.subject.nodeid, consensus.Told(each.training))
        )
        if plan.checks:
            yield from _examine_one(each, plan, progress, shared)
    if job is not None:
        job.close("")


def _examine_one(
    each: LoaderToCheck, plan: CheckPlan, progress: Callable[[str, float], None], job: Job | None
) -> Iterator[Record]:
    if gone := _unreadable(each):
        for name in plan.checks:
            yield each.subject.record(name, {}, None, Verdict("not_measured", gone))
        return
    limits = dict(plan.limits)
    if each.step_ms and not {"step", "step_ms"} & set(limits) and "stages" in plan.checks:
        limits["step_ms"] = each.step_ms
    report = examine_all(
        each.subject,
        plan.checks,
        limits=limits,
        seconds=plan.seconds,
        quick=plan.quick,
        only_applicable=not plan.chosen,
        progress=progress,
        job=job,
    )
    yield from report.records


def _unreadable(each: LoaderToCheck) -> str:
    """Why a loader gives no batch here that gave some in the training: what it reads may have gone with that."""
    try:
        smoke_run(each.subject.loader)
    except DataLoaderCheckError as error:
        why = str(error)
    except (Exception, SystemExit) as error:
        why = loaders.explain(error).partition("\n")[0]
    else:
        return ""
    return f"a copy of the loader gives no batch any more ({why}); check it during the training: --after-steps 100"


def can_fork() -> bool:
    """Whether this system has what ``examine_forked`` needs."""
    return hasattr(os, "fork")
