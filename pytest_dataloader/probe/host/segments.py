"""Segments of shared memory that belong to this process tree: those it holds, and names in /dev/shm with its pids."""

from __future__ import annotations

import contextlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.host import process_tree
from pytest_dataloader.probe.host.descriptors import DELETED, SHARED_MEMORY, links

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

FOLDER = Path(SHARED_MEMORY)
_MAKER = re.compile(r"torch_(\d+)_\d+_\d+")
_SEMAPHORE = "sem."
_BLOCK, _PAGE = 512, 4096


@dataclass(frozen=True, slots=True)
class Segment:
    """One piece of shared memory. ``linked``: its name is still in /dev/shm, so that it outlives its processes."""

    name: str
    inode: int
    bytes: int
    linked: bool

    @property
    def maker(self) -> int | None:
        """The pid of the process that made it, which torch writes into the name; None for other libraries' names."""
        match = _MAKER.match(self.name)
        return int(match[1]) if match else None

    @property
    def path(self) -> str:
        return f"{SHARED_MEMORY}{self.name}"


def why_no_segments() -> str:
    """Why shared memory cannot be looked at here; empty where it can."""
    if not FOLDER.is_dir():
        return "there is no /dev/shm here, where shared memory can be seen"
    return "" if Path("/proc/self/fd").is_dir() else "there is no /proc here, which tells whose shared memory is whose"


def are_handed_over_by_name() -> bool:
    """Whether this process shares tensors by name (torch's strategy file_system) and not by descriptor."""
    from torch import multiprocessing

    untyped: Any = multiprocessing
    return bool(untyped.get_sharing_strategy() == "file_system")


def capacity() -> tuple[int, int]:
    """Bytes that /dev/shm can hold, and how many of them are free; (0, 0) where it does not say."""
    try:
        size = os.statvfs(FOLDER)
    except (AttributeError, OSError):
        return 0, 0
    return size.f_blocks * size.f_frsize, size.f_bavail * size.f_frsize


def open_segments(pid: int | None = None, *, mapped: bool = False) -> set[Segment]:
    """Segments that a process (this one) has open, with ``mapped`` also those that it has only mapped.

    Semaphores are left out. Reading the maps of a process with torch in it costs 3 to 17 ms, its descriptors 0.1.
    """
    who = "self" if pid is None else str(pid)
    places = [
        (f"/proc/{who}/fd/{number}", target.removeprefix(SHARED_MEMORY))
        for number, target in links(pid).items()
        if target.startswith(SHARED_MEMORY)
    ]
    found = {_stat(place, name) for place, name in places if not name.startswith(_SEMAPHORE)}
    if mapped:
        inodes = {segment.inode for segment in found if segment is not None}
        found |= {segment for segment in _mapped(who) if segment.inode not in inodes}
    return {segment for segment in found if segment is not None}


def _stat(place: str, name: str) -> Segment | None:
    try:
        seen = os.stat(place)  # noqa: PTH116  # hundreds of descriptors
    except OSError:
        return None
    linked = not name.endswith(DELETED)
    return Segment(name.removesuffix(DELETED), seen.st_ino, _size(seen), linked)


def _size(seen: os.stat_result) -> int:
    """What a segment takes, or will take once it is written to."""
    return max(seen.st_blocks * _BLOCK, -(-seen.st_size // _PAGE) * _PAGE)


def _mapped(who: str) -> set[Segment]:
    try:
        lines = Path(f"/proc/{who}/maps").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return set()
    return {segment for line in lines if SHARED_MEMORY in line and (segment := parse_map(line)) is not None}


def parse_map(line: str) -> Segment | None:
    """The segment in a line of /proc/PID/maps; None for any other mapping. Its bytes are those mapped."""
    fields = line.split(maxsplit=5)
    if len(fields) < 6 or not fields[5].startswith(SHARED_MEMORY):
        return None
    name = fields[5].removeprefix(SHARED_MEMORY)
    if name.startswith(_SEMAPHORE):
        return None
    start, _, end = fields[0].partition("-")
    return Segment(
        name.removesuffix(DELETED), int(fields[4]), int(end, 16) - int(start, 16), not name.endswith(DELETED)
    )


def named(makers: Collection[int] | None, others: Iterable[str] = ()) -> set[Segment]:
    """Segments of this user in /dev/shm that one of the ``makers`` made (any, if that is None), and those called as one
    of the ``others``.

    What killed processes left lies there until the next boot, under pids that new processes come to have: to know what
    is new, look before with None. 0.04 ms where there are few, 4 ms where thousands lie about.
    """
    wanted = set(others)
    found: set[Segment] = set()
    try:
        names = os.listdir(FOLDER)  # noqa: PTH208  # no Path for each entry
    except OSError:
        return found
    for name in names:
        match = _MAKER.match(name)
        if name in wanted or (match and (makers is None or int(match[1]) in makers)):
            try:
                seen = os.stat(f"{SHARED_MEMORY}{name}")  # noqa: PTH116  # as above
            except OSError:
                continue
            if seen.st_uid == os.geteuid():
                found.add(Segment(name, seen.st_ino, _size(seen), linked=True))
    return found


def unlink_of(pids: Iterable[int]) -> None:
    """Remove the named segments of torch's that processes made which have ended: batches that nobody will take.

    What this process has mapped stays: torch unlinks it as the last tensor in it goes, and where it cannot it throws in
    a destructor, which ends the process (RefcountedMapAllocator::close, torch 2.13).
    """
    found = [path for pid in pids if process_tree.has_ended(pid) for path in FOLDER.glob(f"torch_{pid}_*")]
    mapped = {segment.name for segment in open_segments(mapped=True)} if found else set()
    for path in found:
        if path.name not in mapped:
            with contextlib.suppress(OSError):
                path.unlink()


def total_bytes(segments: Iterable[Segment]) -> int:
    """What segments take of /dev/shm together; one that several processes hold counts once."""
    return sum({segment.inode: segment.bytes for segment in segments}.values())
