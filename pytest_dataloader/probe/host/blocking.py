"""What a thread of any process of this user is blocked in, at a moment: a CPU, a disk, a lock, a pipe, a sleep.

From /proc/PID/task/TID: ``syscall`` tells the system call and its arguments (proc(5)) where tracing is allowed, else
``wchan`` tells the function of the kernel that it sleeps in.
"""

from __future__ import annotations

import os
import platform
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pytest_dataloader.probe.host.process_tree import state_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

BlockedIn = Literal["cpu", "disk", "lock", "pipe", "socket", "sleep", "other", "gone"]
"""``cpu``: runs, or waits for a CPU; ``lock``: of its own process; ``pipe``: a pipe, a socket between processes of this
machine or a semaphore that they share, as the queues of multiprocessing have; ``socket``: of a network; ``other``:
anything else, and what the system does not tell."""

_READ, _POLL, _FUTEX, _SLEEP = "read", "poll", "futex", "sleep"
_CALLS = {
    "x86_64": {0: _READ, 17: _READ, 19: _READ, 45: _READ, 47: _READ, 7: _POLL, 271: _POLL, 202: _FUTEX, 35: _SLEEP,
               230: _SLEEP},
    "aarch64": {63: _READ, 67: _READ, 65: _READ, 207: _READ, 212: _READ, 73: _POLL, 98: _FUTEX, 101: _SLEEP,
                115: _SLEEP},
}.get(platform.machine(), {})  # fmt: skip
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
        state_of(tid) if tid != pid else state_of(pid),
        _text(f"/proc/{pid}/task/{tid}/syscall"),
        _text(f"/proc/{pid}/task/{tid}/wchan"),
        lambda number: _target(pid, number),
        lambda address: _int_at(pid, address),
    )


def classify(
    state: str, syscall: str, wchan: str, target: Callable[[int], str], int_at: Callable[[int], int | None]
) -> BlockedIn:
    """The same by what was read: ``target`` is what a descriptor refers to, ``int_at`` what stands at an address."""
    match state:
        case "":
            return "gone"
        case "Z" | "X" | "x":
            return "gone"
        case "R":
            return "cpu"
        case "D":
            return "disk"
    if syscall.startswith("running"):
        return "cpu"
    fields = syscall.split()
    if len(fields) < 2:
        return next((kind for part, kind in _FUNCTIONS if part in wchan), "other")
    arguments = [int(field, 16) for field in fields[1:7]]
    return _of_call(_CALLS.get(int(fields[0]), ""), arguments, target, int_at)


def _of_call(
    call: str, arguments: Sequence[int], target: Callable[[int], str], int_at: Callable[[int], int | None]
) -> BlockedIn:
    if call == _FUTEX:
        return "lock" if arguments[1] & _PRIVATE else "pipe"
    if call == _SLEEP:
        return "sleep"
    number = int_at(arguments[0]) if call == _POLL else arguments[0] if call == _READ else None
    if number is None:
        return "pipe" if call == _POLL else "other"
    name = target(number)
    if name.startswith(("pipe:", _LOCAL)):
        return "pipe"
    if name.startswith("socket:"):
        return "socket"
    return "disk" if call == _READ and name.startswith("/") else "other"


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
    try:
        memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
    except OSError:
        return None
    try:
        return int(_INT.unpack(os.pread(memory, _INT.size, address))[0])
    except (OSError, struct.error, OverflowError):
        return None
    finally:
        os.close(memory)
