"""Outcomes: what a verdict tells, and evidence that was not measured."""

from __future__ import annotations

import copy
import pickle
import warnings
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pytest_dataloader import loaders, outcome
from pytest_dataloader.bench import BENCH, UNMEASURED, Bench
from pytest_dataloader.diagnosis.runner import Runner, Subject
from pytest_dataloader.errors import DataLoaderWarning, NotMeasured
from pytest_dataloader.outcome import Unmeasured, _conclude, examine, message, plain_nodeid
from pytest_dataloader.record import Record, records_in
from pytest_dataloader.verdict import Advice, Verdict
from tests.zoo import evidence


def test_a_figure_that_was_not_measured_says_so_and_is_never_none() -> None:
    seen = Unmeasured("throughput", "run with --dataloader-bench")
    with pytest.raises(NotMeasured, match=r"^throughput.stall was not measured: run with --dataloader-bench$"):
        assert seen.stall < 0.05
    with pytest.raises(NotMeasured):
        getattr(seen, "stall", 0)
    assert repr(seen) == "<throughput was not measured: run with --dataloader-bench>"
    assert repr(copy.copy(seen)) == repr(pickle.loads(pickle.dumps(seen))) == repr(seen)


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        (Verdict("failed", "too slow"), "throughput: too slow"),
        (
            Verdict("failed", "too slow", (Advice("DL204", "keep the workers"), Advice("", "a faster disk"))),
            "throughput: too slow\n  DL204: keep the workers\n  a faster disk",
        ),
        (Verdict("inconclusive", "too busy"), "throughput: inconclusive: too busy"),
    ],
)
def test_a_message_is_the_reason_and_then_the_advice(verdict: Verdict, expected: str) -> None:
    assert message("throughput", verdict) == expected


@pytest.mark.parametrize(
    ("nodeid", "groups", "expected"),
    [
        ("test_it.py::test_it", [], "test_it.py::test_it"),
        ("test_it.py::test_it", ["dataloader"], "test_it.py::test_it"),
        ("test_it.py::test_it@dataloader", ["dataloader"], "test_it.py::test_it"),
        ("test_it.py::test_it@a_b", ["b", "a"], "test_it.py::test_it"),
        ("test_it.py::test_it[user@dataloader]", ["dataloader"], "test_it.py::test_it[user@dataloader]"),
    ],
)
def test_the_group_of_xdist_is_no_part_of_a_node_id(nodeid: str, groups: list[str], expected: str) -> None:
    marks = [pytest.mark.xdist_group(group).mark for group in groups]
    item: Any = SimpleNamespace(nodeid=nodeid, iter_markers=lambda _name: iter(marks))
    assert plain_nodeid(cast("pytest.Item", item)) == expected


STRICT = "\n(--dataloader-strict: inconclusive fails)"
STRICT_UNSEEN = "\n(--dataloader-strict: what was not seen fails)"
PASSED, FAILED = Verdict("passed", "clean"), Verdict("failed", "too slow")
BUSY = Verdict("inconclusive", "too busy")
LACKING, UNSEEN = Verdict("not_measured", "no workers"), Verdict("not_measured", "no sample", vacuous=True)
CONCLUSIONS: dict[str, tuple[Verdict, Verdict | None, bool, str]] = {
    "passed": (PASSED, None, True, ""),
    "failed": (FAILED, None, False, "order: too slow"),
    "inconclusive": (BUSY, None, False, "warns"),
    "inconclusive, strict": (BUSY, None, True, f"order: inconclusive: too busy{STRICT}"),
    "not measured": (LACKING, None, True, "unmeasured"),
    "nothing seen": (UNSEEN, None, False, "unmeasured"),
    "nothing seen, strict": (UNSEEN, None, True, f"order: not measured: no sample{STRICT_UNSEEN}"),
    "passed, and so did its baseline": (PASSED, PASSED, True, ""),
    "passed, not its baseline": (PASSED, FAILED, False, "baseline: too slow"),
    "failed, as its baseline": (FAILED, FAILED, False, "order: too slow\nbaseline: too slow"),
    "passed, no baseline": (PASSED, LACKING, True, ""),
    "passed, an inconclusive baseline": (PASSED, BUSY, False, "warns"),
}  # fmt: skip


class Item:
    """As much of a test as a verdict is told."""

    def __init__(self) -> None:
        self.stash = pytest.Stash()
        self.warned: list[str] = []

    def warn(self, warning: Warning) -> None:
        self.warned.append(str(warning))

    def becomes(self, verdict: Verdict, held: Verdict | None, *, strict: bool) -> str:
        """The failure of the test; else whether it warns, or counts as not measured."""
        try:
            _conclude(cast("pytest.Item", self), "order", verdict, held, strict=strict)
        except pytest.fail.Exception as failure:
            return str(failure)
        return "warns" if self.warned else "unmeasured" if UNMEASURED in self.stash else ""


@pytest.mark.parametrize(("verdict", "held", "strict", "expected"), CONCLUSIONS.values(), ids=CONCLUSIONS)
def test_a_test_has_the_verdict_of_its_check_and_of_its_baseline(
    verdict: Verdict, held: Verdict | None, strict: bool, expected: str
) -> None:
    assert Item().becomes(verdict, held, strict=strict) == expected


def test_a_warning_and_what_was_not_measured_tell_the_check_and_the_reason() -> None:
    item = Item()
    item.becomes(BUSY, None, strict=False)
    item.becomes(LACKING, None, strict=False)
    assert item.warned == ["order: inconclusive: too busy"]
    assert item.stash[UNMEASURED] == ["order was not measured: no workers"]


class Refusing(Item):
    """A test under ``filterwarnings = error``."""

    def warn(self, warning: Warning) -> None:
        warnings.warn(warning, stacklevel=1)
        super().warn(warning)


def test_a_busy_machine_fails_no_test_where_warnings_are_errors() -> None:
    item = Refusing()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.warns(DataLoaderWarning, match="too busy"):
            assert item.becomes(BUSY, None, strict=False) == "warns"


class Loader:
    """Stands for one that is never read."""


def test_what_a_check_knew_when_it_was_interrupted_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    known = replace(evidence.FDS, peak=1000)
    subject = Subject("train", "train", Loader())
    told = interrupted(monkeypatch, subject, known)
    assert [(record.check, record.verdict, record.evidence["peak"]) for record in told] == [("fds", "failed", 1000)]
    assert told[0].missed == ("max_fd_use",)
    assert interrupted(monkeypatch, subject, None) == []


def interrupted(monkeypatch: pytest.MonkeyPatch, subject: Subject, known: object) -> list[Record]:
    """The records of a test whose check has told so much when it is interrupted."""

    def measure(runner: Runner, *_given: Any) -> None:
        runner.known = known
        raise KeyboardInterrupt

    options: Any = SimpleNamespace(
        seconds=1.0, bench=True, quick=False, whole_epoch=False, trace=None, html=None, strict=False
    )
    item: Any = SimpleNamespace(
        nodeid="test_it.py::test_it", user_properties=[], config=SimpleNamespace(stash=pytest.Stash())
    )
    item.config.stash[BENCH] = Bench(options)
    monkeypatch.setattr(Runner, "measure", measure)
    monkeypatch.setattr(outcome, "progress_line", lambda _config: None)
    monkeypatch.setattr(loaders, "describe", lambda _loader: "a loader")
    with pytest.raises(KeyboardInterrupt):
        examine(item, subject, "fds", {"max_fd_use": 0.5})
    told = list(records_in(item.user_properties))
    assert item.config.stash[BENCH].ledger == ({item.nodeid: told} if told else {})
    return told
