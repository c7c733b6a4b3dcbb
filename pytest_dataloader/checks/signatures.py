"""What each check takes and gives, for type checkers and editors: its limits as a user writes them, and its evidence.

``limits`` reads the values. A test compares the names with the keyword-only parameters of each check's ``judge``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypedDict, Unpack

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from pytest_dataloader.probe.device.evidence import Transfer
    from pytest_dataloader.probe.memory.evidence import Memory
    from pytest_dataloader.probe.resources.block import Block
    from pytest_dataloader.probe.resources.evidence import Fds, Shm
    from pytest_dataloader.probe.samples.evidence import Order, Randomness, Resume, Shards
    from pytest_dataloader.probe.timing.evidence import Comparison, Stages, Throughput
    from pytest_dataloader.probe.workers.evidence import Portability, Workers
    from pytest_dataloader.settings.limits import Step

Size = int | str
"""Bytes, or text such as ``"32MB"``."""


class WorkersLimits(TypedDict, total=False):
    """Limits of ``workers``."""

    max_startup_seconds: float | None


class FdsLimits(TypedDict, total=False):
    """Limits of ``fds``."""

    max_fd_use: float | None


class ShmLimits(TypedDict, total=False):
    """Limits of ``shm``."""

    max_shm: Size | None


class ThroughputLimits(TypedDict, total=False):
    """Limits of ``throughput``."""

    min_samples_per_second: float | None
    min_batches_per_second: float | None
    max_cpu_ms_per_sample: float | None
    step_ms: float | None


class StagesLimits(TypedDict, total=False):
    """Limits of ``stages``."""

    step_ms: float | None
    step: Step | str | None
    max_stall: float | None


class MemoryLimits(TypedDict, total=False):
    """Limits of ``memory``."""

    max_worker_growth: Size | None
    max_total_memory: Size | None


class ShardsLimits(TypedDict, total=False):
    """Limits of ``shards``."""

    world_size: int | None


class ResumeLimits(TypedDict, total=False):
    """Limits of ``resume``."""

    max_snapshot_overhead: float | None
    state: str | None
    load: str | None
    resume_workers: int | None


class PortabilityLimits(TypedDict, total=False):
    """Limits of ``portability``."""

    start_methods: str | Sequence[str] | None


class TransferLimits(TypedDict, total=False):
    """Limits of ``transfer``."""

    step_ms: float | None
    step: Step | str | None
    max_gpu_idle: float | None
    max_input_wait: float | None


class TrainingLimits(TypedDict, total=False):
    """Limits of ``monitor`` and of the callbacks."""

    max_input_wait: float | None
    max_worker_growth: Size | None
    max_fd_use: float | None


class Limits(
    WorkersLimits,
    FdsLimits,
    ShmLimits,
    ThroughputLimits,
    StagesLimits,
    MemoryLimits,
    ShardsLimits,
    ResumeLimits,
    PortabilityLimits,
    TransferLimits,
    total=False,
):
    """Limits of all checks, as ``diagnose`` takes them."""


class WorkersCheck(Protocol):
    """``dataloader_workers``."""

    def __call__(self, loader: Any, /, **limits: Unpack[WorkersLimits]) -> Workers:
        """Read an epoch with and without workers; fail where one dies, hangs or raises."""


class FdsCheck(Protocol):
    """``dataloader_fds``."""

    def __call__(self, loader: Any, /, **limits: Unpack[FdsLimits]) -> Fds:
        """Count open descriptors over epochs; fail where they grow, or at ``max_fd_use``."""

    def watch(self, *, keep: int = 2) -> AbstractContextManager[Block]:
        """Fail the test where the block leaves descriptors open; ``keep`` batches may still be held."""


class ShmCheck(Protocol):
    """``dataloader_shm``."""

    def __call__(self, loader: Any, /, **limits: Unpack[ShmLimits]) -> Shm:
        """Weigh shared memory over epochs; fail where it grows, does not fit, or at ``max_shm``."""

    def watch(self, *, keep: int = 2) -> AbstractContextManager[Block]:
        """Fail the test where the block leaves shared memory behind; ``keep`` batches may still be held."""


class ThroughputCheck(Protocol):
    """``dataloader_throughput``."""

    def __call__(self, loader: Any, /, **limits: Unpack[ThroughputLimits]) -> Throughput:
        """Measure samples per second, once warm; fail where a limit is certainly missed."""

    def compare(self, loader: Any, reference: Any, /, *, tolerance: float | None = None) -> Comparison:
        """Fail where ``loader`` certainly costs more per sample than ``reference``, by more than ``tolerance``."""


class StagesCheck(Protocol):
    """``dataloader_stages``."""

    def __call__(self, loader: Any, /, **limits: Unpack[StagesLimits]) -> Stages:
        """Measure where the time of a sample goes; fail where a step waits longer than ``max_stall``."""


class MemoryCheck(Protocol):
    """``dataloader_memory``."""

    def __call__(self, loader: Any, /, **limits: Unpack[MemoryLimits]) -> Memory:
        """Measure what workers gain in an epoch; fail for leaks and copies, or where a limit is missed."""


class RandomnessCheck(Protocol):
    """``dataloader_randomness``."""

    def __call__(self, loader: Any, /) -> Randomness:
        """Compare random draws of workers, epochs and ranks; fail where two are the same."""


class OrderCheck(Protocol):
    """``dataloader_order``."""

    def __call__(self, loader: Any, /) -> Order:
        """Compare the samples of epochs; fail for those that repeat, are missing or come in one order."""


class ShardsCheck(Protocol):
    """``dataloader_shards``."""

    def __call__(self, loader: Any, /, **limits: Unpack[ShardsLimits]) -> Shards:
        """Compare the shares of ranks; fail where they overlap, miss samples or differ in length."""


class ResumeCheck(Protocol):
    """``dataloader_resume``."""

    def __call__(self, loader: Any, /, **limits: Unpack[ResumeLimits]) -> Resume:
        """Stop, save, load and go on; fail where samples come twice or never."""


class PortabilityCheck(Protocol):
    """``dataloader_portability``."""

    def __call__(self, loader: Any, /, **limits: Unpack[PortabilityLimits]) -> Portability:
        """Start workers by each start method; fail where one cannot."""


class TransferCheck(Protocol):
    """``dataloader_transfer``."""

    def __call__(self, loader: Any, /, **limits: Unpack[TransferLimits]) -> Transfer:
        """Copy batches to an accelerator; fail where it is idle for longer than a limit allows."""
