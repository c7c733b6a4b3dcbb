"""What watching an epoch counts, on real loaders."""

from __future__ import annotations

import multiprocessing
import sys
import time
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from pytest_dataloader.probe.internals import torch_private
from pytest_dataloader.probe.loader.borrowing import borrow
from pytest_dataloader.probe.memory import epoch

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="forked workers and /proc"),
    pytest.mark.xdist_group("system"),
]

FAST_BATCHES = 4


class OneWaits(Dataset[Any]):
    """Every second batch is made by the first worker, which waits with its second one for the others of the second."""

    def __init__(self) -> None:
        self.made = multiprocessing.Value("i", 0)

    def __len__(self) -> int:
        return 40

    def __getitem__(self, at: int) -> Any:
        if at % 2:
            with self.made.get_lock():
                self.made.value += 1
        while at == 2 and self.made.value < FAST_BATCHES:
            time.sleep(0.01)
        return torch.zeros(4), torch.ones(4)


def test_segments_of_batches_that_wait_for_a_slow_worker_are_not_counted() -> None:
    loader = DataLoader(OneWaits(), batch_size=1, num_workers=2, prefetch_factor=8, multiprocessing_context="fork")
    with borrow(loader) as borrowed:
        borrowed.begin_epoch()
        before = epoch.segments_mapped()
        borrowed.pull(3)
        early = torch_private.early_batches(borrowed.iterator)
        assert len(early) >= FAST_BATCHES - 2  # the last may still be under way
        assert epoch.segments_mapped() == before
        kept = [batch for batch, _ in zip(borrowed.each(), range(5), strict=False)]
        assert epoch.segments_mapped() == before + 2 * len(kept)
