"""What a run leaves open: which single samples are slow, and whether the loader would be faster without workers."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.host import child_process
from pytest_dataloader.probe.loader.borrowing import borrow
from pytest_dataloader.probe.timing import bottleneck
from pytest_dataloader.probe.timing.rate_meter import RateMeter
from pytest_dataloader.probe.timing.sample_times import sample_times
from pytest_dataloader.probe.timing.throughput import throughput

if TYPE_CHECKING:
    from pytest_dataloader.probe.timing.evidence import Stages
    from pytest_dataloader.probe.timing.instrumented_run import InstrumentedLoader

_DATASET = 0.2
"""Share of the time that the dataset must take before it is asked which of its samples are slow."""
_MOST_SUSPECTS = 512
_TIMEOUT_SECONDS = 10.0


def suspects(instrumented: InstrumentedLoader) -> list[Any]:
    """The indices of batches that were waited for longer than for others, those waited for longest first."""
    waits = sorted(instrumented.slow, key=lambda each: -each[0])
    batches = itertools.chain.from_iterable(asked for _, asked in waits)
    flat = itertools.chain.from_iterable(each if isinstance(each, list | tuple) else [each] for each in batches)
    return list(itertools.islice(dict.fromkeys(index for index in flat if isinstance(index, int)), _MOST_SUSPECTS))


def follow_up(loader: Any, seen: Stages, doubtful: list[Any], *, seconds: float) -> Stages:
    """The same evidence with what single samples take, and with the rate without workers where these may cost more."""
    dataset = sum(seen.ms_per_sample[stage] for stage in ("read", "fetch"))
    worth = dataset / max(1, seen.workers) >= _DATASET * seen.limit_ms_per_sample
    times = (
        sample_times(loader, doubtful, per_batch=seen.samples_per_batch, seconds=seconds) if worth or doubtful else None
    )
    seen = replace(seen, sample_times=times)
    if seen.workers and _may_cost_more(seen):
        cpu_ms = child_process.ask(lambda: _cpu_ms_alone(loader, seconds), seconds + _TIMEOUT_SECONDS)
        in_dataset, in_collate = seen.ms_per_sample["read"], seen.collate_waiting_ms_per_sample
        waiting_ms = in_dataset + in_collate + seen.sampler_waiting_ms_per_sample
        seen = replace(seen, alone_samples_per_second=1e3 / (cpu_ms + waiting_ms) if cpu_ms else 0.0)
    return replace(seen, why=f"{seen.why}{bottleneck.describe_follow_up(seen)}")


def _may_cost_more(seen: Stages) -> bool:
    """Whether making batches here may take less than workers and their batches' way here: it costs less than in a
    worker, whose caches are cold.
    """
    here = sum(seen.ms_per_sample[stage] for stage in ("read", "fetch", "collate", "pin", "consumer"))
    return here + seen.sampler_ms_per_sample < bottleneck.COSTLY_WORKERS_RATIO * bottleneck.best_ms_with_workers(seen)


def _cpu_ms_alone(loader: Any, seconds: float) -> float:
    """CPU time per sample without workers, in this process, a child: a rate would be the neighbours' as well."""
    import torch

    torch.set_num_threads(1)  # the threads of the parent were not forked
    with borrow(loader, in_process=True) as borrowed:
        meter = RateMeter(borrowed, seconds)
        meter.run(lambda _seen: False)
        return throughput(meter).cpu_ms_per_sample
