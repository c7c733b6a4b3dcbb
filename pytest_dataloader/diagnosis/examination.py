"""One check of one loader, whatever happens on the way: its evidence, its verdict, and what the loader raised."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from weakref import ref

from pytest_dataloader import checks, loaders
from pytest_dataloader.checks import compatibility
from pytest_dataloader.checks.streams import is_of_inner
from pytest_dataloader.errors import DataLoaderCheckError, EmptyEpoch, NothingSeen, NotMeasured
from pytest_dataloader.printable import printable
from pytest_dataloader.probe.host import interruption
from pytest_dataloader.probe.loader.stream import Stream
from pytest_dataloader.record import Record, figures, plain
from pytest_dataloader.verdict import Advice, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


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


class Breakages:
    """Loaders that raise, hang or give nothing, and which check said so: others would say the same again."""

    def __init__(self) -> None:
        self._known: list[tuple[ref[Any], str]] = []

    def of(self, loader: Any) -> str:
        """What is known to be wrong with a loader; empty where nothing is."""
        return next((reason for known, reason in self._known if known() is loader), "")

    def remember(self, loader: Any, check: str, breakage: str) -> None:
        """Note what a check has found to be wrong, if anything."""
        if breakage:
            self._known.append((ref(loader), f"{breakage}: see {check}"))


def examine(
    loader: Any, check: str, limits: Mapping[str, Any], measure: Callable[[], Any], breakages: Breakages
) -> Examined:
    """Measure and judge. Exceptions of the loader are in what is returned, those of this package are not its fault.

    Raises KeyboardInterrupt where a signal asked for it meanwhile, whatever has become of it.
    """
    seen = _examine(loader, check, limits, measure, breakages)
    interruption.raise_received(wait=seen.verdict.outcome == "failed" or seen.verdict.vacuous)
    return seen


def _examine(
    loader: Any, check: str, limits: Mapping[str, Any], measure: Callable[[], Any], breakages: Breakages
) -> Examined:
    broken = breakages.of(loader)
    if broken and check != checks.BREAKAGE:
        return Examined(Verdict("not_measured", broken))
    evidence: Any = None
    try:
        if unsupported := compatibility.obstacle(check):
            return Examined(Verdict("not_measured", unsupported, vacuous=True))
        evidence = measure()
        verdict = _of_part(loader, check, checks.judge(check, evidence, limits=limits))
        breakages.remember(loader, check, _breakage(evidence))
    except NotMeasured as error:
        if isinstance(error, EmptyEpoch):
            breakages.remember(loader, check, _NOTHING)
        return Examined(Verdict("not_measured", str(error), vacuous=isinstance(error, NothingSeen)))
    except DataLoaderCheckError as error:
        return Examined(Verdict("failed", str(error)), error=error)
    except (Exception, SystemExit) as error:
        if loaders.is_ours(error):
            return Examined(Verdict("not_measured", loaders.own_fault(error), vacuous=True))
        breakages.remember(loader, check, "the loader raises")
        return Examined(Verdict("failed", f"the loader raised {loaders.explain(error)}"), error=error)
    return Examined(verdict, evidence)


def _of_part(loader: Any, check: str, verdict: Verdict) -> Verdict:
    """A verdict that says so where it is of the DataLoader inside a stream."""
    if not isinstance(loader, Stream) or not is_of_inner(check, loader):
        return verdict
    return replace(verdict, reason=f"{verdict.reason}; of the DataLoader inside, its attribute {loader.path}")


def _breakage(evidence: Any) -> str:
    """What is wrong with a loader that no other check could say more of; empty for others."""
    fault = "hang" if getattr(evidence, "hung_seconds", 0) else getattr(evidence, "fault", "none")
    if fault == "hang":
        return "no batch came in time" if getattr(evidence, "at_work", False) else "the loader hangs"
    if fault != "none" and evidence.phase != "exiting":
        return "the loader raises" if fault == "exception" else "a worker of the loader dies"
    return _NOTHING if getattr(evidence, "empty", False) else ""
