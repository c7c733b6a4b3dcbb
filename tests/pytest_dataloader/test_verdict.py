"""Verdicts: values that nobody changes, and which of them a run fails for."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import FrozenInstanceError
from typing import get_args

import pytest

from pytest_dataloader.record import Record, record_of, records_in
from pytest_dataloader.verdict import UNSUPPORTED, Advice, Outcome, Verdict

KEEP = Advice("DL204", "keep the workers")
FAILS: dict[str, tuple[Verdict, str]] = {
    "passed": (Verdict("passed", "clean"), "never"),
    "failed": (Verdict("failed", "too slow"), "always"),
    "inconclusive": (Verdict("inconclusive", "too busy"), "strict"),
    "not measured": (Verdict("not_measured", "no accelerator"), "never"),
    "not measured, though the check applies": (Verdict("not_measured", "no sample", vacuous=True), "strict"),
}
"""When a run fails for a verdict: always, with --dataloader-strict, or never."""


def recorded(verdict: Verdict) -> Record:
    told = verdict.outcome, verdict.reason
    return Record("train", "n", "a loader", "order", *told, {}, {}, verdict.advice, vacuous=verdict.vacuous)


@pytest.mark.parametrize(("verdict", "when"), FAILS.values(), ids=FAILS)
def test_which_verdicts_a_run_fails_for(verdict: Verdict, when: str) -> None:
    record = recorded(verdict)
    assert record.fails(strict=False) is (when == "always")
    assert record.fails(strict=True) is (when in ("always", "strict"))


def test_every_outcome_has_a_row() -> None:
    assert {verdict.outcome for verdict, _ in FAILS.values()} == set(get_args(Outcome))


def test_a_verdict_is_sound_and_without_advice_unless_it_says_otherwise() -> None:
    verdict = Verdict("passed", "clean")
    assert (verdict.advice, verdict.vacuous) == ((), False)


@pytest.mark.parametrize("value", [Verdict("failed", "too slow", (KEEP,)), KEEP], ids=["verdict", "advice"])
def test_a_verdict_and_its_advice_are_values(value: Verdict | Advice) -> None:
    assert copy.deepcopy(value) == pickle.loads(pickle.dumps(value)) == value
    assert len({value, copy.deepcopy(value)}) == 1
    for name in value.__slots__:
        with pytest.raises(FrozenInstanceError):
            setattr(value, name, None)


@pytest.mark.parametrize("verdict", [verdict for verdict, _ in FAILS.values()], ids=FAILS)
def test_a_verdict_is_the_same_behind_a_report_of_a_test(verdict: Verdict) -> None:
    given = recorded(Verdict(verdict.outcome, f"{verdict.reason}\n  a second line", (KEEP,), verdict.vacuous))
    name, text = given.as_property()
    assert name == "dataloader.order"
    assert list(records_in([("other", "{}"), (name, text)])) == [given] == [record_of(json.loads(text))]


def test_what_an_unknown_torch_is_told_by_begins_a_sentence() -> None:
    assert UNSUPPORTED == "unsupported torch "
