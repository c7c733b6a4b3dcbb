"""Bars: what they are drawn with, how long they are, and what is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_dataloader.record import Record
from pytest_dataloader.report import terminal
from pytest_dataloader.report.bars import ASCII, BLOCKS, Ink, bar, ink_for, of_stages, of_throughput, of_waiting

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_dataloader.report.line import Line

STAGES = {
    "bottleneck": "fetch",
    "ms_per_sample": {"read": 0.0, "fetch": 4.0, "collate": 1.0, "send": 0.2, "receive": 0.25, "consumer": 0.0},
    "pace_ms_per_sample": {"read": 0.0, "fetch": 2.0, "collate": 0.5, "send": 0.1, "receive": 0.0, "consumer": 0.0},
    "workers": 2,
    "simulated": {"share": 0.25, "step_ms": 35.0},
}
THROUGHPUT = {"samples_per_second": 1000.0, "interval": [900.0, 1100.0]}


def text(lines: Iterable[Line]) -> list[str]:
    return ["".join(piece for piece, _ in line) for line in lines]


@pytest.mark.parametrize(
    ("encoding", "ink"),
    [("utf-8", BLOCKS), ("UTF8", BLOCKS), ("ascii", ASCII), ("latin-1", ASCII), (None, ASCII), ("no such", ASCII)],
)
def test_blocks_are_for_encodings_that_have_them(encoding: str | None, ink: Ink) -> None:
    assert ink_for(encoding) is ink
    ASCII.text.encode("ascii")


def test_a_bar_is_as_long_as_its_share() -> None:
    assert [len(bar(share, 40, ASCII)) for share in (0, 0.25, 0.5, 1, 7)] == [0, 10, 20, 40, 40]
    assert bar(0.01, 10, BLOCKS) == "▏"


def test_each_stage_that_takes_time_gets_a_bar_and_the_slowest_stands_out() -> None:
    lines = list(of_stages(STAGES, 60, ASCII))
    assert text(lines) == [
        "          ms/sample  that pass, 2 workers side by side",
        f"fetch             2  {'#' * 39}",
        f"collate         0.5  {'#' * 9}",
        "send            0.1  ##",
        "beside    receive 0.25",
    ]
    assert [bool(line[0][1]) for line in lines] == [False, True, False, False, False]
    assert list(of_stages({"bottleneck": ""}, 60, ASCII)) == []
    many = {**STAGES, "ms_per_sample": {f"stage {at}": 1.0 for at in range(9)}}
    assert max(map(len, text(of_stages(many, 40, ASCII)))) <= 40
    assert "workers" not in text(of_stages({**STAGES, "workers": 0}, 60, ASCII))[0]


def test_a_rate_is_drawn_against_its_floor() -> None:
    limits = {"min_samples_per_second": 2000.0}
    [missed] = text(of_throughput(THROUGHPUT, limits, 60, ASCII))
    drawn, _, words = missed.partition("  ")
    assert words == "50 % of the floor of 2,000"
    assert (drawn.index("|"), drawn.count("-") in (3, 4)) == (len(drawn) - 1, True)
    assert drawn.count("#") == pytest.approx(0.45 * len(drawn), abs=1)
    [kept] = text(of_throughput(THROUGHPUT, {"min_samples_per_second": 500}, 60, ASCII))
    assert kept.index("|") == pytest.approx(kept.index("  ") / 2, abs=1)
    [far] = text(of_throughput(THROUGHPUT, {"min_samples_per_second": 2.0}, 60, ASCII))
    assert far.endswith("  500 times the floor of 2")
    assert list(of_throughput(THROUGHPUT, {}, 60, ASCII)) == []
    assert list(of_throughput({}, limits, 60, ASCII)) == []


def test_waiting_is_drawn_where_a_step_was_given() -> None:
    [line] = text(of_waiting(STAGES, 80, ASCII))
    assert line.startswith("waits    ###")
    assert line.endswith(".  25 % beside steps of 35 ms")
    assert text(of_waiting(STAGES, 30, ASCII)) == ["waits    25 % beside steps of 35 ms"]
    assert list(of_waiting({**STAGES, "simulated": None}, 80, ASCII)) == []


RECORDS = [
    Record("train", "n", "d", check, "passed", "so", evidence, limits)
    for check, evidence, limits in (
        ("throughput", THROUGHPUT, {"min_samples_per_second": 800.0}),
        ("stages", STAGES, {}),
        ("stages", {}, {}),
    )
]


@pytest.mark.parametrize("width", [None, 200, 80, 60, 50])
def test_drawings_fit_the_terminal_and_are_left_out_when_quiet(width: int | None) -> None:
    drawn = text(terminal.report_lines(RECORDS, 0, width))
    assert any("█" in line for line in drawn)
    assert max(map(len, drawn)) <= (width or 120)
    assert not any("█" in line for line in text(terminal.report_lines(RECORDS, -1, width)))
    assert "".join(text(terminal.report_lines(RECORDS, 0, width, ASCII))).isascii()


def test_evidence_without_a_figure_draws_nothing() -> None:
    nothing: dict[str, Any] = {"samples_per_second": None, "interval": [None, None]}
    assert list(of_throughput(nothing, {"min_samples_per_second": 3.0}, 60, ASCII)) == []
