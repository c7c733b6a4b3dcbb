"""The direct test: a reader beside an idle control, and which pages of the dataset's objects each has to itself."""

from __future__ import annotations

import math
import os
import pickle
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.host.child_process import Child
from pytest_dataloader.probe.loader.plan import plan_reading
from pytest_dataloader.probe.loader.referents import SCALED
from pytest_dataloader.probe.memory import holders, pagemap, sample_reader, smaps
from pytest_dataloader.probe.memory.footprint import PAGE
from pytest_dataloader.probe.memory.objects import Walk, pages_of, walk, worker_roots

if TYPE_CHECKING:
    from array import array
    from collections.abc import Callable, Iterable, Sequence

    from pytest_dataloader.probe.loader.positions import Plan
    from pytest_dataloader.probe.memory.exposure import Exposure
    from pytest_dataloader.probe.memory.pagemap import Pages
    from pytest_dataloader.probe.memory.sample_reader import ReaderReport
    from pytest_dataloader.probe.memory.smaps import Reading

WALK_SECONDS = 1.2
FIRST_ANSWER_SECONDS = 10.0
"""For the first window: imports in a worker took up to 3 s."""
ANSWER_SECONDS = 5.0
LARGE_SAMPLE = 32_768
"""Elements of a large container that are looked at where reading jumps about in it: of a 1 GB list, 1,000 reads
touch 0.4 % of the pages, which is 125 of these."""
PLAIN = 0.5
"""Certain share from which a larger sample would add nothing."""
MOST_TOUCHED = 8
LATER_WINDOWS = 18
"""Short epochs in which a leak must go on: litdata 0.2.76 gathers 3.4 blocks a sample in its first 10, then 0.2."""
LATER_SECONDS = 4.0
LEAST_AT_READ = 16
"""Pages of arrays at the positions read from which these speak for the others."""
MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Sources:
    """Where the figures come from; a test withholds one by None, or by a reader that raises OSError."""

    pages: Callable[[int, Iterable[int]], Pages] | None = pagemap.exclusive_pages
    rollup: smaps.RollupReader | None = smaps.read_rollup


@dataclass(frozen=True, slots=True)
class CopiedShare:
    """How much of a sample is copied: in the reader, in the control, of how many; ``low`` is what is certain."""

    reader: float
    control: float
    count: int
    low: float
    hits: int = 0


NOTHING = CopiedShare(0.0, 0.0, 0, 0.0)


@dataclass(frozen=True, slots=True)
class Scattered:
    """Hits in a large sample of a container: in the reader, in the control, of how many, and the most to expect."""

    reader: int
    control: int
    count: int
    expected: float


@dataclass(frozen=True, slots=True)
class Touched:
    """What writing to the objects of a path that had been read still copied, of the bytes of their pages."""

    fell_bytes: int
    of_bytes: int


@dataclass(slots=True)
class DirectTest:
    """All that the direct test saw."""

    plan: Plan
    walk: Walk
    windows: dict[str, ReaderReport] = field(default_factory=dict)
    shares: dict[int, CopiedShare] = field(default_factory=dict)
    scattered: dict[str, Scattered] = field(default_factory=dict)
    touched: dict[str, Touched] = field(default_factory=dict)
    buffers: frozenset[int] = frozenset()
    """Pages of arrays that warming up wrote to, with few samples: buffers that every sample is made in."""
    later: list[ReaderReport] = field(default_factory=list)
    """Where the others look like a leak: windows of samples read before, and of a stream's new iterations."""
    holder: str = ""
    """What holds what the reader has kept, where no container that was walked has grown."""
    cycle_types: tuple[str, ...] = ()
    """What is in the reader's reference cycles, where these matter."""
    reader: dict[str, Reading] = field(default_factory=dict)
    control: dict[str, Reading] = field(default_factory=dict)
    withheld: tuple[str, ...] = ()
    partly: tuple[str, ...] = ()
    failure: str = ""
    """How the reader ended before its last window, or that it gave no answer."""
    pages: bool = False
    seconds: float = 0.0

    @property
    def ranks(self) -> int:
        """Planned positions that were read."""
        return max((window.ranks for window in self.windows.values()), default=0)


def wilson_low(hits: int, count: int, z: float = 3.0) -> float:
    """The lower end of Wilson's interval for a share of ``hits`` in ``count``, at ``z`` standard deviations."""
    if not count:
        return 0.0
    share = hits / count
    centre = share + z * z / (2 * count)
    spread = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    return max(0.0, (centre - spread) / (1 + z * z / count))


def copied_share(exposure: Exposure, ranks: int, reader: Pages, control: Pages) -> CopiedShare:
    """What of an exposure's sample is copied: the most certain of the positions read, those scaled, the rest."""
    strata: dict[str, list[int]] = {"read": [], "scaled": [], "rest": []}
    for page, rank in zip(exposure.pages, exposure.ranks, strict=True):
        if 0 <= rank < ranks:
            strata["read"].append(page)
        elif SCALED <= rank < SCALED + ranks:
            strata["scaled"].append(page)
        else:
            strata["rest"].append(page)
    shares = [_share(pages, reader, control) for pages in strata.values()]
    return max(shares, key=lambda share: share.low)


def share_written(exposure: Exposure, found: DirectTest, reader: Pages, control: Pages) -> CopiedShare:
    """What of the elements of arrays is written to, buffers left out: at the positions read, where these are known;
    else what reading all samples would come to at this pace.
    """
    strata: dict[bool, list[int]] = {True: [], False: []}
    for page, rank in zip(exposure.pages, exposure.ranks, strict=True):
        if page not in found.buffers:
            strata[0 <= rank < found.ranks or SCALED <= rank < SCALED + found.ranks].append(page)
    at_read, elsewhere = (_share(pages, reader, control) for pages in (strata[True], strata[False]))
    if at_read.count >= LEAST_AT_READ:
        return at_read
    pace = max(1.0, found.plan.universe / max(1, found.ranks))
    return replace(elsewhere, reader=min(1.0, elsewhere.reader * pace))


def _share(pages: Sequence[int], reader: Pages, control: Pages) -> CopiedShare:
    seen = [page for page in pages if reader.get(page) is not None and control.get(page) is not None]
    if not seen:
        return NOTHING
    hits = sum(bool(reader[page]) for page in seen)
    idle = sum(bool(control[page]) for page in seen) / len(seen)
    return CopiedShare(hits / len(seen), idle, len(seen), wilson_low(hits, len(seen)) - idle, hits)


def compare_with_control(
    loader: Any,
    *,
    sources: Sources,
    leaks: Callable[[DirectTest], bool] = lambda _found: False,
    unnamed: Callable[[DirectTest], bool] = lambda _found: False,
    cyclic: Callable[[DirectTest], bool] = lambda _found: False,
) -> DirectTest:
    """Walk what workers would read, fork a control and a reader, and look at both after each window.

    Where the windows look like those of one that ``leaks``, more follow, to see whether that goes on; where what the
    reader keeps is ``unnamed``, it is asked what holds it, and where it is ``cyclic``, what is in the cycles.
    """
    started = time.monotonic()
    plan = plan_reading(loader)
    seen = walk(worker_roots(loader), positions=plan.indices, universe=plan.universe, seconds=WALK_SECONDS)
    found = DirectTest(plan, seen)
    found.partly += (plan.note,) if plan.note else ()
    if seen.refused:
        found.partly += (f"{seen.refused} objects of the dataset raised when looked into",)
    why = pagemap.why_no_pagemap(sources.pages) if sources.pages is not None else "pagemap is withheld"
    found.withheld += (why,) if why else ()
    found.pages = not why
    # Whatever looks at an object comes before the first fork: a look is a write, and would give the control a page of
    # its own that the parent no longer shares.
    large = {path: pages_of(container, LARGE_SAMPLE) for path, container in seen.large.items()} if found.pages else {}
    if not hasattr(os, "fork"):
        found.withheld += ("this system cannot fork, so nothing is copied on access",)
        return found
    if plan.empty:
        return found
    with Child.fork(lambda child: child.sleep()) as control:
        _Watch(found, sources, control, large).read(loader, leaks, unnamed, cyclic)
    found.seconds = time.monotonic() - started
    return found


class _Watch:
    def __init__(self, found: DirectTest, sources: Sources, control: Child, large: dict[str, array[int]]) -> None:
        self.found = found
        self.pages = sources.pages if found.pages else None
        self.control = control
        self.rollup = sources.rollup
        if self.rollup is not None and (why := smaps.why_no_smaps(control.pid, self.rollup)):
            self.rollup, found.withheld = None, (*found.withheld, why)
        self.large = large

    def read(self, loader: Any, *asks: Callable[[DirectTest], bool]) -> None:
        leaks, unnamed, cyclic = asks
        with Child.fork(sample_reader.read_as_worker(loader, self.found.plan, self.found.walk)) as reader:
            timeout = FIRST_ANSWER_SECONDS
            for name in (sample_reader.WARM, sample_reader.FIRST, sample_reader.SECOND, sample_reader.AGAIN):
                answer = reader.hear(timeout)
                if answer is None:
                    ended = reader.end()
                    no_answer = f"gave no answer in {timeout:.0f} s"
                    self.found.failure = f"the process that reads samples {ended or no_answer} ({name} window)"
                    return
                self.found.windows[name] = pickle.loads(answer)
                if self.pages is not None and reader.has_children():
                    self._give_up_on_pages("the dataset starts processes, which hide what was copied")
                self._look(name, reader)
                timeout = ANSWER_SECONDS
                reader.tell(b"go on")
            self._touch(reader)
            if leaks(self.found):
                self._go_on(reader)
            if unnamed(self.found):
                self._name_holder(reader)
            if cyclic(self.found):
                reader.tell(sample_reader.CYCLES)
                answer = reader.hear(ANSWER_SECONDS)
                self.found.cycle_types = pickle.loads(answer) if answer is not None else ()

    def _go_on(self, reader: Child) -> None:
        """Have what the last window read be read over and over, each time as an epoch of its own."""
        deadline = time.monotonic() + LATER_SECONDS
        while len(self.found.later) < LATER_WINDOWS and time.monotonic() < deadline:
            reader.tell(sample_reader.LONGER)
            answer = reader.hear(ANSWER_SECONDS)
            if answer is None:
                return
            self.found.later.append(pickle.loads(answer))
            reader.tell(b"go on")

    def _name_holder(self, reader: Child) -> None:
        reader.tell(sample_reader.HOLDERS)
        answer = reader.hear(ANSWER_SECONDS)
        if answer is not None:
            held, results = pickle.loads(answer)
            before = holders.bytes_held(self.found.walk)
            self.found.holder = holders.holder(held, before, results, holders.results_kept())

    def _touch(self, reader: Child) -> None:
        """Without pagemap: have the reader write to what it read, path by path, and see what that still copies."""
        if self.pages is not None or self.rollup is None:
            return
        slots = sorted(self.found.walk.exposures, key=lambda slot: -slot.exposed)
        paths = [
            slot.path
            for slot in slots
            if not slot.content and slot.exposed >= MIB and slot.path in self.found.walk.samples
        ]
        level = None
        for path in ("", *dict.fromkeys(paths[:MOST_TOUCHED])):
            reader.tell(path.encode())
            if reader.hear(ANSWER_SECONDS) is None:
                return
            try:
                seen = self.rollup(reader.pid)
            except OSError:
                return
            if level is not None:
                pages = {
                    id(thing) // PAGE
                    for thing, _, rank in self.found.walk.samples[path]
                    if 0 <= rank < self.found.ranks
                }
                self.found.touched[path] = Touched(max(0, level - seen.shared_bytes), len(pages) * PAGE)
            level = seen.shared_bytes

    def _look(self, name: str, reader: Child) -> None:
        found = self.found
        try:
            # With pagemap the totals tell the price of warming up and no more: they cost 20 ms per GB.
            if self.rollup is not None and (
                name == sample_reader.WARM or (self.pages is None and name != sample_reader.FIRST)
            ):
                found.reader[name] = self.rollup(reader.pid)
                found.control[name] = self.rollup(self.control.pid)
            if self.pages is not None and name == sample_reader.WARM:
                written = self.pages(
                    reader.pid, {page for slot in self._worth() if slot.content for page in slot.pages}
                )
                found.buffers = frozenset(page for page, own in written.items() if own)
            if self.pages is not None and name == sample_reader.SECOND:
                self._look_at_pages(reader)
        except OSError as error:
            self._give_up_on_pages(f"{error.strerror or error} after the {name} window")

    def _give_up_on_pages(self, why: str) -> None:
        self.pages, self.found.pages = None, False
        self.found.withheld += (f"pagemap: {why}",)

    def _worth(self) -> list[Exposure]:
        return [slot for slot in self.found.walk.exposures if slot.exposed >= WORTH_LOOKING]

    def _look_at_pages(self, reader: Child) -> None:
        assert self.pages is not None
        found = self.found
        slots = self._worth()
        wanted = {page for slot in slots for page in slot.pages}
        mine, idle = self.pages(reader.pid, wanted), self.pages(self.control.pid, wanted)
        for slot in slots:
            found.shares[id(slot)] = (
                share_written(slot, found, mine, idle) if slot.content else copied_share(slot, found.ranks, mine, idle)
            )
        samples = sum(found.windows[name].samples for name in (sample_reader.FIRST, sample_reader.SECOND))
        for path, pages in self.large.items():
            if any(found.shares[id(slot)].low >= PLAIN for slot in _headers(slots, path)):
                continue
            hits = _hits(self.pages(reader.pid, pages), pages)
            control = _hits(self.pages(self.control.pid, pages), pages)
            expected = samples * _per_page(slots, path) * len(pages) / len(found.walk.large[path])
            found.scattered[path] = Scattered(hits, control, len(pages), min(expected, float(len(pages))))


WORTH_LOOKING = MIB // 10
"""Bytes below which an attribute is too small to be judged: 0.03 MiB was found reliably, 0.1 leaves room."""


def _per_page(slots: Iterable[Exposure], path: str) -> float:
    """Elements of a container on one page, were nothing else on it."""
    elements = _headers(slots, path)
    count, size = sum(slot.count for slot in elements), sum(slot.exposed for slot in elements)
    return PAGE * count / size if size else 0.0


def _headers(slots: Iterable[Exposure], path: str) -> list[Exposure]:
    return [slot for slot in slots if slot.path == f"{path}[*]" and not slot.content]


def _hits(pages: Pages, sample: array[int]) -> int:
    return sum(bool(pages[page]) for page in sample)
