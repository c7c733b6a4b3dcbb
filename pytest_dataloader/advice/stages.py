"""What to say of a step that waits, and what to change where a stage sets the pace; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_dataloader.probe.timing.bottleneck import MAIN_SHARE, cost_more, is_by_sampler
from pytest_dataloader.probe.timing.stragglers import STRAGGLES
from pytest_dataloader.probe.tuning.changes import FASTER
from pytest_dataloader.quantities import figure, percent
from pytest_dataloader.verdict import Advice

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_dataloader.probe.timing.evidence import Stages
    from pytest_dataloader.probe.timing.stall import Stall

_STARTS_OFTEN = 0.2
"""Share of the time from which starting workers in each epoch is worth a word."""


def waiting(stall: Stall) -> str:
    """How much of its time a step waits."""
    low, high = (f"{100 * share:.1f}" for share in stall.interval)
    return f"data wait: {100 * stall.share:.1f} % of a {figure(stall.step_ms)} ms step (95 % CI {low} to {high})"


def keeping_up(stall: Stall) -> str:
    """The step for which the loader would keep up."""
    return f"at most {percent(stall.tolerated)} from a step of {figure(stall.keeps_up_at_ms)} ms"


def advice(seen: Stages) -> tuple[Advice, ...]:
    """What to change, first what helps most."""
    return tuple(_advice(seen))


def _advice(seen: Stages) -> Iterator[Advice]:
    if seen.sample_times is not None and seen.sample_times.slowest:
        yield Advice("", _slow_samples(seen))
    if seen.sample_times is not None and seen.sample_times.reads is not None and seen.sample_times.reads_again:
        file = seen.sample_times.reads.most_read
        yield Advice("", f"np.load(..., mmap_mode='r'), an index of offsets, or small chunks: read of {file} only what "
                         "a sample needs")  # fmt: skip
    yield from _of_trials(seen)
    if not cost_more(seen):
        yield from _at_bottleneck(seen)
    share = seen.pace_ms_per_sample["startup"] / max(1e-12, seen.limit_ms_per_sample)
    if share >= _STARTS_OFTEN and seen.workers and not seen.persistent_workers:
        text = f"DataLoader(..., persistent_workers=True): restarting workers takes {percent(share)} of each epoch"
        yield Advice("DL204", text)


def _of_trials(seen: Stages) -> Iterator[Advice]:
    """What made the loader faster when it was tried, the largest gain first."""
    for tried in sorted(seen.tried, key=lambda each: -each.gain):
        if tried.gain < FASTER:
            continue
        text = f"{tried.change} gave {figure(tried.samples_per_second)} samples/s, {tried.gain:.1f} times as many"
        workers = tried.change.startswith("num_workers=")
        if workers and seen.workers and seen.waiting_share_of_worker >= MAIN_SHARE:
            text += f": {percent(seen.waiting_share_of_worker)} of a worker's time is I/O wait"
        yield Advice("DL207" if workers and not seen.workers else "", text)


def _at_bottleneck(seen: Stages) -> Iterator[Advice]:
    stage = seen.bottleneck
    if stage in ("read", "fetch") and seen.straggler_factor >= STRAGGLES:
        yield Advice("", "use shards and files of one size: one worker has more to read than the others")
    elif stage in ("read", "fetch", "collate") and seen.workers and not seen.helpful_workers:
        code = "DL206" if seen.workers > seen.cpus else ""
        costly = "collate_fn, or the bytes of a sample" if stage == "collate" else "__getitem__"
        yield Advice(code, f"reduce the CPU cost of {costly}: more workers do not help on {seen.cpus:g} CPUs")
    if stage == "receive" and is_by_sampler(seen):
        yield Advice("", "use a faster sampler: it runs in the main process, for all workers")
    if stage == "pin":
        code = "" if seen.workers else "DL210"
        yield Advice(
            code, "DataLoader(..., pin_memory=False) unless batches go to an accelerator: pinning copies every batch"
        )


def _slow_samples(seen: Stages) -> str:
    times = seen.sample_times
    assert times is not None
    first = times.slowest[0]
    many = f"{first.ms / max(1e-6, times.median_ms):.0f} times the median"
    named = ", ".join(one.index for one in times.slowest)
    look = f"look at sample{'s' * (len(times.slowest) > 1)} {named}: {figure(first.ms)} ms, {many}"
    return f"{look}. Later batches wait for it"
