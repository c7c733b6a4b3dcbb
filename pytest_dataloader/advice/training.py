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
    return f"waited for data {100 * seen.input_wait:.1f} % of {figure(seen.seconds)} s"


def describe_wait_of_training(seen: Training) -> str:
    """How much of its time a training waited for data of this loader."""
    return (
        f"waited for data {100 * seen.input_wait_of_training:.1f} % of the training's {figure(seen.training_seconds)} s"
    )


def describe_training(seen: Training) -> str:
    """What was seen of a training, the figures alone."""
    parts = [
        f"{counted(seen.batches, 'batch')}, {figure(seen.samples_per_second)} samples/s",
        f"step {figure(seen.step_ms)} ms, wait {figure(seen.wait_ms)} ms (medians)" if seen.step_ms else "",
        f"first batch after {figure(seen.startup_seconds / max(1, seen.epochs))} s",
        _memory(seen),
    ]
    return "; ".join(filter(None, parts))


def watch_line(seen: Training, rates: Rates) -> str:
    """A line on a training under way, with the rates of its last seconds."""
    parts = [
        f"batch {seen.batches:,}",
        f"{figure(rates.batches_per_second)} batches/s",
        f"{figure(rates.samples_per_second)} samples/s",
        f"waited {100 * rates.input_wait:.1f} %",
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
    "a worker copies what it reads of Python objects that the main process made (DL301: arrays are shared), or keeps "
    "what it makes (DL302): the check memory names the attribute",
)
OPENS = Advice(
    "", "close what is opened for each sample, and hand over fewer tensors a batch: the check fds names them"
)


def _advice(seen: Training) -> Iterator[Advice]:
    match seen.stage:
        case "startup" if seen.epochs > 1 and not seen.persistent_workers:
            share = percent(seen.startup_seconds / seen.waiting_seconds)
            waited = f"{share} of the waiting is for the first batch of {counted(seen.epochs, 'epoch')}"
            anew = seen.loaders == seen.epochs
            yield Advice(
                "" if anew else "DL204",
                f"{waited}: {'make the loader once, with' if anew else 'set'} persistent_workers=True",
            )
        case "fetch" | "read" if not seen.workers and seen.wait_ms < WORKERS_HELP_MS:
            return
        case "fetch" | "read" if not seen.workers:
            doing = "computing" if seen.stage == "fetch" else "waiting for storage"
            yield Advice(
                "DL207", f"num_workers=0: batches are made between two steps, mostly {doing}; give the loader workers"
            )
        case "receive" if not seen.quietness.disturbances:
            yield Advice(
                "",
                f"{percent(seen.ready_share or 0)} of the batches were ready when they were asked for: the waiting is "
                "for receiving them; hand over fewer, larger tensors",
            )
        case "fetch":
            yield Advice(
                "",
                f"the {counted(seen.workers, 'worker')} compute {percent(seen.busy_share or 0)} of the time: "
                "raise num_workers while there are free CPUs, else make samples cheaper",
            )
        case "read":
            yield Advice(
                "",
                f"the {counted(seen.workers, 'worker')} compute {percent(seen.busy_share or 0)} of the time and wait "
                "for the rest (storage, network, a lock): raise num_workers, or read larger pieces",
            )
