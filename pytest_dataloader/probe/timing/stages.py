"""The evidence of the stages check: what a sample costs at each stage of a loader, and which stage sets the pace."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from pytest_dataloader.errors import NotMeasured
from pytest_dataloader.probe.host.interference import QUIET, Quietness

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_dataloader.probe.timing.stall import Stall

Stage = Literal["read", "fetch", "collate", "send", "receive", "pin", "consumer", "startup"]

STAGES: tuple[Stage, ...] = ("read", "fetch", "collate", "send", "receive", "pin", "consumer", "startup")
"""In the order in which a batch goes through them; ``startup`` is what an epoch costs before they run warm."""
WORKER_STAGES: tuple[Stage, ...] = ("read", "fetch", "collate", "send")
"""What workers do side by side; without workers the main process does it, and sends nothing."""


@dataclass(frozen=True, slots=True)
class WorkerStages:
    """One worker slot, whichever process filled it; times are without the wait for a CPU that others held."""

    worker: int
    batches: int
    """Seen with clocks on them, of all that it made."""
    ms_per_batch: float
    ms_per_sample: Mapping[str, float]
    """By stage: read, fetch, collate, send."""
    startup_seconds: float
    """From asking for an epoch to its first index in this worker, median over the times that it was started."""
    idle_share: float
    """Share of its time that it had no index to work on: the rest of the loader holds it up."""


@dataclass(frozen=True, slots=True)
class Stages:
    """Where the time of a loader goes. Times are without the wait for a CPU that others held; 0 where not measured."""

    bottleneck: str = ""
    """The stage that sets the pace; empty where no batch was seen."""
    why: str = ""
    """One sentence: what the bottleneck is, and what says so."""
    ms_per_sample: Mapping[str, float] = field(default_factory=lambda: dict.fromkeys(STAGES, 0.0))
    """What one sample costs at each stage: of one worker's time (read, fetch, collate, send), of the main process's
    (receive, consumer), of the pinning thread's (pin). ``read`` is waiting in the dataset, ``fetch`` CPU in it,
    ``consumer`` the step given, ``startup`` the start of an epoch spread over its samples."""
    pace_ms_per_sample: Mapping[str, float] = field(default_factory=lambda: dict.fromkeys(STAGES, 0.0))
    """The same as time that passes per sample, for bars: the workers' stages over the number of workers."""
    limit_ms_per_sample: float = 0.0
    """The pace that the bottleneck allows."""
    sampler_ms_per_sample: float = 0.0
    """Part of ``receive`` (without workers: of nothing else): drawing indices in the main process."""
    handover_ms_per_sample: float = 0.0
    """Part of ``receive``: waiting for the workers' threads that hand tensors over."""
    delay_ms_per_sample: float = 0.0
    """Time in the workers' stages that was spent waiting for a CPU; in no stage."""
    queue_wait_ms_per_batch: float = 0.0
    """From a batch's last byte written in the worker to its being asked for and unpacked in the main process."""
    out_of_order_share: float = 0.0
    """Share of the batches that arrived before their turn, and lay there until an earlier one came."""
    head_of_line_share: float = 0.0
    """Share of the consumer's waiting during which a later batch lay ready."""
    waiting_share: float = 0.0
    """Share of the measured time that the main process waited for a batch."""
    seconds_to_first_batch: float = 0.0
    worker_startup_seconds: float = 0.0
    """Of the slowest worker: from asking for the epoch to its first index."""
    startup_seconds: float = 0.0
    """What starting an epoch costs beyond the work on its first batch; with persistent workers, a later epoch."""
    epoch_boundary_seconds: float = 0.0
    """From an epoch's last batch to the next one's first, median; 0 where no epoch ended while measured."""
    per_worker: tuple[WorkerStages, ...] = ()
    slowest_worker: int = -1
    straggler_factor: float = 1.0
    """A batch of the slowest worker over the median of the others'."""
    samples_per_batch: float = 0.0
    samples_per_epoch: int = 0
    """0 where it is not known."""
    batches: int = 0
    stamped_batches: int = 0
    """Batches with clocks on them, from which the figures come."""
    epochs: int = 0
    workers: int = 0
    cpus: float = 1.0
    persistent_workers: bool = False
    pinned: bool = False
    measured_seconds: float = 0.0
    hung_seconds: float = 0.0
    """How long a batch was waited for before the loader was given up; 0 where all came."""
    simulated: Stall | None = None
    """The consumer of ``step_ms``; None where no step was given."""
    quietness: Quietness = QUIET

    @property
    def stall(self) -> float:
        """Share of the time that a consumer of ``step_ms`` waits; raises NotMeasured where no step was given."""
        if self.simulated is None:
            raise NotMeasured("stages.stall was not measured: give step_ms, the time of one training step")
        return self.simulated.share
