"""Batches that this process still reaches from what is around a loader, after the loop over it has dropped them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pytest_dataloader.probe.loader.batch_retention import KEPT_BYTES

if TYPE_CHECKING:
    from collections.abc import Sequence

Extent = Literal["none", "an epoch", "without end", "unknown", "not seen"]

LEAST_LOOKS = 3
KEPT_ARRAYS = 0.5
"""Tensors and arrays that stay with each batch."""
WORTH_JUDGING = 1 << 20
"""Bytes of an epoch below which batches that are kept are told and not judged."""
DOUBTFUL = 16 << 20
"""The same where it is not known how far that goes: labels gathered for a figure at the epoch's end are less."""


@dataclass(frozen=True, slots=True)
class Look:
    """What could be reached after so many ``batches``: tensors, arrays and texts, and their bytes."""

    batches: int
    arrays: int
    bytes: int

    def grew_from(self, before: Look) -> bool:
        """Whether something of each batch since then has stayed."""
        came = self.batches - before.batches
        arrays, size = self.arrays - before.arrays, self.bytes - before.bytes
        return arrays >= KEPT_ARRAYS * came > 0 and size >= KEPT_BYTES * came


@dataclass(frozen=True, slots=True)
class KeptBatches:
    """What stays of the ``batches`` that an iterable has given: ``extent`` is how far that goes, ``keeper`` who keeps.

    ``given_again``: the very batches of the first epoch come in the next; ``shuffles``: the DataLoader inside does.
    ``tried_batches`` of the DataLoader inside were taken round by round instead, of which ``tried_bytes`` stayed.
    """

    extent: Extent = "none"
    keeper: str = ""
    batches: int = 0
    batches_in_epoch: int = 0
    """0 where unknown."""
    bytes_per_batch: float = 0.0
    given_again: bool = False
    shuffles: bool = False
    tried_batches: int = 0
    tried_bytes: int = 0

    @property
    def bytes_per_epoch(self) -> int:
        """0 where the length of an epoch is unknown."""
        return round(self.bytes_per_batch * self.batches_in_epoch)

    @property
    def bytes_known(self) -> int:
        """Of an epoch, or of what was seen where its length is unknown."""
        return self.bytes_per_epoch or round(self.bytes_per_batch * self.batches)

    def is_fault(self, available_bytes: int) -> bool:
        """Whether it has no end, gives up shuffling, or is more than there is; else somebody may want this cache."""
        if self.bytes_known < WORTH_JUDGING:
            return False
        if self.extent == "an epoch":
            return (self.given_again and self.shuffles) or self.bytes_per_epoch > available_bytes
        return self.extent == "without end"

    @property
    def is_unclear(self) -> bool:
        """Whether too little was seen to tell a cache, or a buffer, from a leak."""
        return self.extent == "unknown" and self.bytes_known >= DOUBTFUL


NO_KEPT_BATCHES = KeptBatches()


def extent_of(looks: Sequence[Look], epoch: int, epochs_ended: int) -> tuple[Extent, float]:
    """How far batches are kept, and bytes of each, of looks some batches apart; ``epoch``: its batches, 0 for unknown.

    What stays in every look, for more than two epochs, has no end; what stopped after the first is an epoch.
    """
    if len(looks) < LEAST_LOOKS:
        return "not seen", 0.0
    pairs = list(itertools.pairwise(looks))
    first = [pair for pair in pairs if not epoch or pair[1].batches <= epoch]
    if len(first) < LEAST_LOOKS - 1:  # an epoch of so few batches is gone through several times
        first = pairs
    if not all(after.grew_from(before) for before, after in first):
        return "none", 0.0
    each = (first[-1][1].bytes - first[0][0].bytes) / (first[-1][1].batches - first[0][0].batches)
    if not epoch or looks[-1].batches <= epoch:
        return "unknown", each
    if all(after.grew_from(before) for before, after in pairs):
        rounds = max(epochs_ended, looks[-1].batches // epoch)
        return ("without end" if rounds >= 2 else "unknown"), each
    return "an epoch", each
