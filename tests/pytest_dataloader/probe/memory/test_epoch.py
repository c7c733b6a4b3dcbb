"""What watching an epoch counts, on real loaders."""

from __future__ import annotations

import multiprocessing
import sys
import threading
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


class OneWaits(Dataset[Any]):
    """The first worker holds its second batch back until it is told that one of the other's came before its turn."""

    def __init__(self) -> None:
        self.told = multiprocessing.get_context("fork").Event()

    def __len__(self) -> int:
        return 40

    def __getitem__(self, at: int) -> Any:
        if at == 2:
            self.told.wait()
        return torch.zeros(4), torch.ones(4)


def test_segments_of_batches_that_wait_for_a_slow_worker_are_not_counted() -> None:
    dataset = OneWaits()
    loader = DataLoader(dataset, batch_size=1, num_workers=2, prefetch_factor=8, multiprocessing_context="fork")

    def tell(iterator: Any) -> None:
        while not torch_private.early_batches(iterator):
            time.sleep(0.01)
        dataset.told.set()

    with borrow(loader) as borrowed:
        borrowed.begin_epoch()
        before = epoch.segments_mapped()
        threading.Thread(target=tell, args=(borrowed.iterator,), daemon=True).start()
        borrowed.pull(3)
        assert torch_private.early_batches(borrowed.iterator)
        assert epoch.segments_mapped() == before
        kept = [batch for batch, _ in zip(borrowed.each(), range(5), strict=False)]
        assert epoch.segments_mapped() == before + 2 * len(kept)
