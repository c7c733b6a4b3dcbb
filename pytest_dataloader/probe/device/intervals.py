"""Sets of moments as sorted, disjoint intervals of whole nanoseconds."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Interval = tuple[int, int]
"""The moments from a beginning to an end, which is behind it and no part of it."""


def union(intervals: Iterable[Interval]) -> list[Interval]:
    """The moments that lie in any interval.

    >>> union([(5, 9), (1, 3), (2, 4), (4, 4)])
    [(1, 4), (5, 9)]
    """
    merged: list[Interval] = []
    for begin, end in sorted(intervals):
        if begin >= end:
            continue
        if merged and begin <= merged[-1][1]:
            if end > merged[-1][1]:
                merged[-1] = (merged[-1][0], end)
        else:
            merged.append((begin, end))
    return merged


def intersection(left: Sequence[Interval], right: Sequence[Interval]) -> list[Interval]:
    """The moments that lie in both of two unions.

    >>> intersection([(0, 5), (8, 10)], [(3, 9)])
    [(3, 5), (8, 9)]
    """
    found: list[Interval] = []
    i = j = 0
    while i < len(left) and j < len(right):
        begin, end = max(left[i][0], right[j][0]), min(left[i][1], right[j][1])
        if begin < end:
            found.append((begin, end))
        if left[i][1] < right[j][1]:
            i += 1
        else:
            j += 1
    return found


def difference(left: Sequence[Interval], right: Sequence[Interval]) -> list[Interval]:
    """The moments of one union that lie outside of another.

    >>> difference([(0, 10)], [(2, 3), (9, 12)])
    [(0, 2), (3, 9)]
    """
    found: list[Interval] = []
    j = 0
    for begin, end in left:
        while j < len(right) and right[j][1] <= begin:
            j += 1
        at, ahead = begin, j
        while ahead < len(right) and right[ahead][0] < end:
            if at < right[ahead][0]:
                found.append((at, right[ahead][0]))
            at = max(at, right[ahead][1])
            ahead += 1
        if at < end:
            found.append((at, end))
    return found


def within(intervals: Sequence[Interval], span: Interval) -> list[Interval]:
    """The part of a union that lies in one interval, without a look at the rest.

    >>> within([(0, 4), (6, 8), (9, 12)], (3, 10))
    [(3, 4), (6, 8), (9, 10)]
    """
    found: list[Interval] = []
    at = max(0, bisect_right(intervals, (span[0],)) - 1)
    while at < len(intervals) and intervals[at][0] < span[1]:
        begin, end = max(intervals[at][0], span[0]), min(intervals[at][1], span[1])
        if begin < end:
            found.append((begin, end))
        at += 1
    return found


def length(intervals: Iterable[Interval]) -> int:
    """How many nanoseconds a union has."""
    return sum(end - begin for begin, end in intervals)
