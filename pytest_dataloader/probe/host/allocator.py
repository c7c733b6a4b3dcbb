"""What this process has allocated and not freed: Python's blocks, and glibc's bytes."""

from __future__ import annotations

import ctypes
import functools
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

BLOCK = 80
"""Bytes that a block of Python's small-object allocator counts for: tuples and short strings take 64 to 112."""


@dataclass(frozen=True, slots=True)
class Allocated:
    """Totals at one moment: ``blocks`` of Python's allocator, ``malloc_bytes`` of glibc's; -1 where not told."""

    blocks: int
    malloc_bytes: int


class _Mallinfo2(ctypes.Structure):
    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost",
        )
    )  # fmt: skip


@functools.cache
def _mallinfo2() -> Callable[[], _Mallinfo2] | None:
    if sys.platform != "linux":
        return None
    try:
        function = ctypes.CDLL(None).mallinfo2
    except (OSError, AttributeError):  # musl, or glibc before 2.33
        return None
    function.restype = _Mallinfo2
    return lambda: function()


def allocated() -> Allocated:
    """Read both counters: some 10 us. Blocks are 0 under PYTHONMALLOC=malloc, which is told as -1."""
    told = _mallinfo2()
    blocks = sys.getallocatedblocks() or -1
    if told is None:
        return Allocated(blocks, -1)
    info = told()
    return Allocated(blocks, int(info.uordblks) + int(info.hblkhd))
