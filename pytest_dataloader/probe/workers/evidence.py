"""The evidence of the checks of workers: how they live, and by which methods they start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from pytest_dataloader.probe.workers.fault import Phase, WorkerFaultKind
    from pytest_dataloader.probe.workers.lifecycle import EpochTimes
    from pytest_dataloader.probe.workers.startup import WorkerStart

Sharing = Literal["position", "stream", "library", ""]
"""What makes the use a fault: a file has one ``position`` for all workers, a socket one ``stream``; a ``library`` says
itself that what it has opened is not to be used after a fork. Reading at a given offset (``pread``) is none."""


@dataclass(frozen=True, slots=True)
class InheritedHandle:
    """What workers use and this process had opened: ``attribute`` leads to it, empty where only the number is kept."""

    target: str
    kind: str
    attribute: str
    sharing: Sharing


@dataclass(frozen=True, slots=True)
class Workers:
    """The workers of a loader from start to end, and the first fault, if there was one.

    ``sample_indices`` are those of the batch that the worker was making, ``sample`` the one that it was reading;
    ``stack`` has the innermost frame last. ``restarts_per_epoch`` counts workers started for the second epoch, None
    where none was watched. ``batches_in_epoch`` is 0 where it is unknown; ``hollow`` batches were all ``hollow_batch``.
    """

    fault: WorkerFaultKind
    worker: int | None
    pid: int | None
    signal: str
    exit_code: int | None
    exception: str
    phase: Phase
    sample: Any
    sample_indices: tuple[Any, ...]
    stack: tuple[str, ...]
    waited_seconds: float
    why: str
    certain: bool
    oom_kills: int | None
    seconds_to_first_batch: float | None
    start_delay_seconds: float
    worker_start_seconds: float | None
    end_seconds: float | None
    restarts_per_epoch: int | None
    epochs: tuple[EpochTimes, ...]
    batches: int
    whole: bool
    zombies: tuple[int, ...]
    lingering: tuple[str, ...]
    forked_threads: tuple[str, ...]
    workers: int
    start_method: str
    persistent: bool
    seconds: float
    batches_in_epoch: int = 0
    hollow: int = 0
    hollow_batch: str = "None"
    threads: int = 0
    """Workers that are threads of this process."""
    torn_files: tuple[str, ...] = ()
    """Files that a worker read or wrote before another had finished writing them, in words."""
    temporary_left: tuple[str, ...] = ()
    """Temporary files and folders of workers that have ended."""
    native_threads: int = 0
    """Threads of libraries that ran when the workers were forked: a pool that does not exist in them."""
    worker_cpus: int = 0
    """CPUs that the workers may run on, all of them together; 0 where that is unknown."""
    process_cpus: int = 0
    """CPUs that this process may run on."""
    left_by_epochs: tuple[str, ...] = ()
    """Threads and processes that each epoch of what is around the loader adds, in words."""
    inherited: tuple[InheritedHandle, ...] = ()
    """Files and sockets opened before the fork that all workers use, where that is a fault."""
    pickled_bytes: int | None = None
    """What each worker is handed where workers are not forked, tensors apart."""
    pickling_cpu_seconds: float | None = None
    """What pickling and unpickling that takes, for each worker."""

    @property
    def confined(self) -> bool:
        """Whether several workers share one CPU, of those that this process may run on."""
        return self.workers > 1 == self.worker_cpus < self.process_cpus

    @property
    def empty(self) -> bool:
        """Whether whole epochs had no batch, or none that holds anything."""
        return self.fault == "none" and self.whole and self.batches == self.hollow

    @property
    def used_up(self) -> bool:
        """Whether an epoch had no batch after one with batches that was watched to its end."""
        batches = [epoch.batches for epoch in self.epochs]
        return self.fault == "none" and self.whole and batches[0] > 0 and not all(batches)


@dataclass(frozen=True, slots=True)
class Portability:
    """A worker started by each method. ``attribute`` is the path of the first thing that keeps one from starting.

    ``pickled_bytes`` is what each worker is handed, apart from tensors, which travel by shared memory
    (``tensor_bytes``); None where it does not pickle. ``pinned`` is the method that the loader itself asks for.
    """

    starts: tuple[WorkerStart, ...]
    attribute: str
    what: str
    error: str
    pickled_bytes: int | None
    tensor_bytes: int | None
    workers: int
    pinned: str
    seconds: float
    pickled_only: tuple[str, ...] = ()
    """Methods of which only the pickling was tried, and no worker started."""

    @property
    def empty(self) -> bool:
        """Whether a worker started and there was no batch to give."""
        return any(start.empty for start in self.starts)

    @property
    def working(self) -> tuple[str, ...]:
        """The start methods under which a batch came."""
        return tuple(start.method for start in self.starts if start.works)
