"""What to say of a training that was looked at from outside; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_dataloader.probe.training.evidence import INPUT_BOUND
from pytest_dataloader.quantities import counted, figure, percent, size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_dataloader.probe.training.attachment import Attachment, ProcessUse

_WORDS = {
    "cpu": "CPU", "disk": "disk", "lock": "a lock", "pipe": "the queue", "socket": "network", "sleep": "sleeping",
    "child": "its own processes", "other": "something else",
}  # fmt: skip
_STARVED = 0.25
_HELD = _IDLE = 0.95
_STILL = 1e-5
"""Share of a CPU below which a process does nothing: one that tries again and again takes more."""
_GROWS, _GROWS_AT_LEAST = 20_000_000, 10_000_000
"""Bytes a minute, and in all: what starting up or a warm cache adds is less, a batch of pictures that is kept more."""


def attachment_lines(seen: Attachment) -> Iterator[str]:
    """A line for the training, one for each of its processes, then what that means."""
    yield f"process {seen.pid} ({seen.command[:80]}): {counted(len(seen.workers), 'worker')}, {figure(seen.seconds)} s"
    waited = f"data wait {percent(seen.input_wait)}"
    yield f"  main process     {waited}; {_use(seen.main, seen.seconds)}"
    for number, worker in enumerate(seen.workers):
        line = f"; at {worker.line}" if worker.line else ""
        yield f"  worker {number:<2} {worker.pid:>7}  {_use(worker, seen.seconds)}{line}"
    yield f"  shared memory    {size(seen.segment_bytes)} in {counted(seen.segments, 'segment')}"
    yield from (f"  {text}" for text in conclusions(seen))


def _use(use: ProcessUse, seconds: float) -> str:
    if use.ended:
        return "has ended"
    waits = ", ".join(f"{_WORDS[kind]} {percent(share)}" for kind, share in use.waits.items() if kind in _WORDS)
    grown = f"{'+' * (use.growth_bytes >= 0)}{size(use.growth_bytes)} in {figure(seconds)} s"
    memory = f"private {size(use.private_bytes)} ({grown}), shared {size(use.shared_bytes)}"
    return f"{waits}; {memory}; {use.descriptors:,} descriptors"


def conclusions(seen: Attachment) -> Iterator[str]:
    """What the figures mean, in sentences."""
    alive = [worker for worker in seen.workers if not worker.ended]
    if not alive:
        yield "no DataLoader worker was seen: num_workers=0, or no epoch is under way"
        return
    hung = [f"worker {worker.pid}" for worker in alive if _hangs(worker)]
    if hung or _hangs(seen.main):
        who = ", ".join(hung) or "the main process"
        yield f"deadlock: {who} waits for a lock that was taken before the fork, or by a process that died"
    elif seen.input_wait_at_least >= INPUT_BOUND:
        yield f"input-bound: {_cause(alive)}"
    elif seen.input_wait >= INPUT_BOUND and any(worker.waits.get("pipe", 0.0) < _IDLE for worker in alive):
        yield f"data wait {percent(seen.input_wait)} of {counted(seen.looks, 'look')}: too few to say, raise --seconds"
    else:
        yield "not input-bound: the workers keep up with the training step"
    grown = max(worker.growth_bytes for worker in alive)
    a_minute = grown * 60 / seen.seconds
    if a_minute >= _GROWS and grown >= _GROWS_AT_LEAST:
        yield f"memory grows: +{size(a_minute)} per worker per minute (pytest-dataloader run names the attribute)"


def _hangs(use: ProcessUse) -> bool:
    """Whether a process was in a lock all the time, and did nothing at all."""
    return not use.ended and use.waits.get("lock", 0.0) >= _HELD and use.cpu_share < _STILL


def _cause(workers: list[ProcessUse]) -> str:
    """What workers do that the training waits for, by their average."""
    many = len(workers)
    delay = sum(worker.delay_share for worker in workers) / many
    totals = {kind: sum(worker.waits.get(kind, 0.0) for worker in workers) / many for kind in _WORDS}
    kind = max(totals, key=lambda each: totals[each])
    if delay >= _STARVED:
        return f"CPU contention {percent(delay)} of the workers' time: use fewer processes, or more CPUs"
    match kind:
        case "cpu":
            return f"CPU {percent(totals[kind])} of the workers' time: raise num_workers while there are free CPUs"
        case "disk" | "socket":
            storage = "disk" if kind == "disk" else "network"
            share = f"I/O wait ({storage}) {percent(totals[kind])} of the workers' time"
            return f"{share}: raise num_workers, or read larger pieces"
        case "sleep":
            return f"workers sleep {percent(totals[kind])} of the time"
        case "lock":
            return f"workers wait for a lock {percent(totals[kind])} of the time"
        case "child":
            return f"workers wait for processes that they have started {percent(totals[kind])} of the time"
        case "other":
            return f"workers wait {percent(totals[kind])} of the time, for neither storage, a lock nor the queue"
    return "workers are idle: batches wait for the main process to receive them"
