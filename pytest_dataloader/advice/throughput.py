"""What to say of a loader's rate beside the verdict, and what to change; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_dataloader.quantities import percent
from pytest_dataloader.verdict import Advice

if TYPE_CHECKING:
    from pytest_dataloader.probe.timing.evidence import Throughput

_WORTH_A_WORKER = 0.005
"""Seconds per batch. Passing a batch from a worker cost 0.8 ms for one tensor and 8 to 12 ms for 20."""
_FULL = 0.9


def too_short(seen: Throughput) -> str:
    """Why epochs that end before the loader is warm say little."""
    length = seen.batches // max(1, seen.epochs)
    started = f"starting epochs took {percent(seen.starting_share)} of the time"
    return f"its epochs of {length} batches end before it has warmed up\n{started}"


def advice(seen: Throughput) -> tuple[Advice, ...]:
    """What to change where it is too slow."""
    found = []
    per_batch = 1 / seen.batches_per_second if seen.batches_per_second else 0.0
    if not seen.workers and per_batch > _WORTH_A_WORKER:
        found.append(
            Advice(
                "DL207",
                f"DataLoader(..., num_workers=2) or more: without workers each step waits {per_batch * 1e3:.0f} ms",
            )
        )
    if seen.workers and seen.epochs > 1 and not seen.persistent_workers and not seen.steady:
        start = f"each epoch restarts its workers, {seen.seconds_to_restart:.2g} s to the first batch"
        found.append(Advice("DL204", f"DataLoader(..., persistent_workers=True): {start}"))
    if seen.workers > seen.cpus and seen.quietness.own_share > _FULL:
        found.append(
            Advice("", f"reduce the CPU cost of __getitem__: {seen.workers} workers saturate {seen.cpus:g} CPUs")
        )
    return tuple(found)
