"""Running a check inside a test: measure, judge, record, and make the test pass, fail, warn or skip accordingly."""

from __future__ import annotations

import dataclasses
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import ref

import pytest

from pytest_dataloader import checks, loaders
from pytest_dataloader.bench import BENCH, UNMEASURED
from pytest_dataloader.errors import DataLoaderWarning, NotMeasured
from pytest_dataloader.locking import alone, lock_path
from pytest_dataloader.probe.exercise import exercise
from pytest_dataloader.progress import ProgressLine, progress_line
from pytest_dataloader.record import PROPERTY, Record, figures, plain
from pytest_dataloader.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping


NOT_ASKED = "run with --dataloader-bench"


@dataclass(frozen=True, slots=True)
class Subject:
    """A loader under test and how reports call it: the target's name, or the node id of the test that measures it."""

    id: str
    nodeid: str
    loader: Any


_PROGRESS = pytest.StashKey[ProgressLine | None]()


class Unmeasured:
    """Evidence of a check that did not run: any figure asked of it raises NotMeasured, which skips the test."""

    __slots__ = ("_check", "_reason")

    def __init__(self, check: str, reason: str) -> None:
        self._check = check
        self._reason = reason

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # copying, pickling and debuggers ask for names that no evidence has
            raise AttributeError(name)
        raise NotMeasured(f"{self._check}.{name} was not measured: {self._reason}")

    def __repr__(self) -> str:
        return f"<{self._check} was not measured: {self._reason}>"


class _Seen:
    """The loaders that a test has measured so far, each with the checks it had. Holds no loader alive."""

    def __init__(self) -> None:
        self._loaders: list[tuple[ref[Any], set[str]]] = []

    def number(self, loader: Any, check: str) -> int:
        """Which loader of the test this is, from 1. A loader that had this check before counts anew."""
        for number, (known, had) in enumerate(self._loaders, 1):
            if known() is loader and check not in had:
                had.add(check)
                return number
        self._loaders.append((ref(loader), {check}))
        return len(self._loaders)


_SEEN = pytest.StashKey[_Seen]()


def subject_of(item: pytest.Item, loader: Any, check: str) -> Subject:
    """A loader that a test measures by a fixture. The test's n-th loader is called ``nodeid#n``."""
    nodeid = plain_nodeid(item)
    number = item.stash.setdefault(_SEEN, _Seen()).number(loader, check)
    return Subject(nodeid if number == 1 else f"{nodeid}#{number}", nodeid, loader)


def examine(item: pytest.Item, subject: Subject, check: str, limits: Mapping[str, Any], *others: Any) -> Any:
    """Run a check on a loader, beside ``others``, under limits already read, and return its evidence.

    Fails, warns or marks the test as not measured as the verdict says. Exceptions of the loader are passed on;
    BadLimit where limits contradict each other.
    """
    bench = item.config.stash[BENCH]
    evidence: Any = None
    try:
        if checks.check_module(check).NEEDS_BENCH and not bench.options.bench:
            for loader in (subject.loader, *others):
                exercise(loader)
            verdict = Verdict("not_measured", NOT_ASKED)
        else:
            evidence = _measure(item.config, subject, check, limits, *others)
            verdict = checks.judge(check, evidence, limits=limits)
    except NotMeasured as error:
        verdict = Verdict("not_measured", str(error))
    except (Exception, SystemExit) as error:
        note(item, subject, check, limits, None, Verdict("not_measured", _raised(error)))
        raise
    note(item, subject, check, limits, evidence, verdict)
    _conclude(item, check, verdict, strict=bench.options.strict)
    return Unmeasured(check, verdict.reason) if evidence is None else evidence


def _measure(config: pytest.Config, subject: Subject, check: str, limits: Mapping[str, Any], *others: Any) -> Any:
    options = config.stash[BENCH].options
    if _PROGRESS not in config.stash:
        config.stash[_PROGRESS] = progress_line(config)
    progress = config.stash[_PROGRESS]
    setting = checks.Setting(seconds=options.seconds, bench=options.bench)
    if progress is not None:
        setting = dataclasses.replace(setting, progress=progress.of(f"{subject.id} {check}"))
    with alone(lock_path(config) if options.bench else None):
        try:
            return checks.measure(check, subject.loader, *others, setting=setting, limits=limits)
        finally:
            if progress is not None:
                progress.clear()


def _raised(error: BaseException) -> str:
    """An exception in a line. Torch puts the traceback of a worker's exception into its text, the error last."""
    first, *rest = str(error).strip().splitlines() or [""]
    return f"raised {type(error).__name__}: {first}{f' ... {rest[-1]}' if rest else ''}"


def note(
    item: pytest.Item, subject: Subject, check: str, limits: Mapping[str, Any], evidence: object, verdict: Verdict
) -> None:
    """Record a verdict where reports, JUnit, xdist and an interrupted run find it."""
    seen = Record(
        id=subject.id,
        nodeid=subject.nodeid,
        description="" if subject.loader is None else loaders.describe(subject.loader),
        check=check,
        verdict=verdict.outcome,
        reason=verdict.reason,
        evidence=figures(evidence),
        limits=plain(limits),
        advice=verdict.advice,
    )
    item.user_properties.append(seen.as_property())
    item.config.stash[BENCH].ledger.setdefault(item.nodeid, []).append(seen)


def forget(item: pytest.Item) -> None:
    """Drop what an earlier run of the same item left: plugins that repeat failed tests run an item several times."""
    item.user_properties[:] = [pair for pair in item.user_properties if not pair[0].startswith(PROPERTY)]
    item.stash.setdefault(UNMEASURED, []).clear()
    item.stash[_SEEN] = _Seen()


def plain_nodeid(item: pytest.Item) -> str:
    """The node id of an item, without the group that ``--dist loadgroup`` appends to it."""
    groups = {str(name) for mark in item.iter_markers("xdist_group") for name in (*mark.args, *mark.kwargs.values())}
    return item.nodeid.removesuffix(f"@{'_'.join(sorted(groups))}") if groups else item.nodeid


def _conclude(item: pytest.Item, check: str, verdict: Verdict, *, strict: bool) -> None:
    __tracebackhide__ = True
    match verdict.outcome:
        case "failed":
            pytest.fail(message(check, verdict), pytrace=False)
        case "inconclusive" if strict:
            pytest.fail(f"{message(check, verdict)}\n(--dataloader-strict: inconclusive fails)", pytrace=False)
        case "inconclusive":
            _warn(item, message(check, verdict))
        case "not_measured":
            item.stash.setdefault(UNMEASURED, []).append(f"{check} was not measured: {verdict.reason}")


def message(check: str, verdict: Verdict) -> str:
    """What a failed or inconclusive check tells: its reason, then the advice with the dl-lint codes."""
    word = "inconclusive: " if verdict.outcome == "inconclusive" else ""
    advice = (f"  {': '.join(filter(None, (each.code, each.text)))}" for each in verdict.advice)
    return "\n".join([f"{check}: {word}{verdict.reason}", *advice])


def _warn(item: pytest.Item, text: str) -> None:
    try:
        item.warn(DataLoaderWarning(text))
    except DataLoaderWarning:
        # ``filterwarnings = error`` is about code; to fail on a busy machine is what --dataloader-strict asks for.
        with warnings.catch_warnings():
            warnings.simplefilter("always", DataLoaderWarning)
            item.warn(DataLoaderWarning(text))
