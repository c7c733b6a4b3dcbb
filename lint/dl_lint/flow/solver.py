"""Memoised evaluation of facts that may depend on each other in circles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.flow.values import NOTHING, UNKNOWN, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable


DEEPEST = 64
"""Facts that may wait for one another; a chain of calls and assignments in real code is below 30, and one of eight
functions that each add options to a parser comes to 56."""


LARGEST = 2000
"""Facts in one circle that are each worked out on their own. fairseq, kornia, diffusers and DeepLearningExamples have
none of 1,024; one of 4,000, in this repository, took minutes."""


class Solver:
    """Evaluates each fact once.

    A fact that is asked for while it is being worked out counts as the empty union there. What rests on such an answer
    is kept only until the fact at the head of the circle is done, and worked out again when asked for on its own; in a
    circle of more than ``LARGEST`` facts it stays, and is not all that there may be.
    """

    def __init__(self) -> None:
        self.done: dict[Hashable, Value] = {}
        self._tentative: dict[Hashable, tuple[Value, int]] = {}
        self._trail: list[Hashable] = []
        self._active: dict[Hashable, int] = {}
        self._lowest: list[int] = []
        """For each fact being worked out, the shallowest one that it rests on."""

    @property
    def is_idle(self) -> bool:
        """Whether no fact is being worked out, so that what is found now is final."""
        return not self._lowest

    def solve(self, key: Hashable, compute: Callable[[], Value]) -> Value:
        found = self.done.get(key)
        if found is not None:
            return found
        tentative = self._tentative.get(key)
        if tentative is not None:
            self._rests_on(tentative[1])
            return tentative[0]
        depth = len(self._lowest)
        if key in self._active:
            self._rests_on(self._active[key])
            return NOTHING
        if depth >= DEEPEST:
            self._rests_on(0)
            return UNKNOWN
        return self._work_out(key, compute, depth)

    def _work_out(self, key: Hashable, compute: Callable[[], Value], depth: int) -> Value:
        start = len(self._trail)
        self._active[key] = depth
        self._lowest.append(depth)
        try:
            value = compute()
        finally:
            lowest = self._lowest.pop()
            del self._active[key]
        if lowest < depth:
            self._tentative[key] = (value, lowest)
            self._trail.append(key)
            self._rests_on(lowest)
            return value
        circle = self._trail[start:]
        for stale in circle:
            partial = self._tentative.pop(stale, None)
            if partial is not None and len(circle) > LARGEST:
                self.done[stale] = partial[0].widened()
        del self._trail[start:]
        self.done[key] = value
        return value

    def _rests_on(self, depth: int) -> None:
        if self._lowest:
            self._lowest[-1] = min(self._lowest[-1], depth)
