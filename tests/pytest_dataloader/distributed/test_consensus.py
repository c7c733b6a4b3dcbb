"""The verdicts of all ranks as one."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_dataloader.distributed.consensus import Told, agree, by_rank
from pytest_dataloader.record import Record
from pytest_dataloader.verdict import Advice


def told(verdict: Any, reason: str = "so it is", check: str = "throughput", **evidence: Any) -> Told:
    advice = (Advice("DL207", "use workers"),) if verdict == "failed" else ()
    return Told(Record("train", "t.py::test", "a loader", check, verdict, reason, evidence, {}, advice))


@pytest.mark.parametrize(
    ("ranks", "outcome", "head"),
    [
        ([told("passed", "900 samples/s")], "passed", "900 samples/s"),
        (
            [told("passed", "fast", samples_per_second=900.0), told("passed", "slow", samples_per_second=300.0)],
            "passed",
            "rank 1 of 2, the slowest: slow",
        ),
        (
            [told("passed", "same", samples_per_second=900.0), told("passed", "same", samples_per_second=900.0)],
            "passed",
            "same",
        ),
        (
            [told("passed", f"grows {size}", "memory", growth_bytes_per_worker=size) for size in (3, 9)],
            "passed",
            "rank 1 of 2, whose workers grow most: grows 9",
        ),
        ([told("passed"), told("inconclusive", "busy")], "inconclusive", "rank 1 of 2: busy"),
        ([told("not_measured", "no fork"), told("passed")], "not_measured", "rank 0 of 2: no fork"),
        ([told("inconclusive"), told("failed", "too slow"), told("passed")], "failed", "rank 1 of 3: too slow"),
        ([told("passed"), told("failed", "raised 3")], "failed", "rank 1 of 2: raised 3"),
    ],
)  # fmt: skip
def test_the_worst_verdict_is_that_of_all_in_the_words_of_its_rank(ranks: list[Told], outcome: str, head: str) -> None:
    verdict = agree(dict(enumerate(ranks)), {}, len(ranks))
    first, *lines = verdict.reason.splitlines()
    assert (verdict.outcome, first) == (outcome, head)
    assert [line.split(":")[0] for line in lines] == [f"  rank {rank}" for rank in range(len(ranks))]


def test_the_advice_is_that_of_the_rank_that_fails() -> None:
    verdict = agree({0: told("passed"), 1: told("failed")}, {}, 2)
    assert [advice.code for advice in verdict.advice] == ["DL207"]


def test_a_rank_that_says_nothing_fails_the_check_for_all() -> None:
    verdict = agree({0: told("passed")}, {1: "nothing was heard of it for 60 s"}, 2)
    assert verdict.outcome == "failed"
    assert verdict.reason.startswith("rank 1 of 2 gave no verdict: nothing was heard of it for 60 s\n  rank 0: passed")


def test_hundreds_of_ranks_fit_on_a_screen() -> None:
    verdict = agree({rank: told("passed") for rank in range(512)}, {}, 512)
    assert len(verdict.reason.splitlines()) == 66
    assert verdict.reason.endswith("and 448 more")


def test_what_a_rank_says_survives_the_store() -> None:
    said = told("failed", "two\nlines", samples_per_second=1.5)
    assert Told.decode(said.encode()) == said


def test_json_has_the_figures_of_each_rank() -> None:
    entries = by_rank({1: told("passed", samples_per_second=2.0), 0: told("passed", samples_per_second=1.0)})
    assert [(entry["rank"], entry["evidence"]["samples_per_second"]) for entry in entries] == [(0, 1.0), (1, 2.0)]
