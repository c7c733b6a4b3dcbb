"""Which batch a segment of shared memory came with: batches are counted as loaders hand them out."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_DEPTH = 4
_PARTS = 256


class Deliveries:
    """Where the tensors of each batch begin in memory. An address that is used again belongs to the later batch."""

    __slots__ = ("_by_address", "batches")

    def __init__(self) -> None:
        self._by_address: dict[int, int] = {}
        self.batches = 0

    def note(self, batch: Any) -> None:
        """Take down a batch that has just been handed out: 1 us and 1 us a tensor."""
        self.batches += 1
        for address in _addresses(batch):
            self._by_address[address] = self.batches

    def batches_at(self, addresses: list[int]) -> tuple[int, int]:
        """How many batches lie at these addresses, and how many of the addresses belong to no batch that was seen."""
        known = [self._by_address.get(address) for address in addresses]
        return len({batch for batch in known if batch is not None}), known.count(None)


def awaiting_their_turn() -> set[int]:
    """Where the tensors of batches begin that loaders in use hold back, because an earlier one is still to come."""
    from pytest_dataloader.probe.internals import torch_private

    early = [batch for iterator in torch_private.live_iterators() for batch in torch_private.early_batches(iterator)]
    return {address for batch in early for address in _addresses(batch)}


@contextlib.contextmanager
def keep_deliveries() -> Iterator[Deliveries]:
    """Count the batches that loaders of this process hand out during the block; none where torch is not loaded yet."""
    deliveries = Deliveries()
    if "torch.utils.data" not in sys.modules:
        yield deliveries
        return
    from pytest_dataloader.probe.internals import torch_private

    end = torch_private.watch_deliveries(deliveries.note)
    try:
        yield deliveries
    finally:
        end()


def _addresses(batch: Any) -> Iterator[int]:
    for tensor in _tensors(batch):
        with contextlib.suppress(NotImplementedError, RuntimeError):  # kinds of tensors that have no storage
            yield tensor.untyped_storage().data_ptr()


def _tensors(batch: Any) -> Iterator[Any]:
    layer = [batch]
    for _ in range(_DEPTH):
        following: list[Any] = []
        for part in layer[:_PARTS]:
            if hasattr(part, "untyped_storage"):
                yield part
            elif isinstance(part, dict):
                following += part.values()
            elif isinstance(part, list | tuple):
                following += part
            elif not isinstance(part, str | bytes | int | float) and hasattr(part, "__dict__"):
                following += vars(part).values()
        layer = following
