"""Running a check inside a test: measure, judge, record, and make the test pass, fail, warn or skip accordingly."""

from __future__ import annotations

import contextlib
import textwrap
import warnings
from typing import TYPE_CHECKING, Any
from weakref import ref

import pytest

from pytest_dataloader import checks
from pytest_dataloader.bench import BENCH, UNMEASURED
from pytest_dataloader.diagnosis.runner import Runner, Subject
from pytest_dataloader.errors import DataLoaderWarning, NotMeasured
from pytest_dataloader.locking import alone, lock_path
from pytest_dataloader.printable import printable
from pytest_dataloader.progress import progress_line
from pytest_dataloader.record import PROPERTY
from pytest_dataloader.verdict import Verdict, headline

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


_RUNNER = pytest.StashKey[Runner]()
"""On the config."""


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


def subject_in_test(item: pytest.Item, loader: Any, check: str) -> Subject:
    """A loader that a test measures by a fixture. The test's n-th loader is called ``nodeid#n``."""
    nodeid = plain_nodeid(item)
    number = item.stash.setdefault(_SEEN, _Seen()).number(loader, check)
    return Subject(nodeid if number == 1 else f"{nodeid}#{number}", nodeid, loader)


def examine(item: pytest.Item, subject: Subject, check: str, limits: Mapping[str, Any], *others: Any) -> Any:
    """Run a check on a loader, beside ``others``, under limits already read, and return its evidence.

    Fails, warns or marks the test as not measured as the verdict says. Exceptions of the loader are passed on, those
    of this package are not the loader's fault; BadLimit where limits contradict each other.
    """
    __tracebackhide__ = True
    bench, runner = item.config.stash[BENCH], _runner_of(item.config)
    try:
        seen = runner.run(subject, check, limits, *others)
    except KeyboardInterrupt:
        if runner.known is not None:
            known = checks.judge(check, runner.known, limits=limits)
            note(item, subject, check, limits, runner.known, known, by_itself=True)
        raise
    verdict = note(item, subject, check, limits, seen.evidence, seen.verdict)
    if seen.error is not None:
        raise seen.error
    held = _hold_to_baseline(item, subject) if check == "throughput" and seen.evidence is not None else None
    _conclude(item, check, verdict, held, strict=bench.options.strict)
    return Unmeasured(check, verdict.reason) if seen.evidence is None else seen.evidence


def _hold_to_baseline(item: pytest.Item, subject: Subject) -> Verdict | None:
    """Cost a loader beside the file of baselines; None where the run has none."""
    bench = item.config.stash[BENCH]
    if bench.baselines is None:
        return None
    from pytest_dataloader import baselines

    place = baselines.here()
    entry, incomparable = baselines.find_baseline(bench.baselines, subject.id, place)
    recorded = bench.options.update_baseline
    given = {"place": place, "known": entry, "incomparable": incomparable, "recorded": recorded}
    limits = {"tolerance": bench.options.tolerance}
    evidence = _runner_of(item.config).measure(subject, "baseline", given)
    verdict = checks.judge("baseline", evidence, limits=limits)
    return note(item, subject, "baseline", limits, evidence, verdict)


def _runner_of(config: pytest.Config) -> Runner:
    """What runs the checks of this session."""
    if _RUNNER not in config.stash:
        options, job = config.stash[BENCH].options, config.stash[BENCH].job
        line = progress_line(config)

        @contextlib.contextmanager
        def turn() -> Iterator[None]:
            with alone(lock_path(config, job) if options.measures else None):
                try:
                    yield
                finally:
                    if line is not None:
                        line.clear()

        setting = checks.Setting(
            options.seconds,
            options.bench,
            options.quick,
            options.whole_epoch,
            options.trace is not None or options.html is not None,
        )
        given = {} if line is None else {"progress": line.of}
        config.stash[_RUNNER] = Runner(setting, turn=turn, job=job, **given)
    return config.stash[_RUNNER]


def note(
    item: pytest.Item,
    subject: Subject,
    check: str,
    limits: Mapping[str, Any],
    evidence: object,
    verdict: Verdict,
    *,
    by_itself: bool = False,
) -> Verdict:
    """Record a verdict where reports, JUnit, xdist and an interrupted run find it, and return it.

    In a job of several ranks it is that of all of them; ``by_itself`` where the others are not to be waited for.
    """
    bench = item.config.stash[BENCH]
    seen = subject.record(check, limits, evidence, verdict)
    if bench.job is not None and not by_itself:
        from pytest_dataloader.distributed import consensus

        seen = consensus.together(bench.job, item.nodeid, consensus.Told(seen))
    item.user_properties.append(seen.as_property())
    bench.ledger.setdefault(item.nodeid, []).append(seen)
    return Verdict(seen.verdict, seen.reason, seen.advice, seen.vacuous)


def forget_outcome(item: pytest.Item) -> None:
    """Drop what an earlier run of the same item left: plugins that repeat failed tests run an item several times."""
    item.user_properties[:] = [pair for pair in item.user_properties if not pair[0].startswith(PROPERTY)]
    item.stash.setdefault(UNMEASURED, []).clear()
    item.config.stash[BENCH].ledger.pop(item.nodeid, None)
    item.stash[_SEEN] = _Seen()


def plain_nodeid(item: pytest.Item) -> str:
    """The node id of an item, without the group that ``--dist loadgroup`` appends to it."""
    groups = {str(name) for mark in item.iter_markers("xdist_group") for name in (*mark.args, *mark.kwargs.values())}
    return item.nodeid.removesuffix(f"@{'_'.join(sorted(groups))}") if groups else item.nodeid


def _conclude(item: pytest.Item, check: str, verdict: Verdict, held: Verdict | None, *, strict: bool) -> None:
    """Let the test have its verdict, and that of its baseline where it is ``held`` to one."""
    __tracebackhide__ = True
    faults = []
    for name, each in ((check, verdict), ("baseline", held)):
        if each is None:
            continue
        match each.outcome:
            case "failed":
                faults.append(message(name, each))
            case "inconclusive" if strict:
                faults.append(f"{message(name, each)}\n(--dataloader-strict: inconclusive fails)")
            case "inconclusive":
                _warn(item, printable(message(name, each)))
            case "not_measured" if each.vacuous and strict:
                faults.append(f"{message(name, each)}\n(--dataloader-strict: what was not seen fails)")
            case "not_measured" if each is verdict:  # a loader without a baseline was measured all the same
                item.stash.setdefault(UNMEASURED, []).append(f"{name} was not measured: {headline(each.reason)}")
    if faults:
        # A test shows the line of the call. A target has no line but that of its table, which its node id names.
        pytest.fail(printable("\n".join(faults)), pytrace=isinstance(item, pytest.Function))


def message(check: str, verdict: Verdict) -> str:
    """What a failed or inconclusive check tells: its reason, then the advice with the dl-lint codes."""
    word = {"inconclusive": "inconclusive: ", "not_measured": "not measured: "}.get(verdict.outcome, "")
    first, *facts = verdict.reason.split("\n")
    advice = (": ".join(filter(None, (each.code, each.text))) for each in verdict.advice)
    below = textwrap.indent("\n".join([*facts, *advice]), "  ")
    return "\n".join(filter(None, [f"{check}: {word}{first}", below]))


def _warn(item: pytest.Item, text: str) -> None:
    try:
        item.warn(DataLoaderWarning(text))
    except DataLoaderWarning:
        # ``filterwarnings = error`` is about code; to fail on a busy machine is what --dataloader-strict asks for.
        with warnings.catch_warnings():
            warnings.simplefilter("always", DataLoaderWarning)
            item.warn(DataLoaderWarning(text))
