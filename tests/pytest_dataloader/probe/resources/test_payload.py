"""What the first batches take, also where a forked process can make none."""

from __future__ import annotations

import threading

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from pytest_dataloader.probe.resources import payload

LOCK = threading.Lock()


class Locked(Dataset[tuple[torch.Tensor, torch.Tensor]]):
    """Takes a lock for each sample, as a library with threads of its own does."""

    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        with LOCK:
            return torch.full((1024,), float(index)), torch.tensor(index)


def loader_with(method: str) -> DataLoader[tuple[torch.Tensor, torch.Tensor]]:
    return DataLoader(Locked(), batch_size=4, num_workers=2, multiprocessing_context=method)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_first_batches_are_weighed_in_a_forked_process(method: str) -> None:
    seen = payload.weigh_first_batches(loader_with(method))
    assert (seen.storages, seen.bytes, seen.batches, seen.error) == (2, 4 * 4096 + 4096, 3, "")


def test_a_spawned_worker_is_asked_where_a_forked_process_waits_for_a_lock() -> None:
    with LOCK:  # a fork inherits it locked, a spawned process makes its own
        spawned = payload.weigh_first_batches(loader_with("spawn"))
        forked = payload.weigh_first_batches(loader_with("fork"))
    assert (spawned.storages, spawned.bytes, spawned.batches, spawned.error) == (2, 4 * 4096 + 4096, 3, "")
    assert not forked.known
    assert forked.error == "the process that makes the first batches gave none"
