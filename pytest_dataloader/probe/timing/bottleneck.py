"""Why a loader is as fast as it is, in a sentence that its evidence carries; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_dataloader.quantities import counted, figure, percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_dataloader.probe.timing.evidence import Stages

STRAGGLES = 1.5
"""A worker whose batches take this many times as long as the others' holds them up."""
MOST = 0.5
"""Share of a cost from which a part of it is what to mend."""

_WHAT = {
    "read": "waiting inside the dataset",
    "fetch": "computing inside the dataset",
    "collate": "collating",
    "send": "pickling batches and writing them to the pipe",
    "receive": "receiving batches in the main process",
    "pin": "copying batches to pinned memory",
    "consumer": "the training step",
    "startup": "starting an epoch",
}


def sentence(seen: Stages, part: str) -> str:
    """Which stage sets the pace, what it costs, and why that is the limit; ``part`` is what it holds up."""
    if not seen.bottleneck:
        return ""
    cost = f"{figure(seen.ms_per_sample[seen.bottleneck])} ms per sample"
    if seen.bottleneck == "startup":
        work = figure(seen.startup_seconds)
        rest = f"which is {cost} of {counted(seen.samples_per_epoch, 'sample')}, more than making them takes"
        return f"startup sets the pace: starting an epoch takes {work} s, {rest}"
    if seen.bottleneck == "consumer":
        return f"consumer sets the pace: the training step takes {cost}, more than the loader needs"
    clauses = [f"{seen.bottleneck} sets the pace: {_WHAT[seen.bottleneck]} takes {cost}", *_because(seen, part)]
    return ", ".join(clauses)


def _because(seen: Stages, part: str) -> Iterator[str]:
    rate = f"{figure(1e3 / seen.limit_ms_per_sample)} samples/s" if seen.limit_ms_per_sample else ""
    if part == "process":
        yield f"{percent(_share_of_all(seen))} of what the main process does for a sample, with no worker beside it"
    elif part == "cpus":
        yield f"and {seen.workers} workers fill the {seen.cpus:g} CPUs"
    elif part == "workers":
        yield f"{percent(_share_of_worker(seen))} of a worker's time for it"
        if seen.straggler_factor >= STRAGGLES:
            times = f"{seen.straggler_factor:.1f} times as long as the others"
            yield f"and worker {seen.slowest_worker} takes {times}, which wait for it because batches keep their order"
    elif part == "main":
        receive = seen.ms_per_sample["receive"]
        if seen.sampler_ms_per_sample >= MOST * receive:
            yield "most of it in the sampler"
        elif seen.handover_ms_per_sample >= MOST * receive:
            yield "most of it waiting for the workers' threads that hand tensors over, which their Python code holds up"
        else:
            yield "more than the workers need"
    elif part == "pinning":
        yield "which one thread does for all workers"
    if rate:
        yield f"which allows {rate}"


def _share_of_worker(seen: Stages) -> float:
    costs = {stage: seen.ms_per_sample[stage] for stage in ("read", "fetch", "collate", "send")}
    if seen.straggler_factor >= STRAGGLES:
        costs = next(dict(one.ms_per_sample) for one in seen.per_worker if one.worker == seen.slowest_worker)
    return costs[seen.bottleneck] / max(1e-12, sum(costs.values()))


def _share_of_all(seen: Stages) -> float:
    total = sum(value for stage, value in seen.ms_per_sample.items() if stage != "startup")
    return seen.ms_per_sample[seen.bottleneck] / max(1e-12, total)
