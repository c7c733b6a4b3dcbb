"""What to say of a step that waits, and what to change where a stage sets the pace; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_dataloader.probe.timing.bottleneck import MOST, STRAGGLES
from pytest_dataloader.quantities import figure, percent
from pytest_dataloader.verdict import Advice

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_dataloader.probe.timing.evidence import Stages
    from pytest_dataloader.probe.timing.stall import Stall

_FULL = 0.85
"""Share of the CPUs from which more workers would only get in each other's way."""


def waiting(stall: Stall) -> str:
    """How much of its time a step waits."""
    low, high = (f"{100 * share:.1f}" for share in stall.interval)
    return f"a step of {figure(stall.step_ms)} ms waits {100 * stall.share:.1f} % of the time ({low} to {high} at 95 %)"


def keeping_up(stall: Stall) -> str:
    """The step for which the loader would keep up."""
    return f"for at most {percent(stall.tolerated)} it would have to take {figure(stall.keeps_up_at_ms)} ms"


def advice(seen: Stages) -> tuple[Advice, ...]:
    """What to change, first what helps most."""
    return tuple(_advice(seen))


def _advice(seen: Stages) -> Iterator[Advice]:
    stage = seen.bottleneck
    full = seen.quietness.own_share >= _FULL
    if stage in ("read", "fetch", "collate") and not seen.workers:
        yield Advice("DL207", "num_workers=0 does this while the training step waits: give it workers")
    if stage in ("read", "fetch") and seen.straggler_factor >= STRAGGLES:
        yield Advice("", "even out what the workers get (shards, file sizes), or let batches overtake: in_order=False")
    if stage == "read" and seen.workers and not full:
        yield Advice("", "waiting needs no CPU: raise num_workers, also above the number of CPUs")
    if stage == "read":
        yield Advice("", "read a batch at once: give the dataset __getitems__, which gets the indices of a whole batch")
    if stage in ("fetch", "collate") and seen.workers:
        if full or seen.workers >= seen.cpus:
            code = "DL206" if seen.workers > seen.cpus else ""
            yield Advice(code, f"{seen.workers} workers on {seen.cpus:g} CPUs: samples must become cheaper")
        else:
            yield Advice("", f"raise num_workers: {seen.cpus:g} CPUs are allowed")
    if stage == "collate":
        yield Advice("", "move conversions from the collate function into the dataset; stack arrays of one shape")
    if stage in ("send", "receive"):
        yield Advice(
            "", "hand over fewer, larger tensors: each tensor of a batch crosses by itself, other types by value"
        )
    if stage == "receive" and seen.sampler_ms_per_sample >= MOST * seen.ms_per_sample["receive"]:
        yield Advice("", "make the sampler cheaper: it draws in the main process, for all workers")
    if stage == "pin":
        code = "" if seen.workers else "DL210"
        yield Advice(code, "pinning copies every batch once more: without a copy to an accelerator it gains nothing")
    if stage == "startup" and seen.workers and not seen.persistent_workers:
        yield Advice("DL204", "each epoch starts its workers anew: set persistent_workers=True")
