"""From what is left of an epoch to the fault that ended it: who died, raised, hangs, at which sample."""

from __future__ import annotations

import re
import time
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.internals import torch_private, worker_errors
from pytest_dataloader.probe.workers import fault, status_slots, tasks
from pytest_dataloader.probe.workers.fault import Phase, WorkerFault
from pytest_dataloader.probe.workers.watchdog import Finding, ask_for_stack

if TYPE_CHECKING:
    from pytest_dataloader.probe.workers.status_slots import StatusSlots
    from pytest_dataloader.probe.workers.tasks import TaskLog

_TIMED_OUT = re.compile(r"DataLoader timed out after (\S+) seconds")
_CORE_SECONDS = 20.0
"""A process whose main thread is gone may still write its memory to a core file."""
_BROKEN_SECONDS = 2.0
"""How long a worker whose connection broke takes at most to be seen dead."""


@dataclass(frozen=True, slots=True)
class FaultContext:
    """What there is to go by. ``raised_task`` is the batch that was being handed out."""

    slots: StatusSlots
    task_log: TaskLog
    iterator: Any
    finding: Finding | None
    raised_task: int
    in_process: bool


@dataclass(frozen=True, slots=True)
class WorkerPosition:
    """What a worker was at when it was last heard of."""

    phase: Phase
    sample: Any = None
    indices: tuple[Any, ...] = ()


def worker_position(context: FaultContext, worker: int | None, task: int | None) -> WorkerPosition:
    """What a worker was doing for a batch, by its own notes; ``worker`` is None where this process loads by itself."""
    state = status_slots.READY if worker is None else context.slots.state(worker)
    if state != status_slots.READY:
        return WorkerPosition("worker_init_fn" if state == status_slots.STARTING else "starting")
    if task is None:
        return WorkerPosition("")
    indices, position = context.task_log.indices(task), context.slots.position(task)
    batch = context.task_log.batches.get(task)
    if not position:
        return WorkerPosition("", indices[0] if len(indices) == 1 else None, indices)
    if position > len(batch or ()):
        return WorkerPosition("collating", indices=indices)
    return WorkerPosition("reading", indices[position - 1] if indices else None, indices)


def task_of(context: FaultContext, worker: int) -> int | None:
    """The batch that a worker was at: the last that it began, else the first that it was given."""
    given = [task for task, each in torch_private.pending_batches(context.iterator).items() if each == worker]
    begun = [task for task in given if context.slots.position(task)]
    return begun[-1] if begun else given[0] if given else None


def attribute_fault(context: FaultContext, error: BaseException | None) -> WorkerFault:
    """Name the fault."""
    finding = context.finding
    processes = torch_private.worker_processes(context.iterator)
    for worker, process in enumerate(processes):
        if unsent := context.slots.unsent(worker):
            indices = context.task_log.indices(unsent[0])
            why = "torch drops such a batch, and waits for it without end"
            return WorkerFault(
                "hang", worker, process.pid, exception=unsent[1], phase="sending", sample_indices=indices, why=why
            )
    if error is not None and (carried := worker_errors.caught(error)):
        return _raised(context, *carried)
    if finding is not None and finding.kind != "dead":
        return _hangs(context, finding)
    if dead := _dead(context, error):
        return _died(context, *dead)
    timed_out = _TIMED_OUT.search(str(error)) if error is not None else None
    if finding is not None:
        at = worker_position(context, finding.worker, task_of(context, finding.worker or 0))
        pid = processes[finding.worker or 0].pid
        return WorkerFault(
            "killed", finding.worker, pid, "a signal", phase=at.phase, sample=at.sample, sample_indices=at.indices
        )
    if timed_out is not None:
        return _hangs(context, _timed_out(context, timed_out[1]))
    assert error is not None
    return _raised_here(context, error)


def ended_silently(context: FaultContext, batches: int) -> WorkerFault:
    """A StopIteration of the dataset's, which torch's iterator passes on: the loop that uses it just ends."""
    processes = torch_private.worker_processes(context.iterator)
    worker = context.raised_task % len(processes) if processes else None  # batches go round, and in order
    at = worker_position(context, worker, context.raised_task)
    return WorkerFault(
        "exception", worker, processes[worker].pid if worker is not None else None, exception="StopIteration",
        phase=at.phase, sample=at.sample, sample_indices=at.indices,
        why=f"the epoch ended after {batches} batches, without an error",
    )  # fmt: skip


def _raised(context: FaultContext, worker: int, exception: str, frames: tuple[str, ...]) -> WorkerFault:
    process = torch_private.worker_processes(context.iterator)[worker : worker + 1]
    at = worker_position(context, worker, context.raised_task)
    return WorkerFault(
        "exception", worker, process[0].pid if process else None, exception=exception, phase=at.phase, sample=at.sample,
        sample_indices=at.indices, stack=frames,
    )  # fmt: skip


def _raised_here(context: FaultContext, error: BaseException) -> WorkerFault:
    lines = "".join(traceback.format_tb(error.__traceback__)).splitlines()
    frames = worker_errors.frames(lines)
    text = "".join(traceback.format_exception_only(error)).strip().splitlines() or [type(error).__name__]
    if context.in_process:
        at = worker_position(context, None, context.raised_task)
    else:
        sampled = any(f'"{tasks.__file__}"' in line for line in lines)
        phase: Phase = "sampling" if sampled else "starting" if context.iterator is None else "receiving"
        at = WorkerPosition(
            phase, indices=context.task_log.indices(context.raised_task) if phase == "receiving" else ()
        )
    return WorkerFault(
        "exception", exception=text[0], phase=at.phase, sample=at.sample, sample_indices=at.indices, stack=frames
    )


def _dead(context: FaultContext, error: BaseException | None) -> tuple[int, Any] | None:
    known = context.finding.worker if context.finding is not None and context.finding.kind == "dead" else None
    return dead_worker(context.iterator, error, known)


def dead_worker(iterator: Any, error: BaseException | None, known: int | None = None) -> tuple[int, Any] | None:
    """The worker that ended before its time, with its process; a connection breaks a moment before its end shows."""
    pids = worker_errors.dead_workers(error) if error is not None else set()
    processes = torch_private.worker_processes(iterator)
    known = next((number for number, process in enumerate(processes) if process.pid in pids), known)
    broken = isinstance(error, EOFError | OSError) or bool(pids)
    deadline = time.monotonic() + (_BROKEN_SECONDS if broken or known is not None else 0.0)
    while (dead := ended(iterator, known)) is None and time.monotonic() < deadline:
        time.sleep(0.05)
    return dead


def _died(context: FaultContext, worker: int, process: Any) -> WorkerFault:
    at = worker_position(context, worker, task_of(context, worker))
    name = fault.signal_name(process.exitcode)
    return WorkerFault(
        "killed" if name else "exit", worker, process.pid, name, process.exitcode, phase=at.phase, sample=at.sample,
        sample_indices=at.indices, stack=() if name else worker_errors.stack_of(context.slots.stack(worker)),
    )  # fmt: skip


def _hangs(context: FaultContext, finding: Finding) -> WorkerFault:
    worker = finding.worker
    processes = torch_private.worker_processes(context.iterator)
    pid = processes[worker].pid if worker is not None and worker < len(processes) else None
    task = context.raised_task if worker is None else task_of(context, worker)
    at = (
        worker_position(context, worker, task)
        if worker is not None or context.in_process
        else WorkerPosition("starting")
    )
    return WorkerFault(
        "hang", worker, pid, phase=at.phase, sample=at.sample, sample_indices=at.indices,
        stack=worker_errors.stack_of(finding.stack), waited_seconds=round(finding.waited_seconds, 1), why=finding.why,
        certain=finding.kind != "unclear",
    )  # fmt: skip


def _timed_out(context: FaultContext, seconds: str) -> Finding:
    """The loader's own timeout came before ours."""
    worker = next(iter(torch_private.pending_batches(context.iterator).values()), None)
    processes = torch_private.worker_processes(context.iterator)
    stack: tuple[str, ...] = ()
    if worker is not None and worker < len(processes):
        stack = ask_for_stack(context.slots, worker, processes[worker].pid or 0)
    return Finding("hang", worker, f"the loader's own timeout of {seconds} s was over", float(seconds), stack)


def ended(iterator: Any, known_dead: int | None) -> tuple[int, Any] | None:
    """The worker that ended before its time, with its process; one that a signal ended rather than one that exited."""
    processes = dict(enumerate(torch_private.worker_processes(iterator)))
    if known_dead in processes:
        processes[known_dead].join(_CORE_SECONDS)
    at_work = torch_private.workers_at_work(iterator)
    dead = {
        number: process
        for number, process in processes.items()
        if process.exitcode is not None and (process.exitcode != 0 or number in at_work or number == known_dead)
    }
    if not dead:
        return None
    number = min(dead, key=lambda each: (not fault.signal_name(dead[each].exitcode), each != known_dead, each))
    return number, dead[number]
