"""A figure held against a limit."""

from __future__ import annotations

import pytest

from pytest_dataloader.limit_tests import LimitOutcome, LimitTest, judge_limit_tests
from pytest_dataloader.quantities import figure
from pytest_dataloader.verdict import Advice

ADVICE = (Advice("DL207", "use workers"),)


def floor(seen: float, *, low: float, high: float, best: float | None = None) -> LimitTest:
    return LimitTest("samples/s", 1000, seen, low, high, high if best is None else best)


def ceiling(seen: float, *, low: float, high: float, best: float | None = None) -> LimitTest:
    return LimitTest("ms of CPU per sample", 10, seen, low, high, low if best is None else best, floor=False)


@pytest.mark.parametrize(
    ("test", "outcome", "certain"),
    [
        (floor(1200, low=1100, high=1300), "kept", True),
        (floor(1000, low=1000, high=1000), "kept", True),
        (floor(1010, low=900, high=1100), "kept", False),
        (floor(980, low=950, high=1010), "close", False),
        (floor(900, low=880, high=915), "close", False),
        (floor(800, low=780, high=820), "missed", False),
        (floor(800, low=780, high=820, best=1001), "close", False),
        (floor(800, low=400, high=1600, best=800), "close", False),
        (floor(0, low=0, high=0), "close", False),
        (ceiling(8, low=7, high=9), "kept", True),
        (ceiling(9.9, low=9, high=11), "kept", False),
        (ceiling(10.5, low=10.2, high=10.8), "close", False),
        (ceiling(12, low=11.8, high=12.5), "missed", False),
        (ceiling(12, low=11.8, high=12.5, best=9.9), "close", False),
        (ceiling(0, low=0, high=0), "close", False),
    ],
)
def test_a_limit_is_kept_missed_or_close(test: LimitTest, outcome: LimitOutcome, certain: bool) -> None:
    assert (test.outcome(1.1), test.certain) == (outcome, certain)


@pytest.mark.parametrize(
    ("tests", "disturbances", "outcome", "words"),
    [
        (
            [floor(1200, low=1100, high=1300)],
            [],
            "passed",
            "1,200 samples/s (95 % CI 1,100 to 1,300), limit: at least 1,000",
        ),
        ([floor(1200, low=1100, high=1300)], ["noise"], "passed", "\nthe machine was busy: noise"),
        ([floor(800, low=780, high=820)], [], "failed", "limit: at least 1,000\nthe machine was quiet: still"),
        ([floor(800, low=780, high=820)], ["noise", "smoke"], "inconclusive", "too busy to say: noise, smoke"),
        ([floor(99, low=98, high=99)], ["noise"], "failed", "busy (noise), but 10 times better would still miss"),
        ([floor(99, low=98, high=101)], ["noise"], "inconclusive", "too busy to say: noise"),
        ([floor(50, low=48, high=52, best=101)], ["noise"], "inconclusive", "too busy to say: noise"),
        ([ceiling(120, low=101, high=130)], ["noise"], "failed", "limit: at most 10\nthe machine was busy"),
        ([floor(800, low=780, high=820), ceiling(120, low=101, high=130)], ["noise"], "failed", "120 ms of CPU"),
        (
            [floor(980, low=950, high=1010)],
            [],
            "inconclusive",
            "too close to call: it fails once it certainly misses by 10 %",
        ),
        ([floor(1200, low=1100, high=1300), ceiling(12, low=11.8, high=12)], [], "failed", "limit: at most 10"),
        ([floor(980, low=950, high=1010), ceiling(12, low=11.8, high=12)], [], "failed", "980 samples/s"),
    ],
)
def test_limit_tests_make_a_verdict(tests: list[LimitTest], disturbances: list[str], outcome: str, words: str) -> None:
    verdict = judge_limit_tests(tests, margin=1.1, hopeless=10, disturbances=disturbances, quiet="still", advice=ADVICE)
    assert verdict.outcome == outcome
    assert words in verdict.reason
    assert verdict.advice == (() if outcome == "passed" else ADVICE)


def test_what_is_kept_is_not_complained_about() -> None:
    verdict = judge_limit_tests(
        [floor(1200, low=1100, high=1300), ceiling(12, low=11.8, high=12)],
        margin=1.1,
        hopeless=10,
        disturbances=[],
        quiet="still",
    )
    assert "samples/s" not in verdict.reason


def test_a_reason_of_the_check_replaces_too_close() -> None:
    verdict = judge_limit_tests(
        [floor(980, low=950, high=1010)],
        margin=1.1,
        hopeless=10,
        disturbances=[],
        quiet="",
        close="its epochs are short",
    )
    assert verdict.reason.endswith("\nits epochs are short")


@pytest.mark.parametrize(("value", "text"), [(1234567.8, "1,234,568"), (99.96, "100"), (1.5, "1.5"), (0, "0")])
def test_figures_have_three_digits(value: float, text: str) -> None:
    assert figure(value) == text
