"""What to say of a device in a training loop, and what would shorten its steps; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_dataloader.probe.timing.stall import KEEPS_UP
from pytest_dataloader.quantities import counted, figure, percent, size
from pytest_dataloader.verdict import Advice

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_dataloader.probe.device.evidence import Copies, DeviceUse, Gain, StepShare, Synchronisations, Transfer

_SHOWN = 3
_READ_OF_A_NUMBER = "aten::_local_scalar_dense"


def summary(use: DeviceUse) -> str:
    """The verdict in a clause, with its figure first."""
    match use.bound:
        case "input":
            return f"input-bound: device idle {of_a_step(use.idle_waiting)}, data wait"
        case "transfer":
            return f"transfer-bound: the device only copies {of_a_step(use.copying)}"
        case "host":
            return f"host-bound: device idle {of_a_step(use.idle_other)}, not for the loader"
        case "device":
            return f"device-bound: the device computes {of_a_step(use.compute)}"
        case _:
            return f"{counted(len(use.steps), 'step')}: too few to name the bottleneck"


_FOUND_BY = {"profiler": "of profiler.step()", "annotation": "of record_function", "loader": "from batch to batch"}


def description(use: DeviceUse) -> str:
    """What was looked at, in a line."""
    names = use.device or "a device without a name"
    more = f", the busiest of {use.devices}" if use.devices > 1 else ""
    rank = f", rank {use.rank}" if use.rank is not None else ""
    return f"{names}{more}{rank}: {counted(len(use.steps), 'step')} {_FOUND_BY[use.step_source]}"


def details(use: DeviceUse) -> Iterator[str]:
    """Stages of the loader, copies and synchronisations, those that take longest first."""
    whole = sum(ms for _, ms in use.stages_while_starving)
    if whole:
        stages = ", ".join(f"{name} {percent(ms / whole)}" for name, ms in use.stages_while_starving)
        yield f"during the data wait, batches are in: {stages}"
    for kind in use.copies:
        if kind.direction != "on_device":
            yield copies(kind)
    for each in use.synchronisations[:_SHOWN]:
        if each.count >= len(use.steps):
            yield synchronisations(each, len(use.steps))


def parts(use: DeviceUse) -> str:
    """Where a step goes: the four parts that are the whole."""
    return (
        f"{figure(use.ms_per_step)} ms per step: {percent(use.compute.value)} compute, "
        f"{percent(use.copying.value)} copies only, {percent(use.idle_waiting.value)} idle in data wait, "
        f"{percent(use.idle_other.value)} idle otherwise"
    )


def of_a_step(share: StepShare) -> str:
    """A part of the steps with its interval."""
    return f"{percent(share.value)} of a step (95 % CI {100 * share.low:.0f} to {percent(share.high)})"


_DIRECTIONS = {
    "to_device": "to the device",
    "to_host": "to the host",
    "between_devices": "between devices",
    "unknown": "of an unknown kind",
}
_SOURCES = {"pinned": "pinned memory", "pageable": "pageable memory", "unknown": "memory of unknown kind"}


def copies(kind: Copies) -> str:
    """One kind of copies in a line."""
    source = f" from {_SOURCES[kind.source]}" if kind.direction == "to_device" else ""
    rate = kind.gigabytes_per_second
    amount = [size(kind.bytes)] if kind.bytes is not None else []
    speed = [f"{figure(rate)} GB/s"] if rate is not None else []
    modes = [f"{each} {word}" for each, word in _modes(kind) if each]
    beside = percent(kind.beside_compute_ms / kind.ms) if kind.ms else "0 %"
    facts = [*amount, *speed, " and ".join(modes), f"{beside} overlapped with kernels"]
    return f"{kind.count:,} copies {_DIRECTIONS[kind.direction]}{source}: {', '.join(filter(None, facts))}"


def _modes(kind: Copies) -> list[tuple[int, str]]:
    unknown = kind.count - kind.blocking - kind.non_blocking
    return [(kind.blocking, "blocking"), (kind.non_blocking, "non-blocking"), (unknown, "of unknown kind")]


def synchronisations(each: Synchronisations, steps: int) -> str:
    """What makes the host wait for the device, in a line."""
    asked = f"by {each.operator}{' (.item())' if each.operator == _READ_OF_A_NUMBER else ''}" if each.operator else ""
    return f"{each.count / max(1, steps):.1f} synchronisations a step {asked or 'by no operator of torch'}"


def advice(seen: Transfer) -> tuple[Advice, ...]:
    """What to change: what was tried and brings something, or what a trace shows for certain."""
    return tuple(_tried(seen.gains) if seen.gains else _from_trace(seen.use))


def _tried(gains: tuple[Gain, ...]) -> Iterator[Advice]:
    for each in gains:
        if each.certain:
            low, high = (100 * share for share in each.interval)
            yield Advice(
                each.code,
                f"{each.way}: {figure(each.ms)} ms per step, now {figure(each.ms_now)} ms, "
                f"{percent(each.saved)} less (95 % CI {low:.0f} to {high:.0f} %)",
            )


def _from_trace(use: DeviceUse) -> Iterator[Advice]:
    kind = use.bound
    if kind == "input":
        most = f"it would save {percent(use.idle_waiting.value)} of a step at most"
        if use.has_workers is False:
            yield Advice("DL207", f"DataLoader(..., num_workers=2) or more: {most}")
        else:
            yield Advice("", f"more workers, or a loader that needs less time for a batch: {most}")
    to_device = [each for each in use.copies if each.direction == "to_device"]
    alone = {each.source: max(0.0, each.ms - each.beside_compute_ms) for each in to_device}
    whole = use.ms_per_step * len(use.steps)
    share = alone.get("pageable", 0.0) / whole
    if share >= KEEPS_UP / 2:
        yield Advice(
            "",
            "DataLoader(..., pin_memory=True) and batch.to(device, non_blocking=True): "
            f"it would save {percent(share)} of a step at most",
        )
    if kind == "host":
        for each in use.synchronisations:
            if each.operator == _READ_OF_A_NUMBER and each.count >= len(use.steps):
                yield Advice("DL108", f"call .item() every N steps: {synchronisations(each, len(use.steps))}")
