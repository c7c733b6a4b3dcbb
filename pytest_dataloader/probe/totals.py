"""Copying judged by a process's totals, where the kernel does not say which pages: smaps_rollup, else the unique set."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pytest_dataloader.probe.copying import MIB, Comparison
from pytest_dataloader.probe.footprint import PAGE
from pytest_dataloader.probe.growth import Attribute, private_gained, shared_lost
from pytest_dataloader.probe.reading import AGAIN, FIRST, SECOND, WARM

LEAST = {"smaps_rollup": MIB * 3 // 4, "uss": MIB * 3 // 2}
"""Bytes lost over the two windows of new samples below which nothing is said. Clean loaders lose up to 0.4 MiB by
smaps_rollup and gain up to 0.9 MiB by the unique set size."""
OF_EXPECTED = 0.3


def copied_by_totals(found: Comparison) -> tuple[int, str]:
    """Bytes that reading new samples un-shared, and the source that says so; (0, "") where none can.

    Warming up repeats a few samples first, so imports and first calls are over by then.
    """
    if SECOND not in found.windows:
        return 0, ""
    lost, source = shared_lost(found), "smaps_rollup"
    if lost is None:
        lost, source = private_gained(found), "uss"
    return (0, "") if lost is None else (max(0, lost - _allocated(found)), source)


def _allocated(found: Comparison) -> int:
    """Bytes that reading new samples kept: they fill holes in inherited pages, which un-shares those as well."""
    before, after = found.windows[WARM].allocated, found.windows[SECOND].allocated
    blocks = max(0, after.blocks - before.blocks) * PAGE // 32 if after.blocks >= 0 else 0
    return blocks + max(0, after.malloc_bytes - before.malloc_bytes) * 2


def suspect(found: Comparison, attributes: Sequence[Attribute]) -> tuple[Attribute | None, str]:
    """The attribute that best explains what the totals show, and their source.

    Totals name nothing: of the attributes whose reading would have cost no more than was seen, the largest.
    """
    lost, source = copied_by_totals(found)
    if not source or lost < LEAST[source]:
        return None, source
    reads = sum(found.windows[name].samples for name in (FIRST, SECOND))
    likely = [line for line in attributes if lost >= OF_EXPECTED * _expected(line, reads)]
    likely = [line for line in likely if line.exposed_bytes >= MIB]
    return max(likely, key=lambda line: line.exposed_bytes, default=None), source


def _expected(line: Attribute, reads: int) -> float:
    """Bytes that so many reads at random would un-share: pages x (1 - e^(-reads / pages)), an object or more each."""
    pages = max(1.0, line.exposed_bytes / PAGE)
    return PAGE * pages * (1 - math.exp(-reads / pages))


def unattributed(found: Comparison, least: int) -> int:
    """Shared memory lost to new samples and not lost again to the same ones; 0 where it is below ``least``."""
    lost, source = copied_by_totals(found)
    if source != "smaps_rollup" or lost < least or AGAIN not in found.reader:
        return 0
    second, again = found.reader[SECOND].shared_bytes, found.reader[AGAIN].shared_bytes
    if second is None or again is None or second - again > lost / 4:
        return 0
    return lost
