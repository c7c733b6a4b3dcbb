"""``diagnose``: every check of one loader, in a script, a notebook or a running training."""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from pytest_dataloader import checks, loaders
from pytest_dataloader.diagnosis.runner import Runner, Subject
from pytest_dataloader.distributed import consensus
from pytest_dataloader.environment import environment
from pytest_dataloader.errors import BadLimit, BadTarget, NotMeasured
from pytest_dataloader.locking import alone, path_of_run
from pytest_dataloader.printable import did_you_mean
from pytest_dataloader.probe.host import interruption
from pytest_dataloader.probe.timing.training_step import step_at
from pytest_dataloader.progress import StandaloneLine, in_notebook
from pytest_dataloader.record import Record
from pytest_dataloader.report import json, notebook, terminal
from pytest_dataloader.report import trace as timelines
from pytest_dataloader.report.console import rendered, show
from pytest_dataloader.settings import targets
from pytest_dataloader.settings.options import DEFAULT_SECONDS, QUICK_SECONDS
from pytest_dataloader.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pytest_dataloader.checks.signatures import Limits
    from pytest_dataloader.distributed.job import Job
    from pytest_dataloader.probe.device.evidence import Transfer
    from pytest_dataloader.probe.memory.evidence import Memory
    from pytest_dataloader.probe.resources.evidence import Fds, Shm
    from pytest_dataloader.probe.samples.evidence import Order, Randomness, Resume, Shards
    from pytest_dataloader.probe.timing.evidence import Stages, Throughput
    from pytest_dataloader.probe.workers.evidence import Portability, Workers


@dataclass(frozen=True, slots=True)
class Report:
    """What the checks said of a loader, in the order in which they ran; a notebook shows it as a table."""

    records: tuple[Record, ...]
    _evidence: Mapping[str, Any] = field(repr=False)
    seconds: float | None = None
    """How long it took."""

    @property
    def passed(self) -> bool:
        """Whether no check failed, and at least one could say something."""
        outcomes = {record.verdict for record in self.records} - {"not_measured"}
        return bool(outcomes) and "failed" not in outcomes

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """The verdict of each check by its name."""
        return {each.check: Verdict(each.verdict, each.reason, each.advice, each.vacuous) for each in self.records}

    @overload
    def __getitem__(self, check: Literal["workers"]) -> Workers: ...
    @overload
    def __getitem__(self, check: Literal["fds"]) -> Fds: ...
    @overload
    def __getitem__(self, check: Literal["shm"]) -> Shm: ...
    @overload
    def __getitem__(self, check: Literal["throughput"]) -> Throughput: ...
    @overload
    def __getitem__(self, check: Literal["stages"]) -> Stages: ...
    @overload
    def __getitem__(self, check: Literal["memory"]) -> Memory: ...
    @overload
    def __getitem__(self, check: Literal["randomness"]) -> Randomness: ...
    @overload
    def __getitem__(self, check: Literal["order"]) -> Order: ...
    @overload
    def __getitem__(self, check: Literal["shards"]) -> Shards: ...
    @overload
    def __getitem__(self, check: Literal["resume"]) -> Resume: ...
    @overload
    def __getitem__(self, check: Literal["portability"]) -> Portability: ...
    @overload
    def __getitem__(self, check: Literal["transfer"]) -> Transfer: ...
    def __getitem__(self, check: str) -> Any:
        """The evidence of a check, as its fixture returns it; raises NotMeasured where there is none."""
        if check in self._evidence:
            return self._evidence[check]
        reason = next((record.reason for record in self.records if record.check == check), "it was not run")
        raise NotMeasured(f"{check} was not measured: {reason}")

    def document(self) -> dict[str, Any]:
        """The report as ``--dataloader-json`` writes it."""
        return json.evidence_document(self.records, environment())

    def __str__(self) -> str:
        return rendered(terminal.report_summary(self.records, terminal.FULL)).rstrip("\n")

    def __repr__(self) -> str:
        counts = Counter(record.verdict.replace("_", " ") for record in self.records)
        told = ", ".join(f"{number} {verdict}" for verdict, number in counts.items())
        return f"<Report of {next((each.description for each in self.records), 'nothing')}: {told}>"

    def _repr_html_(self) -> str:
        return notebook.notebook_table(self.records)


def diagnose(
    loader: Any,
    *,
    checks: Iterable[str] | None = None,
    seconds: float | None = None,
    quick: bool = False,
    trace: str | os.PathLike[str] | None = None,
    **limits: Unpack[Limits],
) -> Report:
    """Run every check that applies on a DataLoader, or on what a callable returns, and hold it to the limits given.

    Prints the summary, but in a notebook, where the report shows itself. The loader is left as it was: a copy of it is
    iterated, and random states are put back. ``seconds`` is the measuring budget of a check (5; with ``quick`` 0.5).
    ``trace`` is a file that the timeline of stages is written to, as ``--dataloader-trace`` does. Raises BadLimit,
    BadTarget for what is no loader, OSError, and RuntimeError in a worker that imports an unguarded script.
    """
    if _imported_anew():
        raise RuntimeError(
            'diagnose is called as a worker imports this script: call it under if __name__ == "__main__"'
        )
    put_back = interruption.raise_on_signals("SIGTERM ended diagnose")
    line = StandaloneLine(sys.stderr)
    try:
        report = examine_all(
            subject_of_loader(loader),
            checks,
            seconds=seconds,
            quick=quick,
            traced=trace is not None,
            limits=limits,
            progress=line.show,
        )
    except interruption.Terminated:  # once workers are gone, this process ends as it would have without us
        put_back()
        os.kill(os.getpid(), signal.SIGTERM)
        raise
    finally:
        line.clear()
        put_back()
    if not in_notebook():
        show(terminal.report_summary(report.records), sys.stdout)
        show(terminal.closing(report.records, report.seconds, more="print(report)"), sys.stdout)
    if trace is not None:
        timelines.write_trace(Path(trace), timelines.trace_document(timelines.timelines(report.records), environment()))
    return report


def subject_of_loader(loader: Any, name: str = "") -> Subject:
    """A loader, or what makes one, as a subject; raises BadTarget for anything else."""
    build, inner = None, loaders.measurable(loader)
    if inner is None:
        if not callable(loader):
            raise BadTarget(f"expected a torch.utils.data.DataLoader or a callable, got {loaders.what_instead(loader)}")
        build = loader
        inner = loaders.call(loader, getattr(loader, "__qualname__", type(loader).__name__))
    return Subject(name or "loader", name or "loader", inner, build)


def examine_all(
    subject: Subject,
    only: Iterable[str] | None,
    *,
    limits: Mapping[str, Any],
    seconds: float | None = None,
    quick: bool = False,
    only_applicable: bool | None = None,
    whole_epoch: bool = False,
    traced: bool = False,
    progress: Callable[[str, float], None] = lambda _what, _share: None,
    done: Callable[[Record], None] = lambda _record: None,
    job: Job | None = None,
) -> Report:
    """Examine a loader by all its checks, or by some, one after the other; ``done`` is told of each at once.

    ``only_applicable`` leaves out checks that have nothing to measure in the loader and that no limit and no job calls
    for: as it is with ``quick`` where no checks are named. In a ``job`` the ranks of one machine take turns, and each
    record is that of all ranks. Raises BadLimit for limits, or names of checks, that are none.
    """
    chosen = chosen_checks(only)
    read = limits_of_checks(limits, chosen)
    step_at(limits.get("step"))  # a wrong one is told before anything is measured
    narrow = quick and only is None if only_applicable is None else only_applicable
    setting = checks.Setting(
        seconds or (QUICK_SECONDS if quick else DEFAULT_SECONDS),
        bench=True,
        quick=quick,
        whole_epoch=whole_epoch,
        traced=traced,
    )
    lock = None if job is None else path_of_run(job.place.run)
    began = time.monotonic()
    runner = Runner(
        setting,
        progress=lambda label: lambda what, share: progress(f"{label}: {what}", share),
        turn=lambda: alone(lock),
        job=job,
    )
    records, evidence = list[Record](), dict[str, Any]()
    for name in chosen:
        called_for = checks.call_for(read[name]) or (name == "shards" and job is not None)
        if narrow and not called_for and not _applies(name, subject, runner):
            continue
        seen = runner.run(subject, name, read[name])
        record = subject.record(name, read[name], seen.evidence, seen.verdict)
        records.append(record if job is None else consensus.together(job, subject.nodeid, consensus.Told(record)))
        if seen.evidence is not None:
            evidence[name] = seen.evidence
        done(records[-1])
    if job is not None:
        job.finish(subject.nodeid)
    return Report(tuple(records), evidence, time.monotonic() - began)


def _applies(name: str, subject: Subject, runner: Runner) -> bool:
    """Whether a check has something to measure; a loader that is broken is not asked for it."""
    if runner.has_broken(subject.loader):
        return not checks.depends_on_loader(name)
    return checks.applies(name, subject.loader, subject.build)


def limits_of_checks(
    limits: Mapping[str, object], chosen: Sequence[str], names: Sequence[str] = checks.NAMES
) -> dict[str, dict[str, Any]]:
    """A user's limits, read, by the check of ``names`` that holds them. Raises BadLimit for what none of ``chosen``
    holds.
    """
    faults: list[str] = []
    read = targets.limits_by_check(limits, "", chosen, faults, names)
    if faults:
        raise BadLimit("; ".join(fault.lstrip(" :") for fault in faults))
    return read


def chosen_checks(only: Iterable[str] | None, every: Sequence[str] = checks.NAMES) -> tuple[str, ...]:
    """The checks to run, in their order: all of ``every``, or ``only`` some. Raises BadLimit for a name of none."""
    names = every if only is None else (only,) if isinstance(only, str) else tuple(only)
    for name in names:
        if name not in every:
            hint = did_you_mean(name, every) or f"; the checks are {', '.join(every)}"
            raise BadLimit(f"there is no check {name!r}{hint}")
    return tuple(name for name in every if name in names)


def _imported_anew() -> bool:
    """Whether this runs because a process that was spawned, or a fork server, imports the main module."""
    return any(
        frame.f_code.co_name == "<module>" and frame.f_globals.get("__name__") == "__mp_main__"
        for frame, _ in traceback.walk_stack(None)
    )
