"""Worker memory over an epoch of the real loader: each worker's totals at batch boundaries, and the parent's."""

from __future__ import annotations

import mmap
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.loader.batch_storages import awaiting_their_turn
from pytest_dataloader.probe.loader.borrowing import Borrowed, borrow
from pytest_dataloader.probe.loader.positions import batches_in_epoch
from pytest_dataloader.probe.loader.settings import worker_processes_of
from pytest_dataloader.probe.memory import smaps
from pytest_dataloader.probe.memory.growth import MATTERS, GrowthKind
from pytest_dataloader.quantities import counted

if TYPE_CHECKING:
    from pytest_dataloader.probe.memory.diagnosis import Diagnosis
    from pytest_dataloader.probe.memory.smaps import Reading

PARENT = -1
_LEAST_SECONDS = 1.0
_SHARE_FOR_READING = 0.1
"""Of the time, at most, goes into reading /proc: 20 ms per GB and worker."""
_MOST_POINTS = 400
KEPT_SEGMENTS = 0.5
"""Shared-memory segments of batches still mapped in the parent per batch dropped, from which batches count as kept."""
GROWING = 4 * MATTERS
"""Bytes over the later half of what was watched, from which totals alone count as growth where the direct test was
not to be had: large batches move a worker's totals by 4 MiB either way."""


@dataclass(frozen=True, slots=True)
class Point:
    """One process at one moment: ``worker`` by number, -1 for the parent; bytes."""

    batch: int
    seconds: float
    worker: int
    private_bytes: int
    shared_bytes: int
    rss_bytes: int
    pss_bytes: int


@dataclass(frozen=True, slots=True)
class WorkerGrowth:
    """One worker from its first batches to the last look: ``copied_bytes`` is what turned from shared to private."""

    worker: int
    pid: int
    private_bytes: int
    private_growth_bytes: int
    shared_lost_bytes: int
    rss_growth_bytes: int
    copied_bytes: int


@dataclass(frozen=True, slots=True)
class Watched:
    """What watching saw: so many ``batches`` after the first look, ``share`` of an epoch (0: its length is unknown).

    The parent's growth is resident memory: its pages turn private as its workers end, without being copied.
    """

    workers: tuple[WorkerGrowth, ...] = ()
    curve: tuple[Point, ...] = ()
    parent_growth_bytes: int = 0
    kept_segments_per_batch: float = 0.0
    share: float = 0.0
    partly: tuple[str, ...] = ()
    batches: int = 0

    def confirm(self, found: Diagnosis) -> tuple[tuple[GrowthKind, ...], int]:
        """The direct test's kinds and growth, corrected by what an epoch showed."""
        kinds = [kind for kind in found.kinds if kind not in ("clean", "warm_up")]
        growth = found.growth_bytes
        if self.kept_segments_per_batch >= KEPT_SEGMENTS and "retained" not in kinds:
            kinds.append("retained")
        if is_blind(found):
            kind, more = self._by_itself(found.start_method)
            if kind is not None and kind not in kinds:
                kinds.append(kind)
            growth = max(growth, more)
        return (tuple(kinds) or found.kinds), growth

    def _by_itself(self, start_method: str) -> tuple[GrowthKind | None, int]:
        copied = max((worker.copied_bytes for worker in self.workers), default=0)
        if copied >= GROWING and start_method == "fork":
            return "copy_on_access", copied
        late = max((self._late_growth(worker.worker) for worker in self.workers), default=0)
        return ("leak", 2 * late) if late >= GROWING else (None, copied)

    def _late_growth(self, worker: int) -> int:
        """Resident memory gained over the later half: warm-up is over, and a copied page replaces a mapped one."""
        levels = [point.rss_bytes for point in self.curve if point.worker == worker]
        half = levels[len(levels) // 2 :]
        return half[-1] - half[0] if len(half) >= 3 and half[-1] == max(half) else 0


NOT_WATCHED = Watched()


def is_blind(found: Diagnosis) -> bool:
    """Whether the direct test saw nothing that an epoch could be checked against."""
    return found.unread or found.source == "none"


def watch(loader: Any, *, seconds: float, rollup: smaps.RollupReader | None) -> Watched:
    """Pull batches from a copy of the loader for ``seconds`` or an epoch, and look at every worker now and then."""
    if not worker_processes_of(loader):
        return NOT_WATCHED
    with borrow(loader) as borrowed:
        came = 0
        try:
            borrowed.begin_epoch()
            if not borrowed.workers:  # where __iter__ is a generator, they start with the first batch
                came, _ = borrowed.pull(1)
        except Exception as error:  # whatever the user's code raises as workers start
            return Watched(partly=(f"no epoch could be watched: {_first_line(error)}",))
        workers = borrowed.workers
        if not workers:
            return Watched(partly=("no worker could be watched: this loader makes none of torch's iterators",))
        pids = {PARENT: os.getpid()} | {number: int(worker.pid or 0) for number, worker in enumerate(workers)}
        why = "smaps_rollup is withheld" if rollup is None else smaps.why_no_smaps(pids[0], rollup)
        if rollup is None or why:
            return Watched(partly=(f"no worker could be watched: {why}",))
        return _Watcher(rollup, pids, max(_LEAST_SECONDS, seconds), came).run(borrowed, batches_in_epoch(loader))


class _Watcher:
    def __init__(self, reader: smaps.RollupReader, pids: dict[int, int], seconds: float, batches: int) -> None:
        self.reader = reader
        self.pids = pids
        self.started = time.monotonic()
        self.deadline = self.started + seconds
        self.curve: list[Point] = []
        self.spent = 0.0
        self.batches = batches
        self.error = ""

    def run(self, borrowed: Borrowed, total: int) -> Watched:
        """Pull until the deadline or the epoch's last batch; the workers are still alive then."""
        first = max(1, len(self.pids) - 1)
        went_on = self._pull(borrowed, first)
        segments = segments_mapped()
        begun = self.batches
        self._look()
        pause = self.spent
        while went_on and time.monotonic() < self.deadline and (not total or self.batches < total):
            before = time.monotonic()
            went_on = self._pull(borrowed, 1)
            pause -= time.monotonic() - before
            if pause <= 0 and len(self.curve) < _MOST_POINTS * len(self.pids):
                spent = self.spent
                self._look()
                pause = max(0.02, (self.spent - spent) / _SHARE_FOR_READING)
        self._look()
        kept = (segments_mapped() - segments) / (self.batches - begun) if self.batches - begun >= 8 else 0.0
        share = min(1.0, self.batches / total) if total else 0.0
        partly: tuple[str, ...] = (
            () if not total or self.batches >= total else (f"predicted from {counted(self.batches, 'batch')}",)
        )
        partly += (self.error,) if self.error else ()
        workers = tuple(self._growth(number) for number in self.pids if number != PARENT)
        curve = tuple(self.curve)
        return Watched(
            workers, curve, self._growth(PARENT).rss_growth_bytes, max(0.0, kept), share,
            partly, self.batches - begun,
        )  # fmt: skip

    def _pull(self, borrowed: Borrowed, most: int) -> bool:
        try:
            came, _ = borrowed.pull(most)
        except Exception as error:  # what the user's dataset raises ends the epoch for their own loop as well
            self.error = f"the epoch ended with {_first_line(error)}"
            return False
        self.batches += came
        return came == most

    def _look(self) -> None:
        began = time.monotonic()
        for number, pid in self.pids.items():
            try:
                seen: Reading = self.reader(pid)
            except OSError:  # an iterable dataset's worker has ended with its share of the data
                continue
            at = round(time.monotonic() - self.started, 3)
            self.curve.append(
                Point(self.batches, at, number, seen.private_bytes, seen.shared_bytes, seen.rss_bytes, seen.pss_bytes)
            )
        self.spent += time.monotonic() - began

    def _growth(self, number: int) -> WorkerGrowth:
        points = [point for point in self.curve if point.worker == number]
        if not points:
            return WorkerGrowth(number, self.pids[number], 0, 0, 0, 0, 0)
        first, last = points[0], points[-1]
        gained = last.private_bytes - first.private_bytes
        lost = first.shared_bytes - last.shared_bytes
        copied = max(0, min(gained, lost))
        return WorkerGrowth(
            number, self.pids[number], last.private_bytes, gained, lost, last.rss_bytes - first.rss_bytes, copied
        )


def _first_line(error: Exception) -> str:
    """An exception in a line; torch puts the traceback of a worker's into its text, with the type again at its end."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [""]
    return lines[-1] if lines[-1].startswith(type(error).__name__) else f"{type(error).__name__}: {lines[-1]}"


def segments_mapped() -> int:
    """Segments of torch's shared memory that this process maps: each kept batch tensor holds one.

    Those of batches that wait for an earlier one are left out: one worker without a CPU keeps the others' waiting.
    """
    waiting = {address // mmap.PAGESIZE for address in awaiting_their_turn()}
    try:
        with Path("/proc/self/maps").open(encoding="utf-8") as maps:
            begins = [int(line.partition("-")[0], 16) for line in maps if "/torch_" in line]
    except OSError:
        return 0
    return sum(begin // mmap.PAGESIZE not in waiting for begin in begins)
