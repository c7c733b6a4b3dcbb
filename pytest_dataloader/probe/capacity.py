"""How much memory is left to use: the machine's, or what the control group leaves of it."""

from __future__ import annotations

from pathlib import Path

from pytest_dataloader.probe import clocks

_V1 = Path("/sys/fs/cgroup/memory")


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
