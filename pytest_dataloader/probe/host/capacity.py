"""How much is left to use: memory, and shared memory."""

from __future__ import annotations

import os
from pathlib import Path

from pytest_dataloader.probe.host import clocks

_V1 = Path("/sys/fs/cgroup/memory")
_SHARED = Path("/dev/shm")


def available_bytes() -> int:
    """Memory that processes started now could still take, page cache counted as free."""
    import psutil

    left = [int(psutil.virtual_memory().available)]
    for group in clocks.control_groups():
        room = _room(group / "memory.max", group / "memory.current")
        left += [room] if room is not None else []
    room = _room(_V1 / "memory.limit_in_bytes", _V1 / "memory.usage_in_bytes")
    left += [room] if room is not None else []
    return max(0, min(left))


def _room(limit: Path, current: Path) -> int | None:
    try:
        return int(limit.read_text()) - int(current.read_text())
    except (OSError, ValueError):  # no such file, or "max"
        return None


def shared_memory_bytes() -> int | None:
    """Free room in /dev/shm, which batches of workers pass through; None where there is no such place."""
    try:
        room = os.statvfs(_SHARED)
    except (AttributeError, OSError):
        return None
    return room.f_bavail * room.f_frsize
