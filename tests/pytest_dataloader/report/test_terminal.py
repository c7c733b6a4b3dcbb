"""The summary: one line for a healthy loader, failures first with cause and remedy, all the rest on demand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_dataloader.record import Record
from pytest_dataloader.report import terminal
from pytest_dataloader.report.console import rendered
from pytest_dataloader.verdict import HEADLINE_CHARACTERS, UNSUPPORTED, Advice, Outcome, headline


def record(check: str, verdict: Outcome, reason: str = "so", id_: str = "train", **figures: Any) -> Record:
    advice = (Advice("DL204", "persistent_workers=True"), Advice("", "a faster disk")) if verdict == "failed" else ()
    return Record(id_, f"pyproject.toml::{id_}", "DataLoader(Jpeg)", check, verdict, reason, figures, {}, advice)


STAGES: dict[str, Any] = {"bottleneck": "fetch", "pace_ms_per_sample": {"fetch": 0.65, "collate": 0.35}}
HEALTHY = [
    record("throughput", "passed", "2,001 samples/s\n95 % CI 1,950 to 2,050", samples_per_second=2001.2),
    record("stages", "passed", **STAGES),
    record("fds", "passed"),
]
FAULTY = [
    record("order", "passed", id_="val"),
    record("memory", "failed", "24.7 MB per worker\n5 % seen", "val", attribute_filled_at="data.py:20", x=812.345),
    record("workers", "inconclusive", "too busy\nmore about it", "val"),
    record("shards", "not_measured", "no DistributedSampler", "val"),
]


def lines(records: list[Record], verbosity: int = 0, width: int = 80, **more: Any) -> list[str]:
    return rendered(terminal.report_summary(records, verbosity, **more), width).splitlines()


def test_a_healthy_loader_is_one_line() -> None:
    assert lines(HEALTHY) == ["train  3 passed · 2,001 samples/s · bottleneck: __getitem__, CPU 65 %"]
    assert lines(HEALTHY[2:]) == ["train  fds passed"]
    noted = replace(HEALTHY[2], advice=(Advice("", "pin"), Advice("DL204", "keep workers")))
    assert lines([*HEALTHY[:2], noted])[0].endswith(" 65 % · 2 notes")
    assert "notes" not in lines([*HEALTHY[:2], noted], 1)[0]


def test_a_training_is_a_fact_of_its_loader_and_shown_where_something_could_be_changed() -> None:
    seen = record("training", "passed", "waited 12 %\nmore", batches=9, samples_per_second=814.2, input_wait=0.123)
    line = "train  2 passed · training: 814 samples/s, 12 % data wait"
    assert lines([seen, record("fds", "passed")]) == [line]
    waits = replace(seen, advice=(Advice("DL207", "give the loader workers"),))
    shown = lines([waits, record("fds", "passed")])
    assert shown == [line, "  training passed: waited 12 %", "    DL207: give the loader workers"]


def test_failures_come_first_with_headline_place_and_one_remedy() -> None:
    assert lines([*HEALTHY, *FAULTY]) == [
        "val  1 failed, 1 inconclusive, 1 passed, 1 not measured",
        "  memory failed: 24.7 MB per worker",
        "    at data.py:20",
        "    DL204: persistent_workers=True",
        "  workers inconclusive: too busy",
        "train  3 passed · 2,001 samples/s · bottleneck: __getitem__, CPU 65 %",
    ]


def test_a_failure_that_stands_above_is_counted_and_not_repeated() -> None:
    shown = lines(FAULTY, reported={("val", "memory"), ("val", "workers")})
    assert shown == ["val  1 failed, 1 inconclusive, 1 passed, 1 not measured"]
    assert any("24.7 MB" in line for line in lines(FAULTY, 1, reported={("val", "memory"), ("val", "workers")}))


def test_quiet_leaves_remedies_out_and_verbose_shows_every_check_then_all_evidence() -> None:
    assert not any("DL204" in line for line in lines(FAULTY, -1))
    full = lines(FAULTY, 1)
    assert full == [
        "val  1 failed, 1 inconclusive, 1 passed, 1 not measured",
        "  DataLoader(Jpeg)",
        "  memory failed: 24.7 MB per worker",
        "    5 % seen",
        "    DL204: persistent_workers=True",
        "    fix: a faster disk",
        "  workers inconclusive: too busy",
        "    more about it",
        "  order passed: so",
        "  shards not measured: no DistributedSampler",
    ]
    assert [line for line in lines(FAULTY, 2) if line not in full] == [
        "    attribute_filled_at = data.py:20",
        "    x = 812.3",
    ]
    assert "━" in "".join(lines(HEALTHY, 1))


def test_checks_that_one_fault_keeps_from_measuring_have_one_line() -> None:
    later = [record(check, "not_measured", "the loader raises: see workers") for check in ("fds", "shm")]
    one = [record("workers", "failed", "worker 0 raised"), *later, record("resume", "not_measured", "no state")]
    assert lines(one)[-1:] == ["  not measured: fds, shm: the loader raises: see workers"]
    assert not any("no state" in line for line in lines(one))


def test_a_loader_of_which_nothing_was_measured_says_why() -> None:
    assert lines([record("shards", "not_measured", "no DistributedSampler")]) == [
        "train  shards not measured",
        "  not measured: shards: no DistributedSampler",
    ]


def test_what_applies_and_saw_nothing_needs_a_look() -> None:
    vacuous = replace(record("order", "not_measured", "the epoch is empty"), vacuous=True)
    assert lines([vacuous, *HEALTHY], width=100)[1] == "  order not measured: the epoch is empty"


def test_a_torch_that_is_not_supported_is_the_first_line() -> None:
    why = f"{UNSUPPORTED}2.16.0: _worker_loop takes profiler"
    records = [record(check, "not_measured", why, id_) for id_ in ("train", "val") for check in ("fds", "memory")]
    assert lines([*HEALTHY, *records])[0] == "unsupported torch 2.16.0: not measured: fds, memory"


def test_a_loader_that_was_not_built_has_no_block() -> None:
    assert lines([replace(HEALTHY[0], description="")]) == []


@pytest.mark.parametrize("width", [40, 80, 120])
def test_texts_are_wrapped_to_the_width_and_lose_no_word(width: int) -> None:
    long = record("memory", "failed", "\n".join([" ".join(["word"] * 20), "and more of it " * 9]))
    shown = lines([long], 1, width)
    assert max(map(len, shown)) <= width
    assert " ".join(" ".join(shown).split()).count("word") == 20


def test_the_last_line_counts_and_says_what_to_do_next() -> None:
    def last(records: list[Record], **more: Any) -> str:
        return rendered(terminal.closing(records, 12.3, **more)).rstrip()

    assert last([*HEALTHY, *FAULTY]) == (
        "1 failed, 1 inconclusive, 4 passed, 1 not measured in 12 s · next: dl-lint --select DL204"
    ).replace(" --select DL204", "\n--select DL204")
    assert last(HEALTHY) == "3 passed in 12 s · -v shows all checks"
    assert last(HEALTHY, verbosity=1) == "3 passed in 12 s"


def test_colours_are_those_of_the_verdicts_and_nothing_is_obeyed_that_others_wrote() -> None:
    hostile = record("memory", "failed", "\x1b[2J\n::error::no", "a\x1b[2Jb")
    plain = rendered(terminal.report_summary([hostile], 1))
    assert "\x1b" not in plain
    assert not any(line.lstrip().startswith("::") for line in plain.splitlines())
    coloured = rendered(terminal.report_summary([hostile], 1), colours=True)
    assert "\x1b[1;31mmemory failed" in coloured
    assert "\x1b[2J" not in coloured


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "no such", None])
def test_an_output_without_blocks_gets_other_characters(encoding: str | None) -> None:
    content = terminal.report_summary([record("stages", "passed", "größer → than", **STAGES)], 1)
    shown = rendered(content, encoding=encoding)
    assert "----" in shown
    assert "\\u2192" in shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(12345678.9, "1.235e+07"), (812.34567, "812.3"), (12345678, "12345678"), (None, "-"), ("a", "a")],
)
def test_figures_are_cut_for_reading(value: object, shown: str) -> None:
    assert lines([record("memory", "passed", "", x=value)], 2)[-1].strip() == f"x = {shown}"


@pytest.mark.parametrize("reason", ["word " * 60, "a; " * 60, "one\ntwo", "x" * 300, ""])
def test_a_headline_is_the_first_clause_and_short(reason: str) -> None:
    assert len(headline(reason)) <= HEADLINE_CHARACTERS
    assert "\n" not in headline(reason)
