"""Reports survive the cache, and nothing else passes for one."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from dl_lint.engine.report import Entry, Failure, Report, Reported, decode, encode
from dl_lint.rule import Edit, Finding, Fix, Operation, Related
from dl_lint.source.positions import Place
from hypothesis import given
from hypothesis import strategies as st

RULES = {entry.code: entry for entry in (Entry("DL101", "a", "bug", "m"), Entry("DL102", "b", "advice", "m"))}

numbers = st.integers(0, 10_000)
places = st.builds(Place, st.text(max_size=5), st.tuples(numbers, numbers, numbers, numbers))
operations = st.sampled_from(get_args(Operation))
edits = st.lists(st.builds(Edit, places, st.text(max_size=5), operations), max_size=3).map(tuple)
fixes = st.none() | st.builds(Fix, st.text(max_size=5), edits, st.booleans())
related = st.lists(st.builds(Related, places, st.text(max_size=5)), max_size=2).map(tuple)
findings = st.builds(Finding, places, st.text(), st.text(), related, fixes, st.booleans(), cost=st.none() | numbers)
reported = st.builds(Reported, st.sampled_from([*RULES.values()]), findings)
failures = st.builds(Failure, st.text(max_size=5), st.text(max_size=5), st.none() | numbers)
reports = st.builds(
    Report, st.lists(reported, max_size=4).map(tuple), st.lists(failures, max_size=3).map(tuple), numbers
)


@given(reports)
def test_a_report_comes_back_from_json(report: Report) -> None:
    assert decode(json.loads(json.dumps(encode(report))), RULES) == report


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"findings": [["DL999", ["a", 1, 0, 1, 1], "m", "r", [], None, False]], "failures": [], "checked": 1},
        {"findings": [["DL101", ["a", 1, 0], "m", "r", [], None, False]], "failures": [], "checked": 1},
        {"findings": [], "failures": [["a"]], "checked": 1},
        {"findings": None, "failures": [], "checked": 1},
        {"findings": [], "failures": [], "checked": "many"},
    ],
)
def test_anything_else_is_refused(record: dict[str, Any]) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        decode(record, RULES)


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (Failure("a.py", "is odd", 3), "a.py:3: is odd"),
        (Failure("a.py", "is odd"), "a.py: is odd"),
        (Failure("", "is odd"), "is odd"),
    ],
)
def test_a_failure_says_where_as_far_as_it_knows(failure: Failure, said: str) -> None:
    assert str(failure) == said
