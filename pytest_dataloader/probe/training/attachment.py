"""A training that runs elsewhere on this machine, looked at from /proc alone: it is not touched, and does not know."""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_dataloader.errors import BadTarget
from pytest_dataloader.probe.host import blocking, clocks, descriptors, process_tree, segments
from pytest_dataloader.probe.memory.smaps import read_rollup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pytest_dataloader.probe.memory.smaps import Reading

_PERIOD_SECONDS = 0.1
"""Between two looks at what everybody waits for; one costs some 0.2 ms a process."""
_NORMAL_95 = 1.96
_PINNING = "pt_data_pin"
"""How torch calls the thread that pins; what the main thread waits for is what that one waits for."""


@dataclass(frozen=True, slots=True)
class ProcessUse:
    """A process over the time of looking: shares are of that time; ``waits`` by what it was blocked in."""

    pid: int
    name: str
    cpu_share: float
    delay_share: float
    """Ready to run, and kept from a CPU by others."""
    waits: Mapping[str, float]
    private_bytes: int
    shared_bytes: int
    growth_bytes: int
    descriptors: int
    ended: bool
    line: str = ""
    """Of the user's code that it was at, at the end, where a tool could tell."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """What was seen of a training. ``workers`` are its DataLoader workers; ``others`` counts its other processes."""

    pid: int
    command: str
    seconds: float
    main: ProcessUse
    workers: tuple[ProcessUse, ...]
    others: int
    input_wait: float
    """Share of the looks at which the main process waited for a worker."""
    looks: int
    segment_bytes: int
    segments: int
    cpus: float

    @property
    def input_wait_at_least(self) -> float:
        """The lower end of what as many looks say of the share, with 95 % confidence (Wilson's score interval)."""
        share, spread = self.input_wait, _NORMAL_95**2 / max(1, self.looks)
        deviation = math.sqrt(spread * share * (1 - share) + spread**2 / 4)
        return (share + spread / 2 - deviation) / (1 + spread)


@dataclass(slots=True)
class _Seen:
    """A process as it was first read, and the looks at it."""

    info: process_tree.ProcessInfo
    began: float
    memory: Reading | None
    cpu_ns: int
    delays_ns: dict[int, int]
    """By thread."""
    last: Reading | None = None
    last_cpu_ns: int = 0
    delay_ns: int = 0
    """Of the thread that waited longest for a CPU."""
    looks: Counter[str] = field(default_factory=Counter)


def look(
    pid: int,
    seconds: float,
    *,
    line_of: Callable[[int], str] = lambda _pid: "",
    sleep: Callable[[float], None] = time.sleep,
    came: Callable[[float], None] = lambda _share: None,
) -> Attachment:
    """Look at a process and its workers for so long. ``line_of`` tells the line of the user's code of a worker.

    Raises BadTarget where there is no such process, or where it may not be looked at.
    """
    main = _training(pid)
    pid = main.pid
    seen = {pid: _first(main)}
    began, waiting, looks = time.monotonic(), 0, 0
    queues: frozenset[str] = frozenset()
    with contextlib.suppress(KeyboardInterrupt):  # then what was seen so far counts
        while (passed := time.monotonic() - began) < seconds and process_tree.is_alive(main):
            workers = _workers(pid)
            if not seen.keys() >= {info.pid for info in workers}:
                seen |= {info.pid: _first(info) for info in workers if info.pid not in seen}
                queues = _queues(pid, workers)
            for info in (main, *workers):
                seen[info.pid].looks[blocking.process_blocked_in(info.pid, queues)] += 1
            looks += 1
            waiting += bool(workers) and _waits_for_workers(pid, queues)
            came(passed / seconds)
            sleep(_PERIOD_SECONDS)
    for each in seen.values():
        _last(each)
    elapsed = max(1e-9, time.monotonic() - began)
    found = [_use(each, line_of) for each in seen.values()]
    opened = {segment for each in (pid, *(one.pid for one in found)) for segment in segments.open_segments(each)}
    below = process_tree.descendant_pids(pid)
    return Attachment(
        pid=pid,
        command=_command(pid),
        seconds=elapsed,
        main=next(use for use in found if use.pid == pid),
        workers=tuple(use for use in found if use.pid != pid),
        others=len(set(below) - set(seen)),
        input_wait=waiting / max(1, looks),
        looks=looks,
        segment_bytes=segments.total_bytes(opened),
        segments=len({segment.inode for segment in opened}),
        cpus=clocks.cpus_allowed(),
    )


def _training(pid: int) -> process_tree.ProcessInfo:
    """The process that iterates a loader: this one, or where it has launched just one that does, that one."""
    found = process_tree.read_process(pid)
    if found is None or not found.runs or not Path("/proc/self/stat").exists():
        raise BadTarget(f"there is no running process {pid}" if found is None else f"process {pid} has ended")
    if descriptors.count_descriptors(pid) is None:
        raise BadTarget(f"process {pid} is another user's: look at it as that user, or as root")
    if found.is_worker:
        raise BadTarget(f"process {pid} is a worker of a DataLoader: look at its training, {_started_by(found)}")
    trainings = sorted(set(map(_started_by, _named_workers(process_tree.descendants(pid)))))
    if pid in trainings or not trainings:
        return found
    if len(trainings) > 1:
        raise BadTarget(f"process {pid} has started {len(trainings)} trainings: look at one of {_listed(trainings)}")
    return process_tree.read_process(trainings[0]) or found


def _listed(pids: list[int]) -> str:
    return ", ".join(map(str, pids))


def _started_by(worker: process_tree.ProcessInfo) -> int:
    """The process whose worker this is: its parent, or the one that has a server fork its workers."""
    parent = process_tree.read_process(worker.parent)
    return worker.parent if parent is None or "forkserver" not in _command(parent.pid) else parent.parent


def _named_workers(processes: Iterable[process_tree.ProcessInfo]) -> list[process_tree.ProcessInfo]:
    """Those that torch has named; what a worker starts has its name too, until it executes something else."""
    named = {info.pid: info for info in processes if info.is_worker}
    return [info for info in named.values() if info.parent not in named]


def _workers(pid: int) -> list[process_tree.ProcessInfo]:
    """The DataLoader workers of a process; those of a torch that gives them no name are its other forks."""
    below = process_tree.descendants(pid)
    if named := _named_workers(below):
        return sorted(named, key=lambda info: info.pid)  # as they were started, where pids have not begun anew
    image = _link(pid)
    return [
        info
        for info in below
        if info.runs and _link(info.pid) == image and "resource_tracker" not in _command(info.pid)
    ]


def _queues(pid: int, workers: list[process_tree.ProcessInfo]) -> frozenset[str]:
    """The pipes between a training and its workers, as the links of descriptors call them."""
    own = set(descriptors.links(pid).values())
    theirs = {name for info in workers for name in descriptors.links(info.pid).values()}
    return frozenset(name for name in own & theirs if name.startswith("pipe:"))


def _waits_for_workers(pid: int, queues: frozenset[str]) -> bool:
    """Whether the main thread waits for what workers send, or for the thread that receives that and pins it."""
    state = blocking.blocked_in(pid, pid, queues)
    if state == "pipe":
        return True
    for tid in blocking.threads_of(pid) if state == "lock" else ():
        info = process_tree.read_process(tid)
        if info is not None and info.name.startswith(_PINNING):
            return blocking.blocked_in(pid, tid, queues) == "pipe"
    return False


def _memory(pid: int) -> Reading | None:
    try:
        return read_rollup(pid)
    except (OSError, ValueError):
        return None


def _first(info: process_tree.ProcessInfo) -> _Seen:
    return _Seen(
        info, time.monotonic(), _memory(info.pid), clocks.cpu_of_ns(info.pid) or 0, clocks.delays_of_ns(info.pid)
    )


def _last(seen: _Seen) -> None:
    pid = seen.info.pid
    seen.last = _memory(pid)
    seen.last_cpu_ns = clocks.cpu_of_ns(pid) or seen.cpu_ns
    delays = clocks.delays_of_ns(pid)
    seen.delay_ns = max((delay - seen.delays_ns.get(thread, 0) for thread, delay in delays.items()), default=0)


def _use(seen: _Seen, line_of: Callable[[int], str]) -> ProcessUse:
    alive = process_tree.is_alive(seen.info)
    elapsed = max(1e-9, time.monotonic() - seen.began) * 1e9
    first, last = seen.memory, seen.last
    looks = max(1, sum(seen.looks.values()))
    return ProcessUse(
        pid=seen.info.pid,
        name=seen.info.name,
        cpu_share=(seen.last_cpu_ns - seen.cpu_ns) / elapsed,
        delay_share=seen.delay_ns / elapsed,
        waits={kind: number / looks for kind, number in seen.looks.most_common()},
        private_bytes=last.private_bytes if last is not None else 0,
        shared_bytes=last.shared_bytes if last is not None else 0,
        growth_bytes=last.private_bytes - first.private_bytes if first is not None and last is not None else 0,
        descriptors=descriptors.count_descriptors(seen.info.pid) or 0,
        ended=not alive,
        line=line_of(seen.info.pid) if alive and seen.info.is_worker else "",
    )


def _link(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/exe")  # noqa: PTH115  # a path of another process
    except OSError:
        return ""


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""
