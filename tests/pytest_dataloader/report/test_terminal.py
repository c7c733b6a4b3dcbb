"""The summary: a block for each loader, as much of it as was asked for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_dataloader.record import Record
from pytest_dataloader.report import terminal
from pytest_dataloader.verdict import UNSUPPORTED, Advice, Outcome


def record(check: str, verdict: Outcome, reason: str, id_: str = "train", **figures: object) -> Record:
    advice = (Advice("DL204", "keep the workers"), Advice("", "use a faster disk")) if verdict == "failed" else ()
    return Record(id_, f"pyproject.toml::{id_}", "DataLoader(Jpeg)", check, verdict, reason, figures, {}, advice)


RECORDS = [
    record("throughput", "failed", "812 samples/s (790 to 834), floor 2,000", rate=812.345, shape=[1, None], parts={}),
    record("memory", "inconclusive", "too busy\nmore about it"),
    record("throughput", "not_measured", "run with --dataloader-bench", id_="val"),
]


def text(verbosity: int) -> list[str]:
    return ["".join(piece for piece, _ in line) for line in terminal.report_lines(RECORDS, verbosity)]


def test_a_block_names_the_loader_and_says_of_each_check_what_was_seen() -> None:
    assert text(0) == [
        "train  DataLoader(Jpeg)",
        "  throughput  failed        812 samples/s (790 to 834), floor 2,000",
        "              DL204: keep the workers",
        "              use a faster disk",
        "  memory      inconclusive  too busy",
        "val  DataLoader(Jpeg)",
        "  throughput  not measured  run with --dataloader-bench",
    ]


def test_quiet_leaves_advice_out_and_verbose_adds_the_figures() -> None:
    assert text(-1) == [line for line in text(0) if "DL204" not in line and "disk" not in line]
    added = [line for line in text(1) if line not in text(0)]
    assert added == [
        "              rate = 812.3",
        "              shape = [1, -]",
        "              parts = {}",
        "              more about it",
    ]


def test_checks_that_were_not_measured_for_one_reason_have_one_line() -> None:
    later = [record(check, "not_measured", "the loader raises: see workers") for check in ("fds", "shm")]
    one = [record("workers", "failed", "worker 0 raised"), *later, record("resume", "not_measured", "no state")]
    told = ["".join(piece for piece, _ in line) for line in terminal.report_lines(one, 0, 60)]
    assert told[-2:] == [
        "  resume   not measured  no state",
        "  not measured  fds, shm: the loader raises: see workers",
    ]
    assert sum("see workers" in "".join(piece for piece, _ in line) for line in terminal.report_lines(one, 1, 60)) == 2


def test_a_torch_that_is_not_supported_is_the_first_line() -> None:
    why = f"{UNSUPPORTED}2.16.0: _worker_loop takes profiler"
    records = [record(check, "not_measured", why, id_) for id_ in ("train", "val") for check in ("fds", "memory")]
    first, *rest = ["".join(piece for piece, _ in line) for line in terminal.report_lines([*RECORDS, *records], 0)]
    assert first == "unsupported torch 2.16.0: not measured: fds, memory"
    assert rest[: len(text(0)) - 2] == text(0)[:-2]
    assert f"  not measured  fds, memory: {why}" in rest


def test_a_loader_that_was_not_built_has_no_block() -> None:
    assert list(terminal.report_lines([replace(RECORDS[0], description="")], 0)) == []


def test_long_texts_are_wrapped_to_the_terminal() -> None:
    long = record("throughput", "failed", " ".join(["word"] * 20))
    wrapped = ["".join(piece for piece, _ in line) for line in terminal.report_lines([long], 0, 60)]
    assert max(map(len, wrapped)) <= 60
    assert wrapped[1].startswith("  throughput  failed  word word")
    assert wrapped[2].startswith(" " * 14 + "word")
    assert (
        " ".join(" ".join(wrapped[1:]).split())
        == f"throughput failed {long.reason} DL204: keep the workers use a faster disk"
    )
    narrow = ["".join(piece for piece, _ in line) for line in terminal.report_lines([long], 0, 40)]
    assert narrow[1].endswith(long.reason)


@pytest.mark.parametrize("verdict", ["passed", "failed", "inconclusive", "not_measured"])
def test_the_verdict_alone_is_coloured(verdict: Outcome) -> None:
    _, line = terminal.report_lines([record("memory", verdict, "reason")], -1)
    coloured = [(piece, markup) for piece, markup in line if markup]
    assert coloured == [(verdict.replace("_", " "), terminal.MARKUP[verdict])]


@pytest.mark.parametrize(
    ("value", "shown"),
    [(12345678.9, "1.235e+07"), (812.34567, "812.3"), (12345678, "12345678"), (None, "-"), ("a", "a")],
)
def test_figures_are_cut_for_reading(value: object, shown: str) -> None:
    lines = list(terminal.report_lines([record("memory", "passed", "", x=value)], 1))
    assert lines[-1][0][0].strip() == f"x = {shown}"
