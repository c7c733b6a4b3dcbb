"""Copying judged by a process's totals, from smaps_rollup, where the kernel does not say which pages."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_dataloader.probe.memory.copy_on_access import MIB, DirectTest
from pytest_dataloader.probe.memory.footprint import PAGE
from pytest_dataloader.probe.memory.growth import Attribute, shared_lost
from pytest_dataloader.probe.memory.sample_reader import AGAIN, SECOND, WARM

if TYPE_CHECKING:
    from collections.abc import Sequence

LEAST = MIB * 3 // 4
"""Bytes lost over the two windows of new samples below which nothing is said. Clean loaders lose up to 0.4 MiB."""
TELLS = MIB * 2 // 5
"""Bytes of pages that must have been read under a path before touching them again says anything."""


def copied_by_totals(found: DirectTest) -> int | None:
    """Bytes that reading new samples copied; None where nobody tells.

    Warming up repeats a few samples first, so imports and first calls are over by then.
    """
    lost = shared_lost(found) if SECOND in found.windows else None
    return None if lost is None else max(0, lost - _allocated(found))


def _allocated(found: DirectTest) -> int:
    """Bytes that reading new samples kept: they fill holes in inherited pages, which copies those as well."""
    before, after = found.windows[WARM].allocated, found.windows[SECOND].allocated
    blocks = max(0, after.blocks - before.blocks) * PAGE // 32 if after.blocks >= 0 else 0
    return blocks + max(0, after.malloc_bytes - before.malloc_bytes) * 2


def judged_by_totals(found: DirectTest, attributes: Sequence[Attribute]) -> tuple[tuple[Attribute, ...], bool, str]:
    """The attributes with those marked that reading copied, whether totals were told, and what they left open.

    Totals name nothing. But writing once more to objects that reading has copied costs nothing, and writing to
    those that it has not costs a page each.
    """
    lost = copied_by_totals(found)
    if lost is None:
        return tuple(attributes), False, "no source tells how much memory the reader has to itself"
    judged = []
    unclear = ""
    for line in attributes:
        touched = [(path, seen) for path, seen in found.touched.items() if path.startswith(line.path)]
        fell = sum(seen.fell_bytes for _, seen in touched)
        of = sum(seen.of_bytes for _, seen in touched)
        if line.exposed_bytes >= MIB and of < TELLS:
            unclear = f"too little of {line.path} could be read for smaps_rollup to tell whether it is copied"
        elif of >= TELLS and lost >= LEAST and fell < of / 2:
            size = line.exposed_bytes
            share = round(1 - fell / of, 4)
            line = replace(
                line, copied=True, copied_bytes=size, share_copied=share, share_at_least=share, sampled=of // PAGE,
                growth_bytes=line.growth_if_copied_bytes,
            )  # fmt: skip
        judged.append(line)
    guilty = any(line.copied for line in judged)
    if not unclear and lost >= LEAST and _could_be_lost(found, attributes):
        unclear = f"smaps_rollup shows {lost / 1e6:.1f} MB copied by reading, but not of which attribute"
    order = sorted(judged, key=lambda line: (-line.copied_bytes, -line.exposed_bytes))
    return tuple(order), True, "" if guilty else unclear


def _could_be_lost(found: DirectTest, attributes: Sequence[Attribute]) -> bool:
    arrays = any(exposure.content and exposure.exposed >= MIB for exposure in found.walk.exposures)
    return arrays or any(line.exposed_bytes >= MIB for line in attributes)


def unattributed(found: DirectTest, least: int) -> int:
    """Shared memory lost to new samples and not lost again to the same ones; 0 where it is below ``least``."""
    lost = copied_by_totals(found)
    if lost is None or lost < least or AGAIN not in found.reader:
        return 0
    lost_again = found.reader[SECOND].shared_bytes - found.reader[AGAIN].shared_bytes
    return lost if lost_again <= lost / 4 else 0
