"""Measuring a stream of batches: what it holds, what it leaves open, how memory grows, which processes it has."""

from __future__ import annotations

import contextlib
import gc
import os
import threading
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_dataloader.errors import NotMeasured
from pytest_dataloader.probe.host import descriptors, process_tree, segments
from pytest_dataloader.probe.host.allocator import give_back_freed
from pytest_dataloader.probe.host.process_state import changes_since, process_state
from pytest_dataloader.probe.loader.counting import samples_in
from pytest_dataloader.probe.loader.positions import length_of
from pytest_dataloader.probe.loader.stream import drawn
from pytest_dataloader.probe.memory.growth import with_kind
from pytest_dataloader.probe.memory.smaps import read_rollup, why_no_smaps
from pytest_dataloader.probe.resources.block import watched_block
from pytest_dataloader.probe.samples.digests import digest
from pytest_dataloader.probe.samples.sequence import OrderFault
from pytest_dataloader.probe.streams.evidence import Contents, Growth, Held, Processes
from pytest_dataloader.probe.streams.keepers import kept_batches
from pytest_dataloader.quantities import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_dataloader.probe.loader.stream import DrawnStream, Stream
    from pytest_dataloader.probe.memory.evidence import Memory
    from pytest_dataloader.probe.resources.block import Block
    from pytest_dataloader.probe.resources.leftovers import ResourceKind
    from pytest_dataloader.probe.samples.evidence import Order

_MOST_SAMPLES = 100_000
_WATCHED = 8
"""Batches that are looked at again once the next has come."""
_EPOCHS_HELD = (1, 2, 4)
"""A leak leaves twice as much open after twice the epochs."""
_SHORT_EPOCH = 16
"""Batches of an epoch that is to show what stays open."""
_LOOKS = 6
_LONG = 3600.0
_EPOCHS_LEFT = 6
"""Each must leave more than those before it: a pool of threads grows with its first tasks, and stops."""
_SETTLING_SECONDS = 1.0
"""For threads and processes that end soon after their epoch; those that are still there after the last have longer."""
_GRACE_SECONDS = 3.0
"""For processes that end by themselves once an epoch has ended."""


def order_around(stream: Stream, inner: Order, seconds: float) -> Order:
    """The order of the DataLoader inside, and what is around it does to its batches and to this process."""
    return inner if stream.once else replace(inner, faults=(*inner.faults, *_around(stream, inner, seconds)))


def _around(stream: Stream, inner: Order, seconds: float) -> Iterator[OrderFault]:
    """One epoch of the whole: what is missing at its end, batches that change when the next comes, changed modes."""
    seen = BatchWatch()
    with drawn(stream) as source:
        for batch in source.epoch(seconds):
            seen.look(batch)
            if 0 < inner.batches_told < inner.batches and seen.batches > inner.batches_told:
                break
        ended = source.ended
    yield from seen.faults(stream.name)
    if not ended or inner.partly:
        return
    if inner.batches > seen.batches == inner.batches_told:
        detail = (
            f"drops the last {inner.batches - seen.batches:,} of {counted(inner.batches, 'batch')}\n"
            f"its epoch ends after {seen.batches:,}, the len() of the DataLoader inside"
        )
        yield OrderFault("cut_by_len", stream.name, detail, inner.batches - seen.batches)
    elif seen.batches < length_of(stream.source) == inner.batches_told == inner.batches:
        detail = (
            f"drops {inner.batches - seen.batches:,} of {counted(inner.batches, 'batch')}\n"
            f"its epoch has {seen.batches:,}, the DataLoader inside gives {inner.batches:,}"
        )
        yield OrderFault("batches_lost", stream.name, detail, inner.batches - seen.batches)


class BatchWatch:
    """Looks at batches as a loop gets them: whether one changes when the next comes, and what else does."""

    def __init__(self) -> None:
        self.batches = self.reused = 0
        self._before = process_state()
        self._changes: tuple[str, ...] = ()
        self._last: Any = None
        self._digest = ""

    def look(self, batch: Any) -> None:
        if self._changes == ():
            self._changes = changes_since(self._before)
        if self.batches < _WATCHED:
            self.reused += self.batches > 0 and digest(self._last) != self._digest
            self._last, self._digest = batch, digest(batch)
        else:
            self._last = None
        self.batches += 1

    def faults(self, name: str) -> Iterator[OrderFault]:
        """What is wrong with batches of a loader or stream of that name."""
        if self.reused:
            detail = (
                f"{self.reused:,} of {counted(min(self.batches, _WATCHED) - 1, 'batch')} changed when the next came"
            )
            yield OrderFault("reused", name, detail, self.reused)
        if self._changes:
            detail = f"changes for the loop that iterates it: {', '.join(self._changes)}"
            yield OrderFault("process_changed", name, detail, self.batches)


def memory_around(stream: Stream, inner: Memory, seconds: float) -> Memory:
    """The memory of the DataLoader inside, and what is around it keeps of its batches."""
    kept = kept_batches(stream, seconds)
    kinds = with_kind(inner.kinds, "retained") if kept.is_fault(inner.available_bytes) else inner.kinds
    return replace(inner, kept_batches=kept, kinds=kinds, kind=kinds[0])


def contents(stream: Stream, seconds: float) -> Contents:
    """Read two epochs, each for up to ``seconds``, and tell their samples by what they hold."""
    epochs: list[list[str]] = []
    complete: list[bool] = []
    batches, seen = 0, BatchWatch()
    with drawn(stream) as source:
        for _ in range(2):
            epochs.append([])
            for batch in source.epoch(seconds):
                batches += 1
                seen.look(batch)
                epochs[-1] += map(digest, samples_in(batch))
                if len(epochs[-1]) > _MOST_SAMPLES:
                    break
            complete.append(source.ended)
    first, second = epochs
    length = min(len(first), len(second))
    return Contents(
        epochs=2,
        batches=batches,
        samples=(len(first), len(second)),
        twice=len(first) - len(set(first)),
        common=sum((Counter(first) & Counter(second)).values()),
        complete=(complete[0], complete[1]),
        same_order=first[:length] == second[:length],
        faults=tuple(seen.faults(stream.name)),
    )


def measure_held(
    stream: Stream, kind: ResourceKind, seconds: float, sentences: Callable[[Block], tuple[str, ...]]
) -> Held:
    """Run a warm-up epoch, then short ones, and look at what they leave open: more and more of it is a leak.

    What is on its way in a pipeline stays open where an epoch is left early, and is no more after four epochs.
    """
    drawing = _Drawing(stream, seconds)
    counts: list[int] = []
    with drawn(stream) as source:
        drawing.epochs(source, 1)
        for epochs in _EPOCHS_HELD:
            with watched_block(kind) as block:
                drawing.epochs(source, epochs)
            counts.append(len(block.left.names) + len(block.left.targets))
            if not counts[-1]:
                break
    grows = len(counts) == len(_EPOCHS_HELD) and counts[0] < counts[1] < counts[2] and counts[2] >= 3 * counts[0]
    return Held(
        epochs=drawing.begun,
        batches=drawing.batches,
        left=sentences(block) if grows else (),
        stays=0 if grows else counts[-1],
        peak=drawing.peak,
        limit=descriptors.limit(),
        peak_bytes=drawing.peak_bytes,
        capacity_bytes=segments.capacity()[0],
    )


class _Drawing:
    """Short epochs of a stream, and what was open at their peak."""

    def __init__(self, stream: Stream, seconds: float) -> None:
        self._stream = stream
        self._seconds = seconds
        self.begun = self.batches = self.peak = self.peak_bytes = 0

    def epochs(self, source: DrawnStream, count: int) -> None:
        for _ in range(count):
            self.begun += 1
            for batch in source.epoch(self._seconds, _SHORT_EPOCH):
                self.batches += 1
                self.peak = max(self.peak, descriptors.count_descriptors() or 0)
                self.peak_bytes = max(self.peak_bytes, _shared_bytes())
                del batch
            source.close()


def growth(stream: Stream, seconds: float) -> Growth:
    """Pull batches for about ``seconds`` and look at private memory, a few times and as far apart."""
    if reason := why_no_smaps(os.getpid()):
        raise NotMeasured(reason)
    looks: list[tuple[int, int]] = []
    batches = between = size = epochs = 0
    begun = time.monotonic()
    give_back_freed()
    with drawn(stream) as source:
        while len(looks) < _LOOKS:
            epochs, came = epochs + 1, batches
            for batch in source.epoch(_LONG):
                batches, size = batches + 1, max(size, _bytes_of(batch))
                if not between and time.monotonic() - begun >= seconds / _LOOKS:
                    between = batches
                if between and batches % between == 0:
                    del batch
                    gc.collect()
                    give_back_freed()
                    looks.append(_private_bytes())
                    if len(looks) == _LOOKS:
                        break
            if batches == came:
                break
    own, children = zip(*looks, strict=True) if looks else ((), ())
    return Growth(epochs, batches, own, children, between, size)


def left_by_epochs(stream: Stream, seconds: float) -> tuple[str, ...]:
    """Threads and child processes of which every epoch leaves more, in words; epochs to their end, or left early."""
    for how, most in (("that is read to its end", None), ("that is left early", 1)):
        counts: list[int] = []
        before = _threads_and_children()
        with drawn(stream) as source:
            while len(counts) < _EPOCHS_LEFT:
                for batch in source.epoch(seconds, most):
                    del batch
                ended = source.ended
                source.close()
                left = _outlasting(before, _SETTLING_SECONDS)
                counts.append(len(left))
                if not left or (most is None and not ended) or counts[-1] <= max(counts[:-1], default=0):
                    break
            grown = len(counts) == _EPOCHS_LEFT and len(_outlasting(before, _GRACE_SECONDS)) == counts[-1]
        if grown:
            processes_too = any(kind == "process" for kind, _, _ in left)  # threads feed their queues
            kind = "process" if processes_too else "thread"
            names = [name for each, _, name in left if each == kind]
            told = counted(len(names) // len(counts), kind)
            return (f"each epoch {how} leaves {told} behind ({', '.join(sorted(set(names))[:3])})",)
    return ()


def _threads_and_children() -> set[tuple[str, int, str]]:
    """Threads of Python and child processes that run: kind, number and name."""
    threads = {("thread", thread.ident or 0, thread.name) for thread in threading.enumerate()}
    return threads | {("process", info.pid, info.name) for info in process_tree.descendants() if info.runs}


def _outlasting(before: set[tuple[str, int, str]], seconds: float) -> set[tuple[str, int, str]]:
    """What runs that did not run before, once those have ended that end within so many seconds."""
    deadline = time.monotonic() + seconds
    while (left := _threads_and_children() - before) and time.monotonic() < deadline:
        gc.collect(1)
        time.sleep(0.05)
    return left


def processes(stream: Stream, seconds: float) -> Processes:
    """Run two epochs, each for up to ``seconds``, and see which processes come with them and stay."""
    before = {info.pid for info in process_tree.descendants()}
    seen: set[int] = set()
    batches, first, whole = 0, 0.0, True
    with drawn(stream) as source:
        for _ in range(2):
            begun = time.monotonic()
            for _batch in source.epoch(seconds):
                first = first or time.monotonic() - begun
                batches += 1
                seen |= {info.pid for info in process_tree.descendants()} - before
            whole = whole and source.ended
        source.close()
        deadline = time.monotonic() + _GRACE_SECONDS
        while (left := _running(seen)) and time.monotonic() < deadline:
            gc.collect(1)
            time.sleep(0.05)
    return Processes(2, batches, len(seen), left, first, whole, left_by_epochs(stream, seconds))


def _bytes_of(batch: Any) -> int:
    """Bytes of the tensors and arrays of a batch, as far as they can be seen."""
    if isinstance(batch, Mapping):
        return sum(map(_bytes_of, batch.values()))
    if isinstance(batch, list | tuple):
        return sum(map(_bytes_of, batch))
    return int(getattr(batch, "nbytes", 0) or 0)


def _shared_bytes() -> int:
    return segments.total_bytes(segments.open_segments(mapped=True) | segments.named({os.getpid()}))


def _private_bytes() -> tuple[int, int]:
    """Of this process, and of its children together."""
    children = 0
    for info in process_tree.descendants():
        with contextlib.suppress(OSError):  # it has just ended
            children += read_rollup(info.pid).private_bytes
    return read_rollup(os.getpid()).private_bytes, children


def _running(pids: set[int]) -> tuple[str, ...]:
    return tuple(info.name for info in process_tree.descendants() if info.pid in pids and info.runs)
