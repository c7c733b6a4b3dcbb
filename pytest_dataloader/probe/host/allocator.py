"""What this process has allocated and not freed: Python's blocks, glibc's bytes, and those of Arrow's own pool."""

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
    """Totals at one moment: ``blocks`` of Python's allocator, ``malloc_bytes`` of glibc's and of Arrow's pool; -1 where
    not told.
    """

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
    return Allocated(blocks, int(info.uordblks) + int(info.hblkhd) + _arrow_bytes())


def give_back_freed() -> None:
    """Have the allocator return what is free to the system: what fits into it would not be seen to grow."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:  # of glibc
        trim(0)


def _arrow_bytes() -> int:
    """Bytes of pyarrow's default pool, where that is not the C library's: mimalloc and jemalloc are not glibc's."""
    arrow = sys.modules.get("pyarrow")
    try:
        pool = arrow.default_memory_pool() if arrow is not None else None
        return 0 if pool is None or pool.backend_name == "system" else int(pool.bytes_allocated())
    except AttributeError:  # while it is being imported
        return 0
