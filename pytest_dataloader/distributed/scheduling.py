"""Which worker of pytest-xdist measures: one does, whoever shares out the other tests."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class TargetScheduling:
    """A scheduler of pytest-xdist that sends what is measured to one worker, and leaves other tests to another one.

    Workers put what is measured behind all else, so the other scheduler numbers its tests as they do and hears of
    nothing else. A worker does first what it is sent first: it measures before it runs what the other scheduler gives
    it, and ends after both. Should it die, the worker in its place goes on with the next item.

    The groups of ``--dist loadgroup`` are no means to this: pytest-xdist 3.8 appends them to ``Node._nodeid``, which
    pytest 9.2 does not read any more, and runs an item that its worker died in again and again.
    """

    def __init__(self, others: Any, is_measured: Callable[[str], bool]) -> None:
        self._others = others
        self._is_measured = is_measured
        self._measured: dict[int, str] | None = None
        self._pending: dict[int, str] = {}
        self._worker: Any = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._others, name)

    @property
    def tests_finished(self) -> bool:
        """True once workers may be told that nothing more will come; they do what they were sent all the same."""
        return bool(self._others.tests_finished) and (self._worker is not None or not self._pending)

    def add_node_collection(self, node: Any, collection: Sequence[str]) -> None:
        first = len(collection)
        while first and self._is_measured(collection[first - 1]):
            first -= 1
        measured = dict(list(enumerate(collection))[first:])
        if self._measured is None:
            self._measured, self._pending = measured, measured.copy()
        elif measured != self._measured:  # the other scheduler tells what differs, and nothing is measured
            first, self._pending = len(collection), {}
        # A scheduler that has no tests takes no worker in the place of one that died.
        if first or not self._others.collection_is_completed:
            self._others.add_node_collection(node, collection[:first])

    def schedule(self) -> None:
        if self._worker is None and self._pending:
            # The last one: in the place of one that died, or the one that gets the smallest groups of other tests.
            self._worker = self._others.nodes[-1]
            self._worker.send_runtest_some(list(self._pending))
        began = self._others.has_pending
        self._others.schedule()
        if began:
            # LoadScopeScheduling gives one test to a worker that comes late, which waits with it for a second one.
            self._others.schedule()

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        if self._pending.pop(item_index, None) is None:
            self._others.mark_test_complete(node, item_index, duration)

    def remove_node(self, node: Any) -> str | None:
        if node is not self._worker or not self._pending:
            crashed: str | None = self._others.remove_node(node)
            return crashed
        self._worker = None
        crashed = self._pending.pop(next(iter(self._pending)))
        # KeyError: it had nothing for this worker. NotImplementedError: it runs its test again without being asked.
        with contextlib.suppress(KeyError, NotImplementedError):
            not_begun = self._others.remove_node(node)
            if not_begun is not None:
                self._others.mark_test_pending(not_begun)
        return crashed

    def mark_test_pending(self, item: str) -> None:
        """Run an item once more that its worker died in: plugins that repeat failed tests ask for it."""
        again = {index: nodeid for index, nodeid in (self._measured or {}).items() if nodeid == item}
        if again:
            self._pending = again | self._pending
        else:
            self._others.mark_test_pending(item)
