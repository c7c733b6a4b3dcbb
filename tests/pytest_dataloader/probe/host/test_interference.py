"""What the rest of the machine did meanwhile."""

from __future__ import annotations

import os
import time
from dataclasses import replace

import pytest

from pytest_dataloader.probe.host.interference import QUIET, read_machine, read_stat, read_throttled

pytestmark = pytest.mark.xdist_group("cpu")

TICK = 10**9 // os.sysconf("SC_CLK_TCK")
STAT = [
    "cpu  9 9 9 9 9 9 9 9 9 9",
    "cpu0 10 1 2 500 3 4 5 6 7 8",
    "cpu1 20 0 0 400 0 0 0 2 0 0",
    "intr 1 cpu2",
    "cpu2 5",
]


def test_only_the_cpus_allowed_count() -> None:
    assert read_stat(STAT, frozenset({0})) == (22 * TICK, 6 * TICK)
    assert read_stat(STAT, frozenset({0, 1})) == (42 * TICK, 8 * TICK)
    assert read_stat(STAT, frozenset({7})) == (0, 0)


def test_lines_of_old_kernels_without_steal_are_read() -> None:
    assert read_stat(["cpu0 10 1 2 500"], frozenset({0})) == (13 * TICK, 0)


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("usage_usec 5\nnr_throttled 2\nthrottled_usec 42", 42_000),
        ("nr_periods 9\nnr_throttled 2\nthrottled_time 42", 42),
        ("usage_usec 5", 0),
    ],
)
def test_throttling_is_read_in_both_dialects(text: str, nanoseconds: int) -> None:
    assert read_throttled(text) == nanoseconds


def test_own_work_shows_in_the_totals_of_the_machine() -> None:
    before = read_machine()
    stop = time.thread_time() + 0.2
    while time.thread_time() < stop:
        pass
    assert read_machine().busy_ns - before.busy_ns > 0.1 * 1e9


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, ""),
        ({"lost_share": 0.05, "others_share": 0.05, "own_share": 0.9}, ""),
        ({"lost_share": 0.3}, "CPU contention: 30 % of the time spent waiting for a CPU"),
        ({"others_share": 0.4, "own_share": 0.1}, ""),
        ({"others_share": 0.4, "own_share": 0.5}, "other processes used 40 % of the CPU time"),
        ({"steal_share": 0.1}, "the hypervisor took 10 %"),
        ({"throttled_share": 0.2, "own_share": 0.3}, "throttling by the control group's quota for 20 % of the time"),
        ({"throttled_share": 0.2, "own_share": 0.99}, ""),
        ({"cpu_slowdown": 1.6}, "took 1.6 times its fastest time"),
    ],
)
def test_disturbances_are_named(change: dict[str, float], words: str) -> None:
    found = replace(QUIET, **change).disturbances  # type: ignore[arg-type]  # mypy takes the values for any field
    assert len(found) == bool(words)
    assert words in "".join(found)
