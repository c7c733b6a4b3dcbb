"""Every test of a suite watched for what it leaves behind: the ini key ``dataloader_watch``."""

from __future__ import annotations

import contextlib
import sys
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from pytest_dataloader.advice import resources
from pytest_dataloader.printable import printable
from pytest_dataloader.probe.host import process_tree
from pytest_dataloader.probe.loader import reachability
from pytest_dataloader.probe.resources import leftovers
from pytest_dataloader.probe.resources.leftovers import Leftovers, LeftoverWatch, Snapshot
from pytest_dataloader.probe.resources.referrers import kept_storages, referrers
from pytest_dataloader.probe.resources.segment_registry import keep_segment_registry

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator

    from pytest_dataloader.probe.host.process_tree import ProcessInfo
    from pytest_dataloader.probe.resources.leftovers import ResourceKind


@dataclass(slots=True)
class _Owner:
    """A fixture that outlives the test it was set up for: its value, and what it is answerable for."""

    name: str
    scope: str
    value: Any
    before: Snapshot
    after: Snapshot


class _LoaderOwnership:
    """Which loaders were made by the test that runs, and which iterator was made from which loader."""

    def __init__(self) -> None:
        self.new_loaders: weakref.WeakSet[Any] = weakref.WeakSet()
        self.loader_of: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        self.in_fixture = 0
        self._ends: list[Callable[[], None]] = []

    def begin(self) -> None:
        """A test begins: what exists is older than it."""
        self.new_loaders = weakref.WeakSet()
        if not self._ends and "torch.utils.data" in sys.modules:
            from pytest_dataloader.probe.internals import torch_private
            from pytest_dataloader.probe.loader import construction

            self._ends = [
                construction.on_loader_construction(self._loader),
                torch_private.on_iterator_construction(self._iterator),
            ]

    def end(self) -> None:
        while self._ends:
            self._ends.pop()()

    def _loader(self, loader: Any) -> None:
        if not self.in_fixture:
            self.new_loaders.add(loader)

    def _iterator(self, iterator: Any, loader: Any) -> None:
        self.loader_of[iterator] = weakref.ref(loader)

    def is_kept_by_an_older_loader(self, iterator: Any) -> bool:
        """Whether a loader that was there before the test keeps the iterator, as persistent workers are kept."""
        known = self.loader_of.get(iterator)
        loader = known() if known is not None else None
        if loader is None or loader in self.new_loaders:
            return known is None  # made before this was watched
        return any(value is iterator for value in vars(loader).values())


class SuiteWatch:
    """Compares what is there before a test's setup and after its teardown, and fails the test that leaves something."""

    def __init__(self, kinds: Collection[ResourceKind]) -> None:
        self._kinds = kinds
        self._stack = contextlib.ExitStack()
        self._watch = LeftoverWatch(
            self._stack.enter_context(process_tree.keep_process_registry()),
            self._stack.enter_context(keep_segment_registry()),
        )
        self._ownership = _LoaderOwnership()
        self._owners: dict[Any, _Owner] = {}
        self._ended: list[_Owner] = []
        self._before: Snapshot | None = None
        self._failed = False
        self._prefixes = tuple({f"{prefix}/" for prefix in (sys.prefix, sys.base_prefix)})

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Generator[None]:
        self._ownership.begin()
        self._before, self._failed = self._watch.now(), False
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
        if fixturedef.scope == "function":
            return (yield)
        before = self._watch.now()
        self._ownership.in_fixture += 1
        try:
            value = yield
        finally:
            self._ownership.in_fixture -= 1
        self._owners[fixturedef] = _Owner(fixturedef.argname, fixturedef.scope, value, before, self._watch.now())
        return value

    def pytest_fixture_post_finalizer(self, fixturedef: pytest.FixtureDef[Any]) -> None:
        owner = self._owners.pop(fixturedef, None)
        if owner is not None:
            owner.value = None
            self._ended.append(owner)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        # A traceback keeps what the frames of a failed test use.
        self._failed |= call.excinfo is not None and not call.excinfo.errisinstance(pytest.skip.Exception)
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None]:
        result = yield
        ended, self._ended = self._ended, []
        if self._before is not None and not self._failed:
            arguments = getattr(item, "funcargs", None) or {}
            found = self._of_test(self._before, ended, arguments)
            found = found or next(filter(None, (self._of_fixture(owner, arguments) for owner in ended)), "")
            if found:
                pytest.fail(printable(f"{item.name}: {found}"), pytrace=False)
        return result

    def pytest_unconfigure(self) -> None:
        self._ownership.end()
        self._stack.close()

    def _of_test(self, before: Snapshot, ended: list[_Owner], arguments: dict[str, Any]) -> str:
        """What the test has left behind, in words; what belongs to a fixture that outlives it is the fixture's.

        Pytest forgets a test's ``arguments``, fixtures' values, only after the teardown; what they hold goes with them.
        """
        owners = [*self._owners.values(), *ended]
        excused: dict[int, bool] = {}

        def worth(left: Leftovers) -> Leftovers:
            left = _without_setup(left.only(self._kinds), owners)
            targets = tuple(each for each in left.targets if not leftovers.is_of_libraries(each[1], self._prefixes))
            left = self._watch.without_queues(Leftovers(left.workers, left.names, targets), before)
            if not left:
                return left
            workers = tuple(info for info in left.workers if not self._is_excused(info, excused))
            return Leftovers(workers, left.names, left.targets)

        left = self._watch.left_since(before, worth, arguments.clear)
        if left.batches and len(left.batches) <= self._storages_of_fixtures():
            left = Leftovers(left.workers, left.names, tuple(each for each in left.targets if each not in left.batches))
        return self._told("left behind", left)

    def _is_excused(self, info: ProcessInfo, known: dict[int, bool]) -> bool:
        """Whether a worker belongs to a loader that is older than the test, or that a fixture keeps."""
        if info.pid not in known:
            from pytest_dataloader.probe.internals import torch_private

            known[info.pid] = False
            for iterator in torch_private.live_iterators():
                if info.pid in {worker.pid for worker in torch_private.worker_processes(iterator)}:
                    values = [owner.value for owner in self._owners.values()]
                    known[info.pid] = self._ownership.is_kept_by_an_older_loader(iterator) or bool(
                        reachability.reached(values, [iterator])
                    )
        return known[info.pid]

    def _storages_of_fixtures(self) -> int:
        """Tensors of batches that fixtures which outlive the test keep."""
        kept = [thing for _, thing in kept_storages()]
        return len(reachability.reached([owner.value for owner in self._owners.values()], kept))

    def _of_fixture(self, owner: _Owner, arguments: dict[str, Any]) -> str:
        """What a fixture has left behind that was torn down just now."""

        def worth(left: Leftovers) -> Leftovers:
            left = left.only(self._kinds)
            targets = tuple(
                (number, target)
                for number, target in left.targets
                if owner.after.targets.get(number) == target and not leftovers.is_of_libraries(target, self._prefixes)
            )
            names = tuple(segment for segment in left.names if segment in owner.after.names)
            workers = tuple(info for info in left.workers if (info.pid, info.started) in owner.after.workers)
            return Leftovers(workers, names, targets)

        left = self._watch.left_since(owner.before, worth, arguments.clear)
        return self._told(f"the {owner.scope} fixture {owner.name!r}, torn down after this test, left behind", left)

    def _told(self, what: str, left: Leftovers) -> str:
        if not left:
            return ""
        fixtures = {f"fixture {owner.name}": owner.value for owner in self._owners.values() if owner.value is not None}
        kept = [
            str(each) for each in (referrers(fixtures) if left.batches else ()) if not each.name.startswith("fixture ")
        ]
        by = f"\n  batches are kept by {', '.join(kept)}" if kept else ""
        return f"{what}: {'; '.join(resources.leftovers(left))}{by}"


def _without_setup(left: Leftovers, owners: list[_Owner]) -> Leftovers:
    """Without what came while a fixture was set up that outlives the test."""
    targets = [
        (number, target)
        for number, target in left.targets
        if not any(
            owner.after.targets.get(number) == target and owner.before.targets.get(number) != target for owner in owners
        )
    ]
    names = [s for s in left.names if not any(s in owner.after.names - owner.before.names for owner in owners)]
    workers = [
        info
        for info in left.workers
        if not any((info.pid, info.started) in owner.after.workers - owner.before.workers for owner in owners)
    ]
    return Leftovers(tuple(workers), tuple(names), tuple(targets))
