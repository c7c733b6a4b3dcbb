"""What a thread of any process of this user is blocked in, at a moment: a CPU, a disk, a lock, a pipe, a sleep.

From the system call that it is in where tracing is allowed (``system_calls``), else from the function of the kernel
that it sleeps in, /proc/PID/task/TID/wchan.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pytest_dataloader.probe.host.process_tree import state_of
from pytest_dataloader.probe.host.system_calls import RUNNING, SystemCall, read_memory, read_system_call

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

BlockedIn = Literal["cpu", "disk", "lock", "pipe", "socket", "child", "sleep", "other", "gone"]
"""``cpu``: runs, or waits for a CPU; ``lock``: of its own process, or one that it shares with others; ``pipe``: a pipe
or a socket between processes of this machine, as the queues of multiprocessing have; ``socket``: of a network;
``child``: a process that it has started, or what that writes; ``other``: anything else, and what the system does not
tell."""

_WORKING: tuple[BlockedIn, ...] = ("cpu", "disk", "socket", "child")
"""What a thread does that others of its process wait for by a lock."""
_FUNCTIONS: tuple[tuple[str, BlockedIn], ...] = (
    ("futex", "lock"), ("pipe", "pipe"), ("poll", "pipe"), ("nanosleep", "sleep"), ("sk_wait", "socket"),
    ("unix_stream", "pipe"), ("inet_csk", "socket"), ("io_schedule", "disk"), ("folio_wait", "disk"),
    ("wait_on_page", "disk"), ("wait_on_buffer", "disk"), ("rpc_wait", "disk"), ("request_wait", "disk"),
)  # fmt: skip
"""By parts of the names of the kernel's functions."""
_LOCAL, _CHILD = "unix:", "child:"
_EPOLL = "anon_inode:[eventpoll]"
_INT = struct.Struct("i")


def process_blocked_in(pid: int, queues: Collection[str] | None = None) -> BlockedIn:
    """What a process is blocked in just now: its main thread, or what that waits for, where it is another thread."""
    kind = blocked_in(pid, pid, queues)
    if kind != "lock":
        return kind
    others = {blocked_in(pid, tid, queues) for tid in threads_of(pid) if tid != pid}
    return next((each for each in _WORKING if each in others), kind)


def blocked_in(pid: int, tid: int, queues: Collection[str] | None = None) -> BlockedIn:
    """What a thread of a process is blocked in just now. Of ``queues``, where they are given, are the pipes of other
    processes; all others are of children.
    """
    return classify(
        state_of(tid),
        read_system_call(pid, tid),
        _text(f"/proc/{pid}/task/{tid}/wchan"),
        lambda number: _target(pid, number, queues),
        lambda address: _int_at(pid, address),
    )


def threads_of(pid: int) -> list[int]:
    """The threads of a process."""
    try:
        return [int(name) for name in os.listdir(f"/proc/{pid}/task")]  # noqa: PTH208  # many a second
    except OSError:
        return []


def classify(
    state: str, call: SystemCall | None, wchan: str, target: Callable[[int], str], int_at: Callable[[int], int | None]
) -> BlockedIn:
    """The same by what was read: ``target`` is what a descriptor refers to, ``int_at`` what stands at an address."""
    match state:
        case "" | "Z" | "X" | "x":
            return "gone"
        case "R":
            return "cpu"
        case "D":
            return "disk"
    if call is None:
        return next((kind for part, kind in _FUNCTIONS if part in wchan), "other")
    return "cpu" if call == RUNNING else _of_call(call, target, int_at)


def _of_call(call: SystemCall, target: Callable[[int], str], int_at: Callable[[int], int | None]) -> BlockedIn:
    name, arguments = call
    match name:
        case "futex":
            return "lock"
        case "wait":
            return "child"
        case "nanosleep" | "clock_nanosleep":
            return "sleep"
        case "poll" | "ppoll":
            number = int_at(arguments[0])
            return "pipe" if number is None else _of_descriptor(target(number), reads=False)
        case "read" | "connect":
            return _of_descriptor(target(arguments[0]), reads=True)
        case "epoll":
            return _of_descriptor(target(arguments[0]), reads=False)
    return "other"


def _of_descriptor(name: str, *, reads: bool) -> BlockedIn:
    if name.startswith(("pipe:", _LOCAL)):
        return "pipe"
    if name.startswith("socket:"):
        return "socket"
    if name.startswith(_CHILD):
        return "child"
    return "disk" if reads and name.startswith("/") else "other"


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""


def _target(pid: int, number: int, queues: Collection[str] | None = None) -> str:
    """What a descriptor refers to; a socket of this machine alone as ``unix:[inode]``, a pipe of a child as
    ``child:[inode]``, and of those that epoll looks at a socket of a network, where there is one.
    """
    try:
        name = os.readlink(f"/proc/{pid}/fd/{number}")  # noqa: PTH115  # many a second
    except OSError:
        return ""
    if name.startswith("pipe:") and queues is not None and name not in queues:
        return name.replace("pipe:", _CHILD)
    if name == _EPOLL:
        lines = _text(f"/proc/{pid}/fdinfo/{number}").splitlines()
        looked_at = (_target(pid, int(line.split()[1])) for line in lines if line.startswith("tfd:"))
        return next((each for each in looked_at if each.startswith("socket:")), name)
    inode = name.removeprefix("socket:[").removesuffix("]")
    local = name.startswith("socket:") and f" {inode} " in _text(f"/proc/{pid}/net/unix").replace("\n", " \n")
    return f"{_LOCAL}[{inode}]" if local else name


def _int_at(pid: int, address: int) -> int | None:
    found = read_memory(pid, address, _INT)
    return None if found is None else int(found[0])
