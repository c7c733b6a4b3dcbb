"""What to say of a step that waits, and what to change where a stage sets the pace; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_dataloader.probe.timing.bottleneck import MAIN_SHARE, MUCH_BYTES, cost_more, describe_rates
from pytest_dataloader.probe.timing.stragglers import STRAGGLES
from pytest_dataloader.quantities import figure, percent, size
from pytest_dataloader.verdict import Advice

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_dataloader.probe.timing.evidence import Stages
    from pytest_dataloader.probe.timing.stall import Stall

_STARTS_OFTEN = 0.2
"""Share of the time from which starting workers in each epoch is worth a word."""
_LARGE_BYTES = 2_000_000
"""Batches of so much are not to become larger. Four times as large, those of one tensor of up to 131 kB gave 3.0 to 5.6
times as many samples a second, of 0.5 MB 1.6 to 3.6, of 1 MB 1.3 to 1.7, of 4 MB 1.1 to 1.5, of 8 MB 0.8 to 1.0 times
(benchmarks/batch_bytes.py, two runs)."""

_WORKERS_HELP_MS, _WORKERS_HELP_BYTES = 10.0, 4_000_000
"""Loaders without workers got, with two workers on two CPUs, 0.1 to 1.6 times the rate where a batch takes 0.3 to 3 ms
to make, 1.1 to 1.3 times where it takes 10 ms and has up to 4 MB, 0.9 to 1.7 where it takes 30 to 50 ms and has 40 MB
(benchmarks/workers_gain.py, beside other load)."""
_WORKERS_HELP_MS_PER_TENSOR = 1.0
"""Passing a batch of 20 tensors on takes 8 to 12 ms."""


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
    if seen.compact_gain:
        yield from _compact(seen)
    elif cost_more(seen):
        yield Advice("", _without_workers(seen))
    else:
        yield from _at_bottleneck(seen)
    share = seen.pace_ms_per_sample["startup"] / max(1e-12, seen.limit_ms_per_sample)
    if share >= _STARTS_OFTEN and seen.workers and not seen.persistent_workers:
        text = f"each epoch starts its workers anew, {percent(share)} of its time: set persistent_workers=True"
        yield Advice("DL204", text)


def _at_bottleneck(seen: Stages) -> Iterator[Advice]:
    stage = seen.bottleneck
    if seen.sample_times is not None and seen.sample_times.slowest:
        yield Advice("", _slow_samples(seen))
    if stage in ("read", "fetch", "collate") and not seen.workers and _workers_help(seen):
        made = figure(_ms_to_make_a_batch(seen))
        yield Advice(
            "DL207", f"num_workers=0 makes each batch, {made} ms, while the training step waits: give it workers"
        )
    if stage in ("read", "fetch") and seen.straggler_factor >= STRAGGLES:
        yield Advice("", "even out what the workers get (shards, file sizes), or let batches overtake: in_order=False")
    if stage in ("read", "fetch", "collate") and seen.workers:
        yield from _more_workers(seen)
    if stage == "read":
        yield Advice("", "read a batch at once: give the dataset __getitems__, which gets the indices of a whole batch")
    if stage == "collate" and seen.collate_waiting_ms_per_sample < MAIN_SHARE * seen.ms_per_sample["collate"]:
        yield Advice("", "move conversions from the collate function into the dataset; stack arrays of one shape")
    if stage == "receive" and seen.sampler_ms_per_sample >= MAIN_SHARE * seen.ms_per_sample["receive"]:
        yield Advice("", "make the sampler cheaper: it draws in the main process, for all workers")
    elif stage in ("send", "receive"):
        yield from _handing_over(seen)
    if stage == "pin":
        code = "" if seen.workers else "DL210"
        yield Advice(code, "pinning copies every batch once more: without a copy to an accelerator it gains nothing")


def _compact(seen: Stages) -> Iterator[Advice]:
    """How batches are better handed over, as was tried."""
    gain = f"tried, that allows {seen.compact_gain:.1f} times as many samples"
    if seen.array_bytes_per_batch >= MUCH_BYTES:
        arrays = f"{size(seen.array_bytes_per_batch)} of arrays in each batch are pickled through a pipe"
        yield Advice("", f"make tensors of arrays in the worker, torch.from_numpy(array): {arrays}; {gain}")
    if seen.unshown_bytes_per_batch >= MUCH_BYTES:
        crossing, shown = size(seen.shared_bytes_per_batch), size(seen.tensor_bytes_per_batch)
        views = f"a batch carries {crossing} of storages for {shown} of tensors"
        yield Advice("", f"hand over copies of views, tensor.clone(): {views}; {gain}")


def _workers_help(seen: Stages) -> bool:
    """Whether workers never made loaders slower whose batches take as long to make and are as large."""
    least = max(_WORKERS_HELP_MS, _WORKERS_HELP_MS_PER_TENSOR * seen.tensors_per_batch)
    return _ms_to_make_a_batch(seen) >= least * max(1.0, seen.crossing_bytes_per_batch / _WORKERS_HELP_BYTES)


def _ms_to_make_a_batch(seen: Stages) -> float:
    return seen.samples_per_batch * sum(seen.ms_per_sample[stage] for stage in ("read", "fetch", "collate"))


def _more_workers(seen: Stages) -> Iterator[Advice]:
    """Waiting needs no CPU, and goes on beside any number of workers; computing needs a CPU each."""
    more = seen.helpful_workers
    waiting = f"{percent(seen.waiting_share_of_worker)} of a worker's time is waiting, which needs no CPU"
    if more and seen.waiting_share_of_worker >= MAIN_SHARE:
        yield Advice("", f"raise num_workers, also above the number of CPUs: {waiting}; {_up_to(seen)}")
    elif more:
        yield Advice("", f"raise num_workers: {seen.cpus:g} CPUs are allowed; {_up_to(seen)}")
    elif seen.straggler_factor < STRAGGLES:
        code = "DL206" if seen.workers > seen.cpus else ""
        yield Advice(code, f"{seen.workers} workers on {seen.cpus:g} CPUs: samples must become cheaper")


def _up_to(seen: Stages) -> str:
    """What more workers would give, as far as the stages tell."""
    times = seen.helpful_workers / seen.workers
    return f"with {seen.helpful_workers} its workers would make up to {times:.1f} times as many samples"


def _handing_over(seen: Stages) -> Iterator[Advice]:
    if seen.workers and seen.tensors_per_batch != 1 and seen.array_bytes_per_batch < MUCH_BYTES:
        yield Advice(
            "", "hand over fewer, larger tensors: each tensor of a batch crosses by itself, other types by value"
        )
    elif seen.crossing_bytes_per_batch < _LARGE_BYTES:
        yield Advice("", "make larger batches: each costs as much to pass on, however few samples are in it")


def _without_workers(seen: Stages) -> str:
    alone, now = describe_rates(seen)
    better = ["larger"] if seen.crossing_bytes_per_batch < _LARGE_BYTES else []
    better += ["of fewer tensors"] if seen.tensors_per_batch > 1 else []
    needed = f". Where workers are needed, make their batches {' and '.join(better)}" if better else ""
    return (
        f"num_workers=0 is faster: {alone} samples/s against at most {now} with {seen.workers}; a batch costs less "
        f"to make than to hand over{needed}"
    )


def _slow_samples(seen: Stages) -> str:
    times = seen.sample_times
    assert times is not None
    first = times.slowest[0]
    many = f"{first.ms / max(1e-6, times.median_ms):.0f} times the median"
    named = ", ".join(one.index for one in times.slowest)
    look = f"look at sample{'s' * (len(times.slowest) > 1)} {named}: {figure(first.ms)} ms, {many}"
    return f"{look}; while a worker makes one, batches of the others wait (in_order=False lets them pass)"
