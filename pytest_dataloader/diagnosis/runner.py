"""What runs the checks of a loader, one after the other: for pytest, for the command, and in scripts."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from weakref import ref

from pytest_dataloader import checks, loaders
from pytest_dataloader.checks import compatibility
from pytest_dataloader.checks.streams import is_of_inner
from pytest_dataloader.errors import DataLoaderCheckError, EmptyEpoch, NothingSeen, NotMeasured
from pytest_dataloader.printable import printable
from pytest_dataloader.probe.host import interruption
from pytest_dataloader.probe.loader.smoke_run import smoke_run
from pytest_dataloader.probe.loader.stream import Stream
from pytest_dataloader.record import Record, figures, plain
from pytest_dataloader.verdict import Advice, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from pytest_dataloader.checks import Setting
    from pytest_dataloader.distributed.job import Job


NOT_ASKED = "run with --dataloader-bench"
_NOTHING = "the loader gives nothing"


@dataclass(frozen=True, slots=True)
class Subject:
    """A loader under test and how reports call it: the target's name, or the node id of the test that measures it."""

    id: str
    nodeid: str
    loader: Any
    build: Any = None
    """The user's callable that made the loader, if one did."""

    def record(self, check: str, limits: Mapping[str, Any], evidence: object, verdict: Verdict) -> Record:
        """What a check said of this loader, as reports take it."""
        fails = verdict.outcome == "failed" and evidence is not None
        return Record(
            id=self.id,
            nodeid=self.nodeid,
            description="" if self.loader is None else printable(loaders.describe(self.loader)).replace("\n", "\\n"),
            check=check,
            verdict=verdict.outcome,
            reason=printable(verdict.reason),
            evidence=figures(evidence),
            limits=plain(limits),
            advice=tuple(Advice(each.code, printable(each.text)) for each in verdict.advice),
            vacuous=verdict.vacuous,
            missed=checks.missed_limits(check, evidence, limits) if fails else (),
        )


@dataclass(frozen=True, slots=True)
class Examined:
    """How a check ended. ``evidence`` is None where there is none; ``error`` is what the loader, or a limit, raised."""

    verdict: Verdict
    evidence: Any = None
    error: BaseException | None = None


class Runner:
    """Runs checks one by one, and hands on what one has found out about a loader to those that come after it.

    ``setting`` says how they measure. ``progress`` gives what is told of the progress of a check by its label, and
    ``turn`` is entered for each measurement. Loaders are not kept alive.
    """

    def __init__(
        self,
        setting: Setting,
        *,
        progress: Callable[[str], Callable[[str, float], None]] = lambda _label: lambda _what, _share: None,
        turn: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext,
        job: Job | None = None,
    ) -> None:
        self.known: Any = None
        """The evidence so far of the check that measures just now, or that was interrupted."""
        self._job, self._progress, self._turn = job, progress, turn
        self._setting = replace(setting, known=self._note, ranks=1 if job is None else job.place.world_size)
        self._loaders: list[tuple[ref[Any], _Known]] = []

    def run(self, subject: Subject, check: str, limits: Mapping[str, Any], *others: Any) -> Examined:
        """Measure and judge. Exceptions of the loader are in what is returned, those of this package are not its fault.

        ``others`` are loaders that it is compared with. Raises KeyboardInterrupt where a signal asked for it meanwhile,
        whatever has become of it.
        """
        seen = self._run(subject, check, limits, *others)
        interruption.raise_received(wait=seen.verdict.outcome == "failed" or seen.verdict.vacuous)
        return seen

    def measure(self, subject: Subject, check: str, limits: Mapping[str, Any], *others: Any) -> Any:
        """The evidence of a check; in a job of several ranks with what the others have told.

        Raises NotMeasured, what the loader raises, and for limits that contradict each other BadLimit.
        """
        compared, told = (subject.loader, *others), list[str]()
        if checks.check_module(check).NEEDS_BENCH and not self._setting.bench:
            for loader in compared:
                smoke_run(loader)
            raise NotMeasured(NOT_ASKED)
        self.known = None
        setting = replace(
            self._setting,
            build=subject.build,
            tell=told.append,
            shared=self._known_of(subject.loader).shared,
            progress=self._progress(f"{subject.id} {check}"),
        )
        with self._turn():
            evidence = checks.measure(check, *compared, setting=setting, limits=limits)
        if self._job is None or not told:
            return evidence
        # Ranks take turns in measuring, so the others are waited for afterwards.
        heard = self._job.compare(check, subject.nodeid, told[-1])
        return checks.merge_ranks(check, evidence, heard, self._job.place.world_size)

    def has_broken(self, loader: Any) -> bool:
        """Whether a check has seen that the loader raises, hangs or gives nothing."""
        return bool(self._known_of(loader).breakage)

    def _note(self, evidence: Any) -> None:
        self.known = evidence

    def _known_of(self, loader: Any) -> _Known:
        self._loaders = [(each, known) for each, known in self._loaders if each() is not None]
        for each, known in self._loaders:
            if each() is loader:
                return known
        self._loaders.append((ref(loader), _Known()))
        return self._loaders[-1][1]

    def _run(self, subject: Subject, check: str, limits: Mapping[str, Any], *others: Any) -> Examined:
        known = self._known_of(subject.loader)
        if known.breakage and check != checks.BREAKAGE:
            return Examined(Verdict("not_measured", known.breakage))
        try:
            if unsupported := compatibility.incompatibility(check):
                return Examined(Verdict("not_measured", unsupported, vacuous=True))
            evidence = self.measure(subject, check, limits, *others)
            verdict = _of_part(subject.loader, check, limits, checks.judge(check, evidence, limits=limits))
            known.remember(check, _breakage(evidence))
        except NotMeasured as error:
            known.remember(check, _NOTHING if isinstance(error, EmptyEpoch) else "")
            return Examined(Verdict("not_measured", str(error), vacuous=isinstance(error, NothingSeen)))
        except DataLoaderCheckError as error:
            return Examined(Verdict("failed", str(error)), error=error)
        except (Exception, SystemExit) as error:
            if loaders.is_ours(error):
                return Examined(Verdict("not_measured", loaders.own_fault(error), vacuous=True))
            known.remember(check, "the loader raises")
            return Examined(Verdict("failed", f"the loader raised {loaders.explain(error)}"), error=error)
        return Examined(verdict, evidence)


@dataclass(slots=True)
class _Known:
    """What earlier checks have found out about a loader."""

    shared: dict[str, Any] = field(default_factory=dict)
    """What one hands to another."""
    breakage: str = ""
    """How it raises, hangs or gives nothing, and which check says so: others would say the same again."""

    def remember(self, check: str, breakage: str) -> None:
        if breakage and not self.breakage:
            self.breakage = f"{breakage}: see {check}"


def _of_part(loader: Any, check: str, limits: Mapping[str, Any], verdict: Verdict) -> Verdict:
    """A verdict that says so where it is of the DataLoader inside a stream."""
    if not isinstance(loader, Stream) or not is_of_inner(check, loader, limits):
        return verdict
    return replace(verdict, reason=f"{verdict.reason}\nof the DataLoader inside, its attribute {loader.path}")


def _breakage(evidence: Any) -> str:
    """What is wrong with a loader that no other check could say more of; empty for others."""
    fault = "hang" if getattr(evidence, "hung_seconds", 0) else getattr(evidence, "fault", "none")
    if fault == "hang":
        return "no batch came in time" if getattr(evidence, "at_work", False) else "the loader hangs"
    if fault != "none" and evidence.phase != "exiting":
        return "the loader raises" if fault == "exception" else "a worker of the loader dies"
    return _NOTHING if getattr(evidence, "empty", False) else ""
