"""Evidence of a training as it runs: plain numbers, units in the names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pytest_dataloader.probe.host.interference import Quietness

TrainingStage = Literal["", "consumer", "startup", "receive", "fetch", "read"]
"""What sets the pace, in the words of the check ``stages``: the training step (``consumer``), starting the workers,
receiving batches that are ready, computing in the dataset, or waiting for storage; empty where that is not known."""

INPUT_BOUND = 0.05
"""Share of its time from which a training counts as one that waits for data: the profiler of tf.data calls it input
bound from 5 % ("moderately") and 20 % ("highly")."""
COMPUTING = 0.5
"""Share of their time from which workers compute rather than wait; a worker that reads from a disk or a network waits
for most of it."""


@dataclass(frozen=True, slots=True)
class WorkerUse:
    """A worker process as last read; ``growth_bytes`` since it was first read, ``busy_share`` of the time since."""

    worker: int
    pid: int
    private_bytes: int
    growth_bytes: int
    busy_share: float
    descriptors: int


@dataclass(frozen=True, slots=True)
class Rates:
    """What loops over a loader took: waits for batches, and the steps between them."""

    batches: int
    samples: int
    seconds: float
    """Of the loops."""
    waiting_seconds: float
    """For batches, the first of each epoch and the end of the workers included."""

    @property
    def batches_per_second(self) -> float:
        return self.batches / self.seconds if self.seconds else 0.0

    @property
    def samples_per_second(self) -> float:
        """Samples in a second of the loops."""
        return self.samples / self.seconds if self.seconds else 0.0

    @property
    def input_wait(self) -> float:
        """Share of the time of the loops that was waited for data."""
        return self.waiting_seconds / self.seconds if self.seconds else 0.0


@dataclass(frozen=True, slots=True)
class Training(Rates):
    """What a training took from one loader, or from those made one after the other at one place.

    Its ``seconds`` are those of its loops: waiting for batches, and the steps between them, without those in which
    another loader was iterated between two batches.
    """

    made_at: str
    iterated_at: str
    loaders: int
    epochs: int
    startup_seconds: float
    """Of those waited, for the first batch of each epoch."""
    step_ms: float
    """Median, of the last steps."""
    wait_ms: float
    """Median, of the last batches but the first of each epoch."""
    longest_wait_ms: float
    longest_wait_batch: int
    """Its number in its epoch."""
    workers: int
    persistent_workers: bool
    stage: TrainingStage
    busy_share: float | None
    """Share of the time in which the workers compute, or wait for a CPU; without workers, of the waiting in which this
    process computes. None before it is known."""
    ready_share: float | None
    """Of the batches but the first of each epoch, those that were ready when they were asked for; None without
    workers."""
    training_seconds: float
    """Of the loops of all loaders of the training, this one's included."""
    quietness: Quietness
    worker_uses: tuple[WorkerUse, ...]
    descriptors: int
    """Of this process and its workers, the most of any, at the peak; 0 where they cannot be counted."""
    descriptor_limit: int
    segment_bytes: int
    """Of shared memory that this process and its workers have open, at the peak."""
    fault: str = ""
    """What the loader raised last, where no batch came after it."""

    @property
    def input_wait_of_training(self) -> float:
        """Share of the time of all loops that the training waited for data of this loader."""
        return self.waiting_seconds / self.training_seconds if self.training_seconds else 0.0

    @property
    def worker_private_bytes(self) -> int:
        """Memory that a worker has to itself: the most of any."""
        return max((each.private_bytes for each in self.worker_uses), default=0)

    @property
    def growth_bytes_per_worker(self) -> int:
        """What a worker has gained since it was first read: the most of any."""
        return max((each.growth_bytes for each in self.worker_uses), default=0)

    @property
    def fd_use(self) -> float:
        """The peak of the descriptors as a share of what a process may open."""
        return self.descriptors / self.descriptor_limit if self.descriptor_limit else 0.0
