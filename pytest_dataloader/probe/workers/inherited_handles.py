"""Files and sockets that were opened before the fork and that workers use: which, by what name, and what they share.

Whether a worker uses one is tried: a forked child makes the worker's first batches, and another child makes them where
every read of the descriptor fails. Batches that differ, or do not come, need it.
"""

from __future__ import annotations

import fcntl
import gc
import os
import pickle
import stat
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.host import child_process, descriptors
from pytest_dataloader.probe.host.child_process import Child
from pytest_dataloader.probe.internals import torch_worker_loop
from pytest_dataloader.probe.loader.coordination import workers_told
from pytest_dataloader.probe.resources.garbage_collection import all_objects
from pytest_dataloader.probe.resources.open_files import python_files
from pytest_dataloader.probe.resources.referrers import referrers
from pytest_dataloader.probe.samples.digests import digest
from pytest_dataloader.probe.workers.evidence import InheritedHandle
from pytest_dataloader.probe.workers.pickling import PARTS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from pytest_dataloader.probe.workers.evidence import Sharing

FORBIDDEN = {"sqlite3": "Connection", "h5py": "File"}
"""What libraries keep open and do not allow to be used after a fork: sqlite.org/howtocorrupt.html, 2.6; HDF5 keeps
caches and the state of each file, of which every process has its own from then on."""
_BATCHES = 2
"""That each of two workers makes: a file for each sample is shared by nobody."""
_SECONDS = 1.0
"""For the batches of one reading; none is begun after it."""
_SECONDS_IN_ALL = 6.0
_READING_SECONDS = 5.0
_NAMING_SECONDS = 50.0
"""For a fault that is certain: all objects are asked what keeps it open. 0.5 s of CPU time in a process that has
collected 6,500 tests; more than 10 s beside 20 other processes on two CPUs."""
_SEED = 20261122


@dataclass(frozen=True, slots=True)
class _Reading:
    """Digests of the batches that a child made, the error that ended them, and files whose position it has moved."""

    digests: tuple[str, ...]
    error: str
    moved: tuple[int, ...]


def inherited_handles(loader: Any) -> tuple[InheritedHandle, ...]:
    """Those whose use is a fault, for a loader whose workers are forked.

    0.1 ms where this process has no file or socket open; else the first batches are made twice, and more often only
    where they need one of them. Batches that take longer than ``_READING_SECONDS`` to make tell nothing.
    """
    numbers = _candidates()
    first = _plain(loader, 0) if numbers else None
    if first is None:
        return ()
    ways = _ways(numbers, first.moved)
    if not ways or not _needs(loader, 0, first, tuple(ways)):
        return ()
    made = [first]
    if loader.num_workers > 1:
        second = _plain(loader, 1)
        if second is None:
            return ()
        made.append(second)
        ways = {number: way for number, way in ways.items() if way != "position" or number in second.moved}
    else:  # what one worker alone uses, it shares with nobody
        ways = {number: way for number, way in ways.items() if way == "library"}
    used = _needed(loader, list(ways), made)
    if not used:
        return ()
    owners = child_process.ask(lambda: _owners(loader, {each: numbers[each] for each in used}), _NAMING_SECONDS) or {}
    found = [(number, *owners.get(number, ("", ""))) for number in used]
    handles = [InheritedHandle(numbers[number], kind, attribute, ways[number]) for number, kind, attribute in found]
    return tuple(dict.fromkeys(handles))


def _plain(loader: Any, worker: int) -> _Reading | None:
    """What a worker's first batches are, if they come."""
    seen = _read(loader, worker, ())
    return None if seen is None or seen.error or not seen.digests else seen


def _ways(numbers: dict[int, str], moved: Collection[int]) -> dict[int, Sharing]:
    """What would be a fault of each descriptor, if workers need it."""
    ways: dict[int, Sharing] = dict.fromkeys((number for number in numbers if number in moved), "position")
    ways |= {number: "stream" for number, target in numbers.items() if descriptors.kind(target) == "socket"}
    if any(module in sys.modules for module in FORBIDDEN):
        theirs = child_process.ask(lambda: {number for number, _ in _library_files(numbers)}, _NAMING_SECONDS)
        ways |= {number: "library" for number in theirs or () if number not in ways}
    return ways


def _needed(loader: Any, numbers: list[int], made: list[_Reading]) -> list[int]:
    """The descriptors without which none of the workers makes the same batches."""
    deadline = time.monotonic() + _SECONDS_IN_ALL
    return [
        number
        for number in numbers
        if time.monotonic() < deadline
        and all(_needs(loader, worker, each, (number,)) for worker, each in enumerate(made))
    ]


def _candidates() -> dict[int, str]:
    """Descriptors of this process that reading may need, and what each refers to."""
    found = {}
    for number, target in descriptors.links().items():
        sort = descriptors.kind(target)
        if number <= 2 or sort not in ("file", "socket") or target.startswith("/dev/"):
            continue
        try:
            flags = fcntl.fcntl(number, fcntl.F_GETFL)
            regular = stat.S_ISREG(os.fstat(number).st_mode)
        except OSError:  # closed meanwhile
            continue
        writes = flags & os.O_ACCMODE == os.O_WRONLY or flags & os.O_APPEND
        if sort == "socket" or (regular and not writes and not target.endswith(descriptors.DELETED)):
            found[number] = target
    return found


def _needs(loader: Any, worker: int, plain: _Reading, denied: tuple[int, ...]) -> bool:
    """Whether the first batches of a worker need these descriptors."""
    seen = _read(loader, worker, denied)
    if seen is None:
        return False
    made = min(len(seen.digests), len(plain.digests))
    if seen.error or seen.digests[:made] == plain.digests[:made]:
        return bool(seen.error)
    again = _read(loader, worker, ())  # random from elsewhere than the generators, which a fork copies
    return again is not None and again.digests[:made] == plain.digests[:made]


def _read(loader: Any, worker: int, denied: tuple[int, ...]) -> _Reading | None:
    """What a child makes of a worker's first batches, with every read of the ``denied`` failing; None for no answer."""
    with Child.fork(lambda child: _read_as_worker(loader, worker, child, denied)) as child:
        answer = child.hear(_READING_SECONDS)
    return None if answer is None else pickle.loads(answer)


def _read_as_worker(loader: Any, worker: int, child: Child, denied: tuple[int, ...]) -> None:
    # Before the files are denied: the sampler stays in the main process.
    tasks = list(torch_worker_loop.first_tasks(loader, _BATCHES, worker=worker, workers=loader.num_workers))
    if denied:
        nothing = os.open("/", os.O_PATH)
        for number in denied:
            os.dup2(nothing, number)
    before = _positions()
    digests: list[str] = []

    def tell(error: str) -> None:
        now = _positions()
        moved = tuple(number for number, at in before.items() if now.get(number, at) != at)
        child.tell(pickle.dumps(_Reading(tuple(digests), error, moved)))
        child.sleep()

    queues = torch_worker_loop.WorkerQueues(
        tasks, seconds=_SECONDS, take=lambda batch: digests.append(digest(batch)), done=tell
    )
    torch_worker_loop.work(loader, queues, queues, seed=_SEED, workers=workers_told(loader), worker=worker)


def _positions() -> dict[int, int]:
    """Where each open file stands. A forked child of ours has descriptions of its own: nobody else moves them."""
    found = {}
    for number, target in descriptors.links().items():
        if number > 2 and descriptors.kind(target) == "file":
            try:
                found[number] = os.lseek(number, 0, os.SEEK_CUR)
            except OSError:  # nothing that has a position
                continue
    return found


def _owners(loader: Any, used: dict[int, str]) -> dict[int, tuple[str, str]]:
    """The kind of object that keeps each of the descriptors open, and the name that leads to it.

    Asked in a child, whose objects are nobody else's.
    """
    parts = {name: getattr(loader, name, None) for name in PARTS}
    known = {name: part for name, part in parts.items() if part is not None}
    found: dict[int, tuple[str, str]] = {}
    with all_objects():
        for number, thing in (*python_files(used), *_library_files(used)):
            names = [each.name for each in referrers(known, things=[(number, thing)])]
            named = sorted(names, key=lambda name: not name.startswith(PARTS))
            kind = f"{type(thing).__module__.partition('.')[0].removeprefix('_')}.{type(thing).__qualname__}"
            if named or number not in found:  # a reader with a buffer has one without inside, to which no name leads
                found[number] = (kind, named[0] if named else "")
    return found


def _library_files(numbers: dict[int, str]) -> Iterator[tuple[int, Any]]:
    """The objects of libraries that forbid the use over a fork, each with the number of a file that it has open."""
    kinds = tuple(getattr(sys.modules[module], name) for module, name in FORBIDDEN.items() if module in sys.modules)
    for thing in gc.get_objects() if kinds else ():
        if issubclass(type(thing), kinds):
            paths = set(_paths_of(thing))
            yield from ((number, thing) for number, target in numbers.items() if target in paths)


def _paths_of(thing: Any) -> Iterator[str]:
    """The files that a library's object has open."""
    try:
        if hasattr(thing, "execute"):
            yield from (os.path.realpath(row[2]) for row in thing.execute("PRAGMA database_list") if row[2])
        else:
            yield os.path.realpath(thing.filename)
    except Exception:  # it is closed, or belongs to another thread
        return
