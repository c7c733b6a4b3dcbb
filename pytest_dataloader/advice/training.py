"""What to say of a training that waits for data, and what to change; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_dataloader.probe.training.evidence import INPUT_BOUND
from pytest_dataloader.quantities import counted, figure, percent, size
from pytest_dataloader.verdict import Advice

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_dataloader.probe.training.evidence import Rates, Training


WORKERS_HELP_MS = 10.0
"""A batch that takes less to make is not made faster by workers for certain: with two on two CPUs, loaders without got
0.1 to 1.6 times the rate where it takes 0.3 to 3 ms, 1.1 to 1.3 times where it takes 10 ms and has up to 4 MB
(benchmarks/workers_gain.py)."""


def describe_wait(seen: Training) -> str:
    """How much of its time a training waited for data."""
    return f"data wait: {100 * seen.input_wait:.1f} % of {figure(seen.seconds)} s"


def describe_wait_of_training(seen: Training) -> str:
    """How much of its time a training waited for data of this loader."""
    return f"data wait: {100 * seen.input_wait_of_training:.1f} % of the training's {figure(seen.training_seconds)} s"


def describe_training(seen: Training) -> str:
    """What was seen of a training, the figures alone."""
    first = f"first batch after {figure(seen.startup_seconds / max(1, seen.epochs))} s"
    parts = [
        f"{counted(seen.batches, 'batch')}, {figure(seen.samples_per_second)} samples/s",
        f"step {figure(seen.step_ms)} ms, data wait {figure(seen.wait_ms)} ms (medians), {first}"
        if seen.step_ms
        else first,
        _memory(seen),
    ]
    return "\n".join(filter(None, parts))


def watch_line(seen: Training, rates: Rates) -> str:
    """A line on a training under way, with the rates of its last seconds."""
    parts = [
        f"batch {seen.batches:,}",
        f"{figure(rates.batches_per_second)} batches/s",
        f"{figure(rates.samples_per_second)} samples/s",
        f"data wait {100 * rates.input_wait:.1f} %",
        f"{seen.workers} workers of up to {size(seen.worker_private_bytes)}" if seen.worker_private_bytes else "",
        f"{seen.descriptors:,} of {seen.descriptor_limit:,} descriptors" if seen.descriptors else "",
        f"{size(seen.segment_bytes)} shared memory",
    ]
    return "  ".join(filter(None, parts))


def _memory(seen: Training) -> str:
    if not seen.worker_private_bytes:
        return ""
    grown = seen.growth_bytes_per_worker
    since = f", {size(grown)} more than at first" if grown > 0 else ""
    return f"private memory of a worker {size(seen.worker_private_bytes)}{since}"


def advice(seen: Training) -> tuple[Advice, ...]:
    """What to change, where a training waits."""
    return tuple(_advice(seen)) if seen.input_wait >= INPUT_BOUND else ()


GROWS = Advice(
    "",
    "keep records in arrays, which workers share (DL301), and nothing that a sample makes (DL302): the check memory "
    "names the attribute",
)
OPENS = Advice("", "close each file after its sample, and return fewer tensors a batch: the check fds names them")


def _advice(seen: Training) -> Iterator[Advice]:
    match seen.stage:
        case "startup" if seen.epochs > 1 and not seen.persistent_workers:
            share = percent(seen.startup_seconds / seen.waiting_seconds)
            waited = f"{share} of the data wait is for the first batch of {counted(seen.epochs, 'epoch')}"
            anew = seen.loaders == seen.epochs
            yield Advice(
                "" if anew else "DL204",
                f"{'make the loader once, with ' if anew else ''}persistent_workers=True: {waited}",
            )
        case "fetch" | "read" if not seen.workers and seen.wait_ms < WORKERS_HELP_MS:
            return
        case "fetch" | "read" if not seen.workers:
            doing = "computing" if seen.stage == "fetch" else "waiting for storage"
            yield Advice(
                "DL207", f"DataLoader(..., num_workers=2) or more: batches are made between two steps, mostly {doing}"
            )
        case "receive" if not seen.quietness.disturbances:
            yield Advice(
                "",
                f"return fewer, larger tensors: {percent(seen.ready_share or 0)} of the batches were ready when asked "
                "for, and receiving them took the time",
            )
        case "fetch":
            yield Advice(
                "",
                "raise num_workers while there are free CPUs, else reduce the CPU cost of __getitem__: "
                f"{counted(seen.workers, 'worker')}, {percent(seen.busy_share or 0)} CPU",
            )
        case "read":
            yield Advice(
                "",
                "raise num_workers, or read larger pieces: "
                f"{counted(seen.workers, 'worker')}, {percent(seen.busy_share or 0)} CPU, the rest I/O wait or locks",
            )
