"""The evidence of the checks of time: throughput, stages, the comparison of two loaders, and with a baseline."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from pytest_dataloader.errors import NotMeasured
from pytest_dataloader.probe.host.interference import QUIET, Quietness

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_dataloader.probe.loader.batch_storages import EightBits
    from pytest_dataloader.probe.loader.counting import CountedBy
    from pytest_dataloader.probe.timing.cost import Cost
    from pytest_dataloader.probe.timing.sample_times import SampleTimes
    from pytest_dataloader.probe.timing.stall import Stall
    from pytest_dataloader.probe.timing.timeline import Timeline

Stage = Literal["read", "fetch", "collate", "send", "receive", "pin", "consumer", "startup"]

STAGES: tuple[Stage, ...] = ("read", "fetch", "collate", "send", "receive", "pin", "consumer", "startup")
"""In the order in which a batch goes through them; ``startup`` is what an epoch costs before they run warm."""
WORKER_STAGES: tuple[Stage, ...] = ("read", "fetch", "collate", "send")
"""What workers do side by side; without workers the main process does it, and sends nothing."""

_VAGUE = 10.0
"""By definition: where the ends of an interval are so many times apart, not even the order of magnitude is known."""


@dataclass(frozen=True, slots=True)
class Throughput:
    """How fast a loader delivers once warm, without the neighbours; figures are 0 where nothing was measured."""

    samples_per_second: float = 0.0
    interval: tuple[float, float] = (0.0, 0.0)
    """95 % interval of what it delivers on a quiet machine: wide where others took the CPUs."""
    best_samples_per_second: float = 0.0
    """In the best window."""
    window_samples_per_second: tuple[float, ...] = ()
    """In each window, in the order in which they were measured."""
    wall_samples_per_second: float = 0.0
    """By the wall clock, neighbours included."""
    batches_per_second: float = 0.0
    cpu_ms_per_sample: float = 0.0
    """CPU time of the main process and of all workers."""
    cpu_ms_interval: tuple[float, float] = (0.0, 0.0)
    best_cpu_ms_per_sample: float = 0.0
    seconds_to_first_batch: float = 0.0
    seconds_to_restart: float = 0.0
    """Median time to the first batch of a later epoch; 0 where only one was begun."""
    starting_share: float = 0.0
    """Share of the measured time spent on starting epochs, where these are too short to get warm; else 0."""
    steady: bool = True
    """False where epochs were too short to get warm and whole ones were measured, their start included."""
    measured_seconds: float = 0.0
    windows: int = 0
    batches: int = 0
    samples: int = 0
    """Pulled in all, warm-up included."""
    epochs: int = 0
    workers: int = 0
    cpus: float = 1.0
    """CPUs that the process may use."""
    persistent_workers: bool = False
    step_ms: float = 0.0
    """What a consumer takes for a batch: as given, or to take the samples asked for; 0 where neither is known."""
    receive_ms_per_batch: float = 0.0
    """Of the consumer's own time: CPU time with workers, all of it without."""
    counted_by: CountedBy = "indices"
    """Which rule counted the samples: probe/loader/counting.py."""
    hung_seconds: float = 0.0
    """How long a batch was waited for before the loader was given up; 0 where all came."""
    at_work: bool = False
    """Whether something moved yet when no batch had come for so long."""
    quietness: Quietness = QUIET

    @property
    def empty(self) -> bool:
        """Whether an epoch ended without a batch."""
        return not (self.batches or self.hung_seconds)

    @property
    def vague(self) -> bool:
        """Whether the interval says nothing of the rate."""
        return self.interval[1] >= _VAGUE * self.interval[0]

    @property
    def disturbances(self) -> tuple[str, ...]:
        """What others on the machine did, in words; empty where it was quiet."""
        return self.quietness.disturbances

    @property
    def stall(self) -> float:
        """Share of its time that a consumer of ``step_ms`` waits for batches, as the rates say.

        Raises NotMeasured where no step is known.
        """
        if not self.step_ms or not self.batches_per_second:
            raise NotMeasured("throughput.stall was not measured: give step_ms, the time of one training step")
        period = max(1e3 / self.batches_per_second, self.step_ms + self.receive_ms_per_batch)
        return 1 - self.step_ms / period


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
class TriedChange:
    """A change of a loader's settings that was measured beside the loader as it is."""

    change: str
    """As code, such as ``num_workers=4``, or in words."""
    gain: float
    """Times as many samples a second as without it: its slowest round against the fastest of the loader as it is."""
    samples_per_second: float
    """With it: the most of all rounds."""


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
    """The same as time that passes per sample, for bars: what workers do side by side over their number; 0 for what
    runs beside a slower part. The sum is ``limit_ms_per_sample``, the largest is the bottleneck's."""
    limit_ms_per_sample: float = 0.0
    """The time that passes per sample at best."""
    limit_error: float = 0.0
    """Half the 95 % interval of this time, on the logarithm, where workers set it: timed batches may differ much."""
    collate_waiting_ms_per_sample: float = 0.0
    """Part of ``collate``: waiting in the collate function; the rest is computing."""
    waiting_share_of_worker: float = 0.0
    """Share of a worker's time that needs no CPU: waiting in the dataset and in the collate function."""
    helpful_workers: int = 0
    """With so many workers something else would hold the loader up. 0 where more of them do not help."""
    samples_per_second: float = 0.0
    """As measured, without the neighbours; starts of epochs left out unless these are too short to get warm."""
    alone_samples_per_second: float = 0.0
    """With num_workers=0, by the CPU time that was measured and the waiting that was seen; 0 where it was not measured,
    because workers bring more than they cost."""
    sample_times: SampleTimes | None = None
    """Single samples, read one by one after the run; None where that was not tried, or could not be."""
    tried: tuple[TriedChange, ...] = ()
    """Changes that the bottleneck suggests; none where a trial takes too long, or the loader does not take them."""
    sampler_ms_per_sample: float = 0.0
    """Part of ``receive`` (without workers: of nothing else): drawing indices in the main process."""
    sampler_waiting_ms_per_sample: float = 0.0
    """Part of that: waiting in the sampler; the rest is computing."""
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
    tensors_per_batch: int = 0
    """In the first batch, as far as they can be seen."""
    tensor_bytes_per_batch: int = 0
    shared_bytes_per_batch: int = 0
    """Of the first batch, what crosses from a worker by shared memory: the whole storage of each tensor."""
    piped_bytes_per_batch: int = 0
    """Of the first batch, what is pickled and crosses by a pipe, numpy's arrays among it."""
    array_bytes_per_batch: int = 0
    """Of these, numpy's arrays."""
    eight_bit_fields: tuple[EightBits, ...] = ()
    """Of the first batch, the fields whose values uint8 would hold."""
    batches_per_epoch: int = 0
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
    at_work: bool = False
    """Whether something moved yet when no batch had come for so long."""
    """How long a batch was waited for before the loader was given up; 0 where all came."""
    simulated: Stall | None = None
    """The consumer of ``step_ms``; None where no step was given."""
    timeline: Timeline | None = None
    """The first batches one by one; None where no batch was seen."""
    quietness: Quietness = QUIET

    @property
    def empty(self) -> bool:
        """Whether an epoch ended without a batch."""
        return not (self.batches or self.hung_seconds)

    @property
    def unshown_bytes_per_batch(self) -> int:
        """What crosses by shared memory because tensors are views of larger storages."""
        return max(0, self.shared_bytes_per_batch - self.tensor_bytes_per_batch)

    @property
    def uint8_saves_bytes_per_batch(self) -> int:
        """What would not cross if the fields whose values uint8 would hold were uint8."""
        return sum(field.bytes - field.uint8_bytes for field in self.eight_bit_fields)

    @property
    def crossing_bytes_per_batch(self) -> int:
        """What crosses from a worker to the main process in all."""
        return max(self.shared_bytes_per_batch, self.tensor_bytes_per_batch) + self.piped_bytes_per_batch

    @property
    def stall(self) -> float:
        """Share of the time that a consumer of ``step_ms`` waits; raises NotMeasured where no step was given."""
        if self.simulated is None:
            raise NotMeasured("stages.stall was not measured: give step_ms, the time of one training step")
        return self.simulated.share


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a sample costs in a loader and in its reference, both without workers, pulled from in turn."""

    ratio: float = 0.0
    """Service time per sample over that of the reference: above 1 the loader is slower."""
    interval: tuple[float, float] = (0.0, 0.0)
    """95 % interval of the ratio, by the bootstrap."""
    certain: tuple[float, float] = (0.0, 0.0)
    """Bounds of the ratio that hold however early measuring ended."""
    cpu_ratio: float = 0.0
    """The same of CPU time alone."""
    ms_per_sample: float = 0.0
    reference_ms_per_sample: float = 0.0
    pairs: int = 0
    measured_seconds: float = 0.0
    empty: bool = False
    """Whether one of the two gave no batch."""


@dataclass(frozen=True, slots=True)
class Platform:
    """What must be equal for two costs to be comparable."""

    cpu_model: str
    python: str
    torch: str

    @property
    def sentence(self) -> str:
        """The place in words."""
        return f"{self.cpu_model}, {self.python}, torch {self.torch}"


@dataclass(frozen=True, slots=True)
class BaselineEntry:
    """A loader's cost at one place. ``num_workers`` is for the reader: samples are costed without workers."""

    place: Platform
    num_workers: int
    cpu_ms_per_sample: float
    wait_ms_per_sample: float
    kernel_ms: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Baseline:
    """A sample's cost without workers, beside the one in the file.

    CPU time is compared as it is and divided by each kernel, because only a kernel of the loader's kind goes through
    its ups and downs, and which one that is nobody knows: the loader certainly costs more where all of them say so.
    """

    cost: Cost
    place: Platform | None = None
    known: BaselineEntry | None = None
    incomparable: str = ""
    """Why there is nothing to compare with."""
    num_workers: int = 0
    recorded: bool = False
    """Whether the file takes this cost over."""
    ratio: float = 0.0
    """The cost over that in the file: the median over the ways to compare. 0 where nothing was compared."""
    ratio_low: float = 0.0
    ratio_high: float = 0.0
    empty: bool = False
