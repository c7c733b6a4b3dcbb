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
    from collections.abc import Callable

BlockedIn = Literal["cpu", "disk", "lock", "pipe", "socket", "sleep", "other", "gone"]
"""``cpu``: runs, or waits for a CPU; ``lock``: of its own process; ``pipe``: a pipe, a socket between processes of this
machine or a semaphore that they share, as the queues of multiprocessing have; ``socket``: of a network; ``other``:
anything else, and what the system does not tell."""

_PRIVATE = 0x80
_FUNCTIONS: tuple[tuple[str, BlockedIn], ...] = (
    ("futex", "lock"), ("pipe", "pipe"), ("poll", "pipe"), ("nanosleep", "sleep"), ("sk_wait", "socket"),
    ("unix_stream", "pipe"), ("inet_csk", "socket"), ("io_schedule", "disk"), ("folio_wait", "disk"),
    ("wait_on_page", "disk"), ("wait_on_buffer", "disk"), ("rpc_wait", "disk"), ("request_wait", "disk"),
)  # fmt: skip
"""By parts of the names of the kernel's functions."""
_LOCAL = "unix:"
_INT = struct.Struct("i")


def blocked_in(pid: int, tid: int) -> BlockedIn:
    """What a thread of a process is blocked in just now."""
    return classify(
        state_of(tid),
        read_system_call(pid, tid),
        _text(f"/proc/{pid}/task/{tid}/wchan"),
        lambda number: _target(pid, number),
        lambda address: _int_at(pid, address),
    )


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
            return "lock" if arguments[1] & _PRIVATE else "pipe"
        case "nanosleep" | "clock_nanosleep":
            return "sleep"
        case "poll" | "ppoll":
            number = int_at(arguments[0])
            return "pipe" if number is None else _of_descriptor(target(number), reads=False)
        case "read":
            return _of_descriptor(target(arguments[0]), reads=True)
    return "other"


def _of_descriptor(name: str, *, reads: bool) -> BlockedIn:
    if name.startswith(("pipe:", _LOCAL)):
        return "pipe"
    if name.startswith("socket:"):
        return "socket"
    return "disk" if reads and name.startswith("/") else "other"


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""


def _target(pid: int, number: int) -> str:
    """What a descriptor refers to; a socket of this machine alone as ``unix:[inode]``."""
    try:
        name = os.readlink(f"/proc/{pid}/fd/{number}")  # noqa: PTH115  # many a second
    except OSError:
        return ""
    inode = name.removeprefix("socket:[").removesuffix("]")
    local = name.startswith("socket:") and f" {inode} " in _text(f"/proc/{pid}/net/unix").replace("\n", " \n")
    return f"{_LOCAL}[{inode}]" if local else name


def _int_at(pid: int, address: int) -> int | None:
    found = read_memory(pid, address, _INT)
    return None if found is None else int(found[0])
