"""Why a loader is as fast as it is, in a sentence that its evidence carries; pure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pytest_dataloader.probe.timing.stragglers import STRAGGLES
from pytest_dataloader.quantities import counted, figure, size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_dataloader.probe.timing.evidence import Stages

COSTLY_WORKERS_RATIO = 1.25
"""Workers cost more than they bring where a sample takes this many times as long with them as without."""
_APART = 1.25
"""Where what the stages allow is not known better than by this factor, its interval is told."""
MAIN_SHARE = 0.5
"""Share of a cost from which a part of it is what to fix."""

MUCH_BYTES = 1_000_000
"""Of a batch, from which it is told how they cross, and tried whether another way is better. With tensors in place of
one array the CPU time of a sample was 5 times as much for batches of 16 and 160 kB, 0.9 for 1.6 MB and 0.5 for 16 MB;
with copies of views 0.8 for storages of 0.6 MB a batch, 0.4 for 6.4 and 0.15 for 64 (benchmarks/batch_transport.py)."""

_WHAT = {
    "read": "I/O wait in the dataset",
    "fetch": "CPU work in the dataset",
    "collate": "collate_fn",
    "send": "pickling batches and writing them to the pipe",
    "receive": "receiving batches in the main process",
    "pin": "copying batches to pinned memory",
    "consumer": "the training step",
    "startup": "starting epochs",
}


def describe_bottleneck(seen: Stages, part: str) -> str:
    """Which stage is the bottleneck and how much of the wall time it takes, then why, a fact a line; ``part`` is what
    it belongs to.
    """
    stage = seen.bottleneck
    if not stage:
        return ""
    what = _WHAT[stage]
    if stage == "collate" and seen.collate_waiting_ms_per_sample >= MAIN_SHARE * seen.ms_per_sample["collate"]:
        what = "waiting in collate_fn"
    cost = f"{figure(seen.pace_ms_per_sample[stage])} of {figure(seen.limit_ms_per_sample)} ms per sample"
    return "\n".join([f"bottleneck: {what}, {cost}", *_because(seen, part)])


def _because(seen: Stages, part: str) -> Iterator[str]:
    if seen.bottleneck == "startup":
        yield f"{figure(seen.startup_seconds)} s to start an epoch of {counted(seen.batches_per_epoch, 'batch')}"
        return
    if seen.bottleneck == "consumer":
        yield "the loader keeps up with it"
        return
    if part == "process":
        yield "num_workers=0: the main process makes every batch"
    elif part == "cpus":
        yield f"CPU-bound: {counted(seen.workers, 'worker')} and the main process saturate {seen.cpus:g} CPUs"
    elif part == "workers":
        yield _of_workers(seen)
        if seen.straggler_factor >= STRAGGLES:
            times = f"{seen.straggler_factor:.1f} times as long as the others"
            yield f"worker {seen.slowest_worker} takes {times}, which wait for it (in_order=True)"
    elif part == "main":
        receive = seen.ms_per_sample["receive"]
        if is_by_sampler(seen):
            yield "most of it in the sampler"
        elif seen.handover_ms_per_sample >= MAIN_SHARE * receive:
            yield "most of it waits for the workers to send tensors, delayed by their Python code"
        else:
            yield "the workers are faster"
    elif part == "pinning":
        yield "one thread pins the batches of all workers"
    if seen.limit_ms_per_sample:
        allowed, error = 1e3 / seen.limit_ms_per_sample, math.exp(seen.limit_error)
        between = f" (95 % CI {figure(allowed / error)} to {figure(allowed * error)}, as batches differ)"
        yield f"at most {figure(allowed)} samples/s{between if error >= _APART else ''}"


def _of_workers(seen: Stages) -> str:
    """What the stage costs the worker that counts, beside the others."""
    costs = seen.ms_per_sample
    if seen.straggler_factor >= STRAGGLES:
        costs = next(one.ms_per_sample for one in seen.per_worker if one.worker == seen.slowest_worker)
    own = f"{figure(costs[seen.bottleneck])} ms of one worker's time"
    return f"{own}, {seen.workers} workers in parallel" if seen.workers > 1 else own


def is_by_sampler(seen: Stages) -> bool:
    """Whether drawing indices is most of what receiving costs."""
    return seen.sampler_ms_per_sample >= MAIN_SHARE * seen.ms_per_sample["receive"]


def best_ms_with_workers(seen: Stages) -> float:
    """Time per sample with workers, by the better of what was measured and what the costs of the stages allow: on a
    busy machine the first is far off.
    """
    allowed = seen.limit_ms_per_sample - seen.pace_ms_per_sample["startup"]
    return min(1e3 / seen.samples_per_second, allowed) if seen.samples_per_second else allowed


def cost_more(seen: Stages) -> bool:
    """Whether the loader was measured to be clearly faster without workers, the step included where one was given, and
    handing batches over accounts for that: how fast a machine is changes from one measurement to the next.
    """
    if not seen.alone_samples_per_second or not seen.workers:
        return False
    alone, costs = 1e3 / seen.alone_samples_per_second, seen.ms_per_sample
    handed_over = alone / min(seen.workers, max(1.0, seen.cpus)) + costs["send"] + costs["receive"]
    return (alone + costs["consumer"]) * COSTLY_WORKERS_RATIO < best_ms_with_workers(
        seen
    ) and alone * COSTLY_WORKERS_RATIO < handed_over


def suits_uint8(seen: Stages) -> bool:
    """Whether handing batches over holds the loader up, and uint8 would make these much smaller."""
    handed_over = seen.bottleneck in ("collate", "send", "receive", "pin") and not is_by_sampler(seen)
    return bool(seen.workers) and handed_over and seen.uint8_saves_bytes_per_batch >= MUCH_BYTES


def describe_rates(seen: Stages) -> tuple[str, str]:
    """Samples per second without workers, and with them at most."""
    return figure(seen.alone_samples_per_second), figure(1e3 / best_ms_with_workers(seen))


def describe_follow_up(seen: Stages) -> str:
    """What single samples, and a run without workers, add to the sentence."""
    found = ""
    if cost_more(seen):
        alone, now = describe_rates(seen)
        found += f"\nnum_workers=0 is faster: {alone} samples/s, with {counted(seen.workers, 'worker')} at most {now}"
    if seen.workers and seen.array_bytes_per_batch >= MUCH_BYTES:
        found += f"\n{size(seen.array_bytes_per_batch)} of arrays per batch are pickled through a pipe"
    if seen.workers and seen.unshown_bytes_per_batch >= MUCH_BYTES:
        shown, crossing = size(seen.tensor_bytes_per_batch), size(seen.shared_bytes_per_batch)
        found += f"\ntensors of {shown} per batch are views, which send {crossing} through shared memory"
    if suits_uint8(seen):
        field = max(seen.eight_bit_fields, key=lambda each: each.bytes)
        sizes = f"{size(field.bytes)} per batch, {size(field.uint8_bytes)} as uint8"
        found += f"\n{field.path or 'a batch'} is {field.type} with at most 256 values: {sizes}"
    times = seen.sample_times
    if times is not None and times.reads is not None and times.reads_again:
        each, held = size(times.reads.bytes / times.reads.samples), size(times.reads.file_bytes)
        found += (
            f"\neach sample of {size(times.given_bytes)} reads {each} of files"
            f"\nan epoch reads the {held} of {counted(times.reads.files, 'file')} {times.times_read:,.0f} times"
        )
    if times is not None and times.slowest:
        named = " and ".join(f"sample {one.index} takes {figure(one.ms)} ms" for one in times.slowest)
        spread = f"median {figure(times.median_ms)}, 95 % below {figure(times.p95_ms)} ms"
        found += f"\n{named} ({spread}, {times.slow} so slow of {times.samples:,} read)"
    return found
