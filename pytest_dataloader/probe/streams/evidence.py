"""The evidence of checks that see batches alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_dataloader.probe.memory.kept_batches import NO_KEPT_BATCHES, KeptBatches

if TYPE_CHECKING:
    from pytest_dataloader.probe.samples.sequence import OrderFault


@dataclass(frozen=True, slots=True)
class Batches:
    """How far a stream came: ``epochs`` that were begun, and ``batches`` of all of them together."""

    epochs: int
    batches: int

    @property
    def empty(self) -> bool:
        """Whether nothing came at all."""
        return self.batches == 0


@dataclass(frozen=True, slots=True)
class Contents(Batches):
    """Samples of two epochs told by what they hold. ``samples`` of each, and how many of the first came ``twice``.

    ``common`` are contents of the first epoch that come in the second as well; ``complete`` where an epoch ended by
    itself; ``same_order`` where the second began as the first did.
    """

    samples: tuple[int, int]
    twice: int
    common: int
    complete: tuple[bool, bool]
    same_order: bool
    faults: tuple[OrderFault, ...] = ()


@dataclass(frozen=True, slots=True)
class Held(Batches):
    """What is ``left`` open by a stream, more with each epoch, in words; how many things merely stay; and the peaks."""

    left: tuple[str, ...]
    stays: int
    peak: int
    limit: int
    peak_bytes: int
    capacity_bytes: int


@dataclass(frozen=True, slots=True)
class Growth(Batches):
    """Memory that this process, and its children, have to themselves at each look; bytes of one batch."""

    private_bytes: tuple[int, ...]
    children_bytes: tuple[int, ...]
    batches_between: int
    batch_bytes: int
    kept_batches: KeptBatches = NO_KEPT_BATCHES

    @property
    def steps(self) -> tuple[int, ...]:
        """What this process gained from look to look."""
        return tuple(after - before for before, after in zip(self.private_bytes, self.private_bytes[1:], strict=False))


@dataclass(frozen=True, slots=True)
class Processes(Batches):
    """Child processes of a stream: how many came, and the names of those that outlive its epochs.

    ``left_by_epochs`` tells of threads and processes that each epoch adds.
    """

    children: int
    outliving: tuple[str, ...]
    seconds_to_first_batch: float
    whole: bool
    left_by_epochs: tuple[str, ...] = ()
