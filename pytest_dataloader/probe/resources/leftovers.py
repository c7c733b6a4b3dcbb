"""What a stretch of code leaves behind: workers that run, segments of shared memory, open descriptors."""

from __future__ import annotations

import gc
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pytest_dataloader.probe.host import descriptors, process_tree, segments
from pytest_dataloader.probe.host.descriptors import TORCH, kind

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from pytest_dataloader.probe.host.process_tree import ProcessInfo, ProcessRegistry
    from pytest_dataloader.probe.host.segments import Segment
    from pytest_dataloader.probe.resources.segment_registry import SegmentRegistry

ResourceKind = Literal["workers", "shm", "fds"]
KINDS: tuple[ResourceKind, ...] = ("workers", "shm", "fds")

_GRACE_SECONDS = 3.0
"""The manager of torch's named segments removes what dead processes left after 2 s."""
_CRASH_GRACE_SECONDS = 10.0
"""While something still ends: after a crash workers look for their parent every 5 s, and then the manager waits."""
_CLOSING_SECONDS = 1.0
"""Queues are closed by a thread of theirs, workers end on their own."""
_RESULT_PIPES, _WORKER_PIPES = 2, 4
_LOOKS_A_SECOND = 20


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What is there at one moment: descriptors with their targets, segments with our names, workers of loaders."""

    targets: Mapping[int, str]
    names: frozenset[Segment]
    workers: frozenset[tuple[int, int]]
    started: int


@dataclass(frozen=True, slots=True)
class Leftovers:
    """What was not there before."""

    workers: tuple[ProcessInfo, ...] = ()
    names: tuple[Segment, ...] = ()
    targets: tuple[tuple[int, str], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.workers or self.names or self.targets)

    @property
    def batches(self) -> tuple[tuple[int, str], ...]:
        """The descriptors that hold batches of workers."""
        return tuple(each for each in self.targets if kind(each[1]) == TORCH)

    def only(self, kinds: Collection[ResourceKind]) -> Leftovers:
        """What these kinds of watching look for. Shared memory without a name is told by its descriptors."""
        held = "fds" in kinds or "shm" in kinds
        return Leftovers(
            self.workers if "workers" in kinds else (),
            self.names if "shm" in kinds else (),
            tuple(each for each in self.targets if "fds" in kinds or (held and descriptors.is_segment(each[1]))),
        )


class LeftoverWatch:
    """Compares moments. ``process_registry`` and ``registry`` have been kept since before the first of them."""

    def __init__(self, process_registry: ProcessRegistry, registry: SegmentRegistry) -> None:
        self._process_registry = process_registry
        self._registry = registry

    def now(self) -> Snapshot:
        """What is there now: 0.3 to 0.5 ms with a hundred descriptors."""
        workers = {(info.pid, info.started) for info in self._workers()}
        names = frozenset(segments.named(None, self._registry.names))
        return Snapshot(descriptors.links(), names, frozenset(workers), len(self._process_registry.seen))

    def without_queues(self, left: Leftovers, before: Snapshot) -> Leftovers:
        """Without pipes where there are no more of them than the queues of workers started meanwhile have.

        Those of an iterator that is gone stay open until the collector comes by, and to call it costs 0.2 to 1 s.
        """
        pipes = {number for number, target in left.targets if kind(target) == "pipe"}
        if len(pipes) > _RESULT_PIPES + _WORKER_PIPES * (len(self._process_registry.seen) - before.started):
            return left
        return Leftovers(left.workers, left.names, tuple(each for each in left.targets if each[0] not in pipes))

    def left_since(
        self,
        before: Snapshot,
        worth: Callable[[Leftovers], Leftovers] = lambda left: left,
        let_go: Callable[[], None] = lambda: None,
    ) -> Leftovers:
        """What has come since and stays, after a collection, and after waiting for what ends by itself.

        ``worth`` takes away what the caller does not look for, so that nothing waits for it; ``let_go`` drops what the
        caller still holds. Nothing is dropped, collected or waited for where nothing has come.
        """
        if not worth(self._new(before)):
            return Leftovers()
        let_go()
        # An iterator's queues refer to each other. It is young after a short loop; all of torch takes 0.2 to 1 s.
        for generation in (1, 2):
            gc.collect(generation)
            left = worth(self._new(before))
            if not left:
                return left
        started = changed = time.monotonic()
        while left and time.monotonic() < min(changed + self._grace(left), started + _CRASH_GRACE_SECONDS):
            time.sleep(1 / _LOOKS_A_SECOND)
            before_that, left = left, worth(self._new(before))
            if left != before_that:
                changed = time.monotonic()
        return left

    def _new(self, before: Snapshot) -> Leftovers:
        targets = descriptors.links()
        fresh = {number: target for number, target in targets.items() if before.targets.get(number) != target}
        alive = process_tree.descendants() if fresh else ()
        led = descriptors.shared_with(fresh, [descriptors.links(info.pid).values() for info in alive]) if alive else ()
        workers = [info for info in self._workers() if (info.pid, info.started) not in before.workers]
        running = {info.pid for info in self._process_registry.alive}
        inodes = {segment.inode for segment in before.names}
        names = [
            segment
            for segment in self._names()
            # A worker that runs will hand over or remove what it has made: it is told of by itself.
            if segment.inode not in inodes and segment.maker not in running
        ]
        return Leftovers(
            tuple(workers),
            tuple(sorted(names, key=lambda segment: segment.name)),
            tuple((number, target) for number, target in sorted(fresh.items()) if number not in led),
        )

    def _workers(self) -> list[ProcessInfo]:
        found = {
            info.pid: info
            for info in (*self._process_registry.alive, *process_tree.descendants())
            if info.is_worker and info.runs
        }
        return list(found.values())

    def _names(self) -> set[Segment]:
        return segments.named({os.getpid(), *self._process_registry.pids}, self._registry.names)

    def _grace(self, left: Leftovers) -> float:
        """How long to wait for a change: not at all for memory that this process itself holds."""
        if left.names:
            held = {segment.inode for segment in segments.open_segments(mapped=True)}
            if any(segment.inode not in held for segment in left.names):
                return _GRACE_SECONDS
        pending = left.workers or any(not descriptors.is_segment(target) for _, target in left.targets)
        return _CLOSING_SECONDS if pending else 0.0


def is_of_libraries(target: str, prefixes: Collection[str]) -> bool:
    """Whether a descriptor is of a sort that libraries open once and keep: devices, event loops, their own files."""
    if descriptors.is_segment(target):
        return False
    if kind(target) not in ("file", "pipe"):
        return True
    path = Path(target.removesuffix(descriptors.DELETED))
    return target.startswith(("/dev/", "/proc/", "/sys/", *prefixes)) or path.name.startswith(".")
