"""What a device did while something was trained, as plain numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pytest_dataloader.probe.timing.stall import KEEPS_UP
from pytest_dataloader.probe.timing.windows import half_width

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_dataloader.probe.device.recording import Direction, HostMemory
    from pytest_dataloader.probe.host.interference import Quietness

Bound = Literal["input", "transfer", "host", "device", "unknown"]
"""What holds a training loop up: its loader, its copies, what else the host does, or the work of the device."""
_HOST = 0.20
"""Share of the steps in which a device idles for the host's other work, from which on that holds the loop up. In three
recorded trainings that nothing of data holds up it was 0.13 to 0.28, with a lower end of 0.07 to 0.16; in two
whose host launches too slowly 0.56 and 0.65."""
_LEAST_STEPS = 2
StepSource = Literal["profiler", "annotation", "loader"]
"""How steps were found: by ProfilerStep, by the user's record_function, or from one call of the loader to the next."""


@dataclass(frozen=True, slots=True)
class StepUse:
    """One training step, as the host counts it, and what its device did: four parts that are the whole."""

    name: str
    ms: float
    compute_ms: float
    """The device runs a kernel, or copies within its own memory."""
    copy_ms: float
    """It copies from or to elsewhere, and computes nothing meanwhile."""
    idle_waiting_ms: float
    """It does nothing, and the host waits for the loader."""
    idle_other_ms: float
    """It does nothing, and the host does something else."""
    waited_ms: float
    """The host waits for the loader, whatever the device does meanwhile."""

    @property
    def idle_ms(self) -> float:
        """The device does nothing."""
        return self.idle_waiting_ms + self.idle_other_ms


@dataclass(frozen=True, slots=True)
class StepShare:
    """A part of all steps together, with its 95 % interval over the steps."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Copies:
    """Copies of one kind within the steps."""

    direction: Direction
    source: HostMemory
    count: int
    bytes: int | None
    """None where the trace does not say."""
    ms: float
    beside_compute_ms: float
    """Of ``ms``, while the same device computes."""
    blocking: int
    """So many hold the host until they have arrived."""
    non_blocking: int
    """So many do not; of the rest the trace does not say."""

    @property
    def gigabytes_per_second(self) -> float | None:
        """None where the trace does not say how many bytes they have."""
        return None if self.bytes is None or not self.ms else self.bytes / self.ms / 1e6


@dataclass(frozen=True, slots=True)
class Synchronisations:
    """How often, and for how long, an operator makes the host wait for the device, within the steps."""

    operator: str
    """Empty where no operator of torch asked for it."""
    count: int
    ms: float


@dataclass(frozen=True, slots=True)
class DeviceUse:
    """What the busiest device of a trace did in each step of one training loop."""

    device: str
    """Its name, where the trace has it."""
    devices: int
    """Devices that did anything."""
    rank: int | None
    """Of a distributed job; None where the trace does not say."""
    step_source: StepSource
    steps: tuple[StepUse, ...]
    loader_calls: int
    """Calls of a loader by the thread that trains, within the steps."""
    has_workers: bool | None
    """Whether that loader has workers; None where its calls do not say."""
    copies: tuple[Copies, ...]
    synchronisations: tuple[Synchronisations, ...]
    first_step_left_out: bool = False
    """It began with the start of the loader's workers."""
    stages_while_starving: tuple[tuple[str, float], ...] = ()
    """Where the loader's timeline was merged into the trace: stages of its batches, and the milliseconds, of all
    workers together, that each took while the device idled and the host waited for the loader; the longest first."""

    @property
    def ms_per_step(self) -> float:
        """The mean."""
        return sum(step.ms for step in self.steps) / max(1, len(self.steps))

    @property
    def compute(self) -> StepShare:
        """The device computes."""
        return self._share(lambda step: step.compute_ms)

    @property
    def copying(self) -> StepShare:
        """It copies from or to elsewhere, and computes nothing."""
        return self._share(lambda step: step.copy_ms)

    @property
    def idle_waiting(self) -> StepShare:
        """It does nothing, and the host waits for the loader."""
        return self._share(lambda step: step.idle_waiting_ms)

    @property
    def idle_other(self) -> StepShare:
        """It does nothing, and the host does something else."""
        return self._share(lambda step: step.idle_other_ms)

    @property
    def idle(self) -> StepShare:
        """It does nothing."""
        return self._share(lambda step: step.idle_ms)

    @property
    def waited(self) -> StepShare:
        """The host waits for the loader."""
        return self._share(lambda step: step.waited_ms)

    @property
    def bound(self) -> Bound:
        """What the loop is held up by: the largest part of its steps that is certainly more than tolerable."""
        if len(self.steps) < _LEAST_STEPS:
            return "unknown"
        parts: tuple[tuple[Bound, StepShare, float], ...] = (
            ("input", self.idle_waiting, KEEPS_UP),
            ("transfer", self.copying, KEEPS_UP),
            ("host", self.idle_other, _HOST),
        )
        found: list[tuple[float, Bound]] = [(share.low, name) for name, share, most in parts if share.low > most]
        return max(found)[1] if found else "device"

    def _share(self, part: Callable[[StepUse], float]) -> StepShare:
        whole = sum(step.ms for step in self.steps)
        if not whole:
            return StepShare(0.0, 0.0, 1.0)
        value = sum(part(step) for step in self.steps) / whole
        each = [part(step) / step.ms for step in self.steps if step.ms]
        half = half_width(each) if len(each) > 1 else 1.0
        return StepShare(value, max(0.0, value - half), min(1.0, value + half))


@dataclass(frozen=True, slots=True)
class Gain:
    """Another way to load and copy, and what a step takes with it."""

    way: str
    """As arguments in code."""
    code: str
    """The dl-lint rule that finds the lack of it; empty where none does."""
    ms_now: float
    ms: float
    saved: float
    """Share of the step; below 0 where it takes longer."""
    interval: tuple[float, float]
    """95 % interval of ``saved``."""

    @property
    def certain(self) -> bool:
        """Whether the whole interval is a gain."""
        return self.interval[0] > 0


@dataclass(frozen=True, slots=True)
class Transfer:
    """What the accelerator did in a training loop around a loader, and what would shorten its steps."""

    use: DeviceUse
    way: str
    """How batches were loaded and copied."""
    own_step: bool
    """Whether the step was the user's own, not a stand-in."""
    gains: tuple[Gain, ...]
    quietness: Quietness

    @property
    def bound(self) -> Bound:
        """What holds the loop up."""
        return self.use.bound

    @property
    def ms_per_step(self) -> float:
        """The mean."""
        return self.use.ms_per_step

    @property
    def gpu_idle(self) -> float:
        """Share of the steps in which the accelerator does nothing."""
        return self.use.idle.value

    @property
    def gpu_idle_interval(self) -> tuple[float, float]:
        """95 % interval of ``gpu_idle``."""
        return self.use.idle.low, self.use.idle.high

    @property
    def input_wait(self) -> float:
        """Share of the steps in which the host waits for the loader."""
        return self.use.waited.value

    @property
    def input_wait_interval(self) -> tuple[float, float]:
        """95 % interval of ``input_wait``."""
        return self.use.waited.low, self.use.waited.high

    @property
    def shares(self) -> dict[str, float]:
        """The four parts of the steps, which are their whole."""
        return {
            "compute": self.use.compute.value,
            "copying": self.use.copying.value,
            "idle_waiting": self.use.idle_waiting.value,
            "idle_other": self.use.idle_other.value,
        }
