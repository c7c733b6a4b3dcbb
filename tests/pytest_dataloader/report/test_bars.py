"""Bars: how long they are, what stands out, and what is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_dataloader.report.bars import of_stages, of_throughput, of_transfer, of_waiting
from pytest_dataloader.report.console import rendered

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import RenderableType

STAGES: dict[str, Any] = {
    "bottleneck": "fetch",
    "ms_per_sample": {"read": 0.0, "fetch": 4.0, "collate": 1.0, "send": 0.2, "receive": 0.25, "consumer": 0.0},
    "pace_ms_per_sample": {"read": 0.0, "fetch": 2.0, "collate": 0.5, "send": 0.1, "receive": 0.0, "consumer": 0.0},
    "workers": 2,
    "simulated": {"share": 0.25, "step_ms": 35.0},
}
THROUGHPUT: dict[str, Any] = {"samples_per_second": 1000.0, "interval": [900.0, 1100.0]}


def lines(drawn: Iterable[RenderableType], width: int = 80) -> list[str]:
    return [line for each in drawn for line in rendered(each, width, encoding="ascii").splitlines()]


def test_each_stage_that_takes_time_gets_a_bar() -> None:
    assert lines(of_stages(STAGES)) == [
        "ms/sample (wall, 2 workers)",
        f"fetch   2   {'-' * 40}",
        f"collate 0.5 {'-' * 10}",
        "send    0.1 --",
        "overlapped: receive 0.25",
    ]
    assert lines(of_stages({"bottleneck": ""})) == []
    assert lines(of_stages({**STAGES, "workers": 0}))[0] == "ms/sample (wall)"
    assert "\x1b[1mfetch" in "".join(rendered(each, colours=True) for each in of_stages(STAGES))


@pytest.mark.parametrize("width", [24, 40, 72])
def test_bars_fit_the_width(width: int) -> None:
    assert max(map(len, lines(of_stages(STAGES), width))) <= width


@pytest.mark.parametrize(
    ("threshold", "words", "length"),
    [
        (2000.0, "threshold 50 % of 2,000 samples/s", 20),
        (500, "threshold 200 % of 500 samples/s", 40),
        (2.0, "threshold 500 times 2 samples/s", 40),
    ],
)
def test_a_rate_is_drawn_beside_its_threshold(threshold: float, words: str, length: int) -> None:
    [drawn] = lines(of_throughput(THROUGHPUT, {"min_samples_per_second": threshold}), 100)
    assert drawn.strip() == f"{words} {'-' * length}"


def test_a_rate_that_is_unknown_or_unlimited_is_not_drawn() -> None:
    assert lines(of_throughput(THROUGHPUT, {})) == []
    assert lines(of_throughput({"samples_per_second": None}, {"min_samples_per_second": 3.0})) == []


def test_the_data_wait_is_drawn_where_a_step_was_given() -> None:
    assert lines(of_waiting(STAGES)) == [f"data wait 25 % of a 35 ms step {'-' * 10}"]
    assert lines(of_waiting({**STAGES, "simulated": None})) == []


def test_a_device_has_a_bar_for_each_thing_it_does() -> None:
    shares = {"compute": 0.5, "copying": 0.25, "idle_waiting": 0.25, "idle_other": 0.0}
    drawn = lines(of_transfer({"shares": shares}))
    assert [line.count("-") for line in drawn] == [20, 10, 10, 0]
    assert drawn[2].startswith("idle: data wait 25 %")
