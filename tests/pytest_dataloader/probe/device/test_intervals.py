"""Unions of intervals against sets of moments."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from pytest_dataloader.probe.device.intervals import difference, intersection, length, union, within

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_dataloader.probe.device.intervals import Interval

INTERVALS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=12)


def moments(intervals: Iterable[Interval]) -> set[int]:
    return {moment for begin, end in intervals for moment in range(begin, end)}


def is_union(intervals: list[Interval]) -> bool:
    return all(begin < end for begin, end in intervals) and all(
        before[1] < after[0] for before, after in itertools.pairwise(intervals)
    )


@given(INTERVALS)
def test_a_union_has_each_moment_once(intervals: list[Interval]) -> None:
    found = union(intervals)
    assert is_union(found)
    assert moments(found) == moments(intervals)
    assert length(found) == len(moments(intervals))


@given(INTERVALS, INTERVALS)
def test_what_lies_in_both_and_what_lies_in_one_alone(left: list[Interval], right: list[Interval]) -> None:
    one, other = union(left), union(right)
    both, alone = intersection(one, other), difference(one, other)
    assert moments(both) == moments(one) & moments(other)
    assert moments(alone) == moments(one) - moments(other)
    assert length(both) + length(alone) == length(one)


@given(INTERVALS, st.integers(0, 40), st.integers(0, 40))
def test_the_part_within_an_interval(intervals: list[Interval], begin: int, end: int) -> None:
    assert moments(within(union(intervals), (begin, end))) == moments(intervals) & moments([(begin, end)])
