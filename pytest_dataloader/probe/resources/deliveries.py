"""Which batch a segment of shared memory came with: batches are counted as loaders hand them out."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.loader.batch_storages import storage_addresses

if TYPE_CHECKING:
    from collections.abc import Iterator


class Deliveries:
    """Where the tensors of each batch begin in memory. An address that is used again belongs to the later batch."""

    __slots__ = ("_by_address", "batches")

    def __init__(self) -> None:
        self._by_address: dict[int, int] = {}
        self.batches = 0

    def note(self, batch: Any) -> None:
        """Take down a batch that has just been handed out: 1 us and 1 us a tensor."""
        self.batches += 1
        for address in storage_addresses(batch):
            self._by_address[address] = self.batches

    def batches_at(self, addresses: list[int]) -> tuple[int, int]:
        """How many batches lie at these addresses, and how many of the addresses belong to no batch that was seen."""
        known = [self._by_address.get(address) for address in addresses]
        return len({batch for batch in known if batch is not None}), known.count(None)


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
