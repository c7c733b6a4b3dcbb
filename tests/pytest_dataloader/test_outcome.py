"""Outcomes: what a verdict tells, and evidence that was not measured."""

from __future__ import annotations

import copy
import pickle
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pytest_dataloader.errors import NotMeasured
from pytest_dataloader.outcome import Unmeasured, message, plain_nodeid
from pytest_dataloader.verdict import Advice, Verdict


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
