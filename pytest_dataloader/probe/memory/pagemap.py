"""Which pages a process has to itself: /proc/PID/pagemap, read page by page, and whether this kernel tells."""

from __future__ import annotations

import functools
import mmap
import os
import sys
from array import array
from collections.abc import Callable, Iterable, Mapping

from pytest_dataloader.probe.memory.footprint import PAGE

Pages = Mapping[int, bool | None]
"""Page number -> a page of that process alone, of no file; None where that is not told, because it is swapped out."""
_PRESENT = 1 << 63
_EXCLUSIVE = 1 << 56
"""Set since Linux 4.2 for a page mapped by one process only, readable without privilege by the same user."""
_OF_FILE = 1 << 61
"""Set for pages of files and of shared memory: mapped by one process alone, they are still no copy."""
_RUN = 64
"""Neighbouring samples closer than this many pages are read in one go: a system call costs about 0.5 us."""


def exclusive_pages(pid: int, pages: Iterable[int]) -> Pages:
    """For each page number, whether process ``pid`` alone maps it. Raises OSError where the kernel withholds it."""
    found: dict[int, bool | None] = {}
    wanted = sorted(set(pages))
    handle = os.open(f"/proc/{pid}/pagemap", os.O_RDONLY | os.O_CLOEXEC)
    try:
        at = 0
        while at < len(wanted):
            end = at
            while end + 1 < len(wanted) and wanted[end + 1] - wanted[end] < _RUN:
                end += 1
            first = wanted[at]
            data = os.pread(handle, (wanted[end] - first + 1) * 8, first * 8)
            entries = array("Q", data[: len(data) // 8 * 8])
            for page in wanted[at : end + 1]:
                entry = entries[page - first] if page - first < len(entries) else 0
                own = entry & _EXCLUSIVE and not entry & _OF_FILE
                found[page] = bool(own) if entry & _PRESENT or not entry else None
            at = end + 1
    finally:
        os.close(handle)
    return found


@functools.cache
def why_no_pagemap(reader: Callable[[int, Iterable[int]], Pages] = exclusive_pages) -> str:
    """Why exclusive pages cannot be told here, or nothing: a child writes to one of two pages and must be seen to."""
    if sys.platform != "linux" or not hasattr(os, "fork"):
        return f"pagemap is Linux's, and this is {sys.platform}"
    if mmap.PAGESIZE != PAGE:
        return f"pages here are {mmap.PAGESIZE} bytes; pagemap is read for pages of {PAGE}"
    from pytest_dataloader.probe.host.child_process import Child

    memory = mmap.mmap(-1, 2 * PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory[0] = memory[PAGE] = 1
    first = _address(memory) // PAGE

    def write(child: Child) -> None:
        memory[0] = 2
        child.tell(b"written")

    try:
        with Child.fork(lambda child: child.sleep()) as _witness, Child.fork(write) as child:
            if child.hear(5.0) is None:
                return "the child that tests pagemap did not answer"
            seen = reader(child.pid, [first, first + 1])
            return "" if (seen[first], seen[first + 1]) == (True, False) else f"pagemap's exclusive bit reads {seen}"
    except OSError as error:
        return f"pagemap is withheld: {error.strerror or error}"
    finally:
        memory.close()


def _address(memory: mmap.mmap) -> int:
    import ctypes

    view = ctypes.c_char.from_buffer(memory)
    try:
        return ctypes.addressof(view)
    finally:
        del view
