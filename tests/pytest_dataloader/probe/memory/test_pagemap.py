"""Exclusive pages and totals of other processes, and what is said where they are withheld."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pytest_dataloader.probe.host.child_process import Child
from pytest_dataloader.probe.memory import smaps
from pytest_dataloader.probe.memory.pagemap import exclusive_pages, why_no_pagemap

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pytest_dataloader.probe.memory.pagemap import Pages

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc")

ROLLUP = """\
55f0c0000000-7ffe00000000 ---p 00000000 00:00 0                          [rollup]
Rss:              884 kB
Pss:              385 kB
Shared_Clean:     696 kB
Shared_Dirty:      20 kB
Private_Clean:    120 kB
Private_Dirty:     68 kB
Anonymous:         88 kB
"""


def withheld(_pid: int, _pages: Iterable[int]) -> Pages:
    raise PermissionError(13, "Permission denied")


def all_zero(_pid: int, pages: Iterable[int]) -> Pages:
    return dict.fromkeys(pages, False)


def test_pages_written_by_a_child_are_its_own_and_others_are_not() -> None:
    rows = [f"row {at:0100d}" for at in range(4000)]
    addresses = [id(row) for row in rows]

    def read_half(child: Child) -> None:
        for row in rows[:2000]:
            str(row)
        child.tell(b"read")

    with Child.fork(lambda child: child.sleep()), Child.fork(read_half) as reader:
        assert reader.hear(10.0) == b"read"
        pages = exclusive_pages(reader.pid, [address // 4096 for address in addresses])
    # A slice copies references: the first half is written to, the second is not.
    assert all(pages[address // 4096] for address in addresses[:1900])
    assert sum(bool(pages[address // 4096]) for address in addresses[2100:]) < 50


def test_memory_never_touched_is_nobodys() -> None:
    assert exclusive_pages(os.getpid(), [1]) == {1: False}


def test_pages_of_a_file_are_no_copies(tmp_path: Path) -> None:
    rows = np.memmap(tmp_path / "rows", mode="w+", shape=(8, 4096), dtype=np.uint8)
    rows[:] = 1
    own = np.ones((8, 4096), np.uint8)
    rows.sum()
    mapped, kept = (
        exclusive_pages(os.getpid(), range(-(-each.ctypes.data // 4096), each.ctypes.data // 4096 + 7))
        for each in (rows, own)
    )
    assert not any(mapped.values())
    assert all(kept.values())


@pytest.mark.parametrize(
    ("reader", "words"), [(withheld, "Permission denied"), (all_zero, "exclusive bit"), (exclusive_pages, "")]
)
def test_a_kernel_that_does_not_tell_is_found_out(reader: object, words: str) -> None:
    reason = why_no_pagemap(reader)
    assert (words in reason) if words else reason == ""


def test_a_rollup_is_read() -> None:
    seen = smaps.parse_rollup(ROLLUP)
    assert (seen.private_bytes, seen.shared_bytes, seen.rss_bytes) == (68 * 1024, 20 * 1024, 884 * 1024)


def test_a_rollup_that_is_withheld_says_why() -> None:
    def refused(_pid: int) -> smaps.Reading:
        raise PermissionError(13, "Permission denied")

    assert smaps.why_no_smaps(os.getpid(), refused) == "smaps_rollup: Permission denied"
    assert smaps.why_no_smaps(os.getpid()) == ""


def test_a_rollup_without_a_field_is_withheld() -> None:
    with pytest.raises(KeyError):
        smaps.parse_rollup("\n".join(line for line in ROLLUP.splitlines() if not line.startswith("Pss:")))


def test_a_process_that_is_gone_is_an_os_error() -> None:
    with Child.fork(lambda child: child.sleep()) as child:
        pid = child.pid
    with pytest.raises(FileNotFoundError):
        smaps.read_rollup(pid)
