"""The system call that a thread of any process of this user is in, from /proc/PID/task/TID/syscall (proc(5)).

Reading it, and the memory that its arguments point to, takes the right to trace the process, which Linux gives for
one's own descendants.
"""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import struct

SYSTEM_CALLS = {
    "x86_64": {
        202: "futex", 35: "nanosleep", 230: "clock_nanosleep", 43: "accept", 288: "accept", 7: "poll", 271: "ppoll",
        0: "read", 17: "read", 19: "read", 45: "read", 47: "read", 42: "connect", 61: "wait", 247: "wait",
        232: "epoll", 281: "epoll", 441: "epoll",
    },
    "aarch64": {
        98: "futex", 101: "nanosleep", 115: "clock_nanosleep", 202: "accept", 242: "accept", 73: "poll",
        63: "read", 65: "read", 67: "read", 207: "read", 212: "read", 203: "connect", 260: "wait", 95: "wait",
        22: "epoll", 441: "epoll",
    },
}.get(platform.machine(), {})  # fmt: skip
"""By number, those that tell what a thread waits for; ``read`` is each that reads from a descriptor, sockets too;
``wait`` is for the end of a child."""


class SystemCall(NamedTuple):
    """A call by its name, empty for any that is not in ``SYSTEM_CALLS``, and its arguments."""

    name: str
    arguments: tuple[int, ...]


RUNNING = SystemCall("running", ())
"""Of a thread that is in none."""


def read_system_call(pid: int, tid: int) -> SystemCall | None:
    """The call that a thread is in just now; None where that may not be read."""
    try:
        text = Path(f"/proc/{pid}/task/{tid}/syscall").read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return None
    return parse(text)


def parse(text: str) -> SystemCall | None:
    """The call that stands in a file ``syscall``.

    >>> parse("999999 0x1 0x2 0x0 0x0 0x0 0x0 0x7ffe 0x7f00").arguments
    (1, 2, 0, 0, 0, 0)
    """
    if text.startswith("running"):
        return RUNNING
    fields = text.split()
    if len(fields) < 2:
        return None
    return SystemCall(SYSTEM_CALLS.get(int(fields[0]), ""), tuple(int(field, 16) for field in fields[1:7]))


def read_memory(pid: int, address: int, form: struct.Struct) -> tuple[Any, ...] | None:
    """What stands at an address of a process; None where that cannot be read."""
    try:
        memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
    except OSError:
        return None
    try:
        content = os.pread(memory, form.size, address)
    except (OSError, OverflowError):
        return None
    finally:
        os.close(memory)
    return form.unpack(content) if len(content) == form.size else None
